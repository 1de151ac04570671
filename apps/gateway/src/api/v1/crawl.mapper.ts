import { type CrawlSpec, type Format, type ScrapeSpec } from '@troupe/contracts';
import { pathDepth } from '@troupe/frontier';
import { type CrawlDto } from '../v2/crawl.dto.js';
import { crawlSpecToV2 } from '../v2/crawl.mapper.js';
import { wishToV2 } from '../v2/page-view.mapper.js';
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
  return {
    ...same,
    ...Object.fromEntries(formats.flatMap(optionsToV1)),
    formats: formats.flatMap(formatToV1),
    parsePDF: parsers.length > 0,
  };
}

/** v1 has names only, and fewer of them. */
function formatToV1(format: Format): string[] {
  switch (format.type) {
    case 'attributes':
    case 'question':
    case 'highlights':
      return [];
    case 'json':
      return [format.key ?? format.type];
    case 'screenshot':
      return [format.fullPage ? 'screenshot@fullPage' : format.type];
    default:
      return [format.type];
  }
}

/** The options of a format stand beside the names. */
function optionsToV1(format: Format): [string, object][] {
  return format.type === 'json' ? [[format.key ?? 'jsonOptions', wishToV2(format)]] : [];
}

function refuseDeepStart(text: string, maxDepth: number): void {
  const page = readPageUrl(text);
  const depth = page.ok ? pathDepth(new URL(page.url).pathname) : 0;
  if (depth > maxDepth)
    throw new InvalidBodyError([customIssue(`URL depth ${depth} exceeds the maxDepth of ${maxDepth}`, ['url'])]);
}
