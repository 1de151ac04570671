import { type CrawlSpec, type ScrapeSpec } from '@troupe/contracts';
import { formatsToV1 } from '@troupe/formats';
import { pathDepth } from '@troupe/frontier';
import { type CrawlDto } from '../v2/crawl.dto.js';
import { crawlSpecToV2 } from '../v2/crawl.mapper.js';
import { type scrapeSpecToV2 } from '../v2/scrape.mapper.js';
import { customIssue, InvalidBodyError } from '../validation/issue.js';
import { readPageUrl } from '../validation/page-url.js';
import { type ReadBody } from '../validation/read-body.js';
import { type CrawlV1Dto } from './crawl.dto.js';
import { scrapeOptionsFromV1, scrapeWarningsOf } from './scrape.mapper.js';

const DEFAULT_MAX_DEPTH = 10;

/** @throws InvalidBodyError when the start page lies deeper than the crawl may go */
export function crawlFromV1({ body, warnings }: ReadBody<CrawlV1Dto>): ReadBody<CrawlDto> {
  const { maxDepth = DEFAULT_MAX_DEPTH, ignoreSitemap, allowBackwardLinks, scrapeOptions, ...same } = body;
  refuseDeepStart(body.url, maxDepth);
  return {
    body: {
      ...same,
      maxPathDepth: maxDepth,
      sitemap: ignoreSitemap ? 'skip' : 'include',
      crawlEntireDomain: same.crawlEntireDomain ?? allowBackwardLinks,
      scrapeOptions: scrapeOptionsFromV1(scrapeOptions ?? {}),
    },
    warnings: [...warnings, ...scrapeWarningsOf(scrapeOptions)],
  };
}

/** The model in v1 words, as active crawls show it. */
export function crawlSpecToV1(spec: CrawlSpec) {
  const { sitemap, scrapeOptions, ...same } = crawlSpecToV2(spec);
  return {
    ...same,
    ...(spec.scope.maxPathDepth === null ? {} : { maxDepth: spec.scope.maxPathDepth }),
    ignoreSitemap: sitemap === 'skip',
    allowBackwardLinks: spec.scope.entireDomain,
    scrapeOptions: scrapeOptionsToV1(scrapeOptions, spec.scrape),
  };
}

function scrapeOptionsToV1({ parsers, ...same }: ReturnType<typeof scrapeSpecToV2>, { formats }: ScrapeSpec) {
  const { formats: names, beside } = formatsToV1(formats);
  return {
    ...same,
    ...beside,
    formats: names,
    parsePDF: parsers.length > 0,
  };
}

function refuseDeepStart(text: string, maxDepth: number): void {
  const page = readPageUrl(text);
  const depth = page.ok ? pathDepth(new URL(page.url).pathname) : 0;
  if (depth > maxDepth)
    throw new InvalidBodyError([customIssue(`URL depth ${depth} exceeds the maxDepth of ${maxDepth}`, ['url'])]);
}
