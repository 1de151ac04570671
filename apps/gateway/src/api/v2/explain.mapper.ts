import { canonicalize, whyNotCanonical } from '@troupe/frontier';
import { type ExplainUrl, type Explanation } from '../../jobs/crawl-explain.service.js';
import { readPageUrl } from '../validation/page-url.js';

/** As a crawl reads a link; like elsewhere in the API, the scheme may be left out. */
export function explainUrlFromV2(text: string): ExplainUrl {
  const page = readPageUrl(text);
  const address = page.ok ? page.url : text.trim();
  const canonical = canonicalize(address);
  return canonical === null ? { canonical, rule: whyNotCanonical(address) } : { canonical };
}

export function explanationToV2(url: string, { canonical, rule, isAllowedByRobots }: Explanation) {
  return { url, canonical, inScope: rule === null, rule, robots: isAllowedByRobots ? 'allowed' : 'disallowed' };
}
