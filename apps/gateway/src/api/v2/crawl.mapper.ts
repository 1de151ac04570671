import { type CrawlSpec, type ScopeSpec } from '@troupe/contracts';
import { canonicalize } from '@troupe/frontier';
import { customIssue, InvalidBodyError } from '../validation/issue.js';
import { readPageUrl } from '../validation/page-url.js';
import { webhookSpecFrom } from '../webhook/webhook.mapper.js';
import { type CrawlDto } from './crawl.dto.js';
import { type ScrapeOptionsDto } from './scrape-options.dto.js';
import { scrapeSpecFromV2, scrapeSpecToV2, type ScrapeRules } from './scrape.mapper.js';

const DEFAULT_LIMIT = 10_000;

export interface CrawlRules extends ScrapeRules {
  allowIgnoreRobots: boolean;
  /** Concurrency of the team. */
  concurrency: number;
}

export function crawlSpecFromV2(body: CrawlDto, rules: CrawlRules): CrawlSpec {
  return {
    url: body.url,
    scope: scopeFromV2(body),
    limit: body.limit ?? DEFAULT_LIMIT,
    delayMs: Math.round((body.delay ?? 0) * 1000),
    maxConcurrency: clampConcurrency(body.maxConcurrency, rules.concurrency),
    ignoreRobots: body.ignoreRobotsTxt ?? false,
    robotsAgent: rules.allowIgnoreRobots ? (body.robotsUserAgent ?? null) : null,
    scrape: scrapeSpecFromV2(scrapeOptionsOf(body), rules),
    webhook: webhookSpecFrom(body.webhook, 'crawl'),
  };
}

function scopeFromV2(body: CrawlDto): ScopeSpec {
  return {
    base: startUrl(body.url),
    version: 0,
    includePaths: body.includePaths ?? [],
    excludePaths: body.excludePaths ?? [],
    regexOnFullUrl: body.regexOnFullURL ?? false,
    maxDepth: body.maxDiscoveryDepth ?? null,
    maxPathDepth: body.maxPathDepth ?? null,
    entireDomain: body.crawlEntireDomain ?? false,
    allowExternalLinks: body.allowExternalLinks ?? false,
    allowSubdomains: body.allowSubdomains ?? false,
    ignoreQueryParameters: body.ignoreQueryParameters ?? false,
    deduplicateSimilarUrls: body.deduplicateSimilarURLs ?? true,
    sitemap: body.sitemap ?? 'include',
  };
}

/** Origin and retention are options of the crawl itself. */
function scrapeOptionsOf({ scrapeOptions, origin, zeroDataRetention }: CrawlDto): ScrapeOptionsDto {
  return { ...scrapeOptions, origin, zeroDataRetention };
}

/** The model in v2 words, as active crawls show it. */
export function crawlSpecToV2(spec: CrawlSpec) {
  const { scope } = spec;
  return {
    includePaths: scope.includePaths,
    excludePaths: scope.excludePaths,
    regexOnFullURL: scope.regexOnFullUrl,
    ...(scope.maxDepth === null ? {} : { maxDiscoveryDepth: scope.maxDepth }),
    sitemap: scope.sitemap,
    ignoreQueryParameters: scope.ignoreQueryParameters,
    deduplicateSimilarURLs: scope.deduplicateSimilarUrls,
    limit: spec.limit,
    crawlEntireDomain: scope.entireDomain,
    allowExternalLinks: scope.allowExternalLinks,
    allowSubdomains: scope.allowSubdomains,
    ...(spec.delayMs > 0 ? { delay: spec.delayMs / 1000 } : {}),
    ...(spec.maxConcurrency === null ? {} : { maxConcurrency: spec.maxConcurrency }),
    ignoreRobotsTxt: spec.ignoreRobots,
    scrapeOptions: scrapeSpecToV2(spec.scrape),
  };
}

/** `maxConcurrency` lowers the team's limit for a job and never raises it. */
export function clampConcurrency(asked: number | undefined, teamLimit: number): number | null {
  return asked === undefined ? null : Math.min(asked, teamLimit);
}

/** The dto has judged the text, so only a URL that grows too long by escaping is left to refuse. */
export function startUrl(text: string): string {
  const page = readPageUrl(text);
  const canonical = page.ok ? canonicalize(page.url) : null;
  if (canonical === null) throw new InvalidBodyError([customIssue('Invalid URL', ['url'])]);
  return canonical;
}
