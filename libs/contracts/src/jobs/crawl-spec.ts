import type { ActorKey } from '../ids.js';
import type { LocationSpec, ScrapeSpec } from './scrape-spec.js';
import type { WebhookSpec } from './webhook-spec.js';

/** Which URLs belong to a crawl (docs/api/crawl.md, docs/design/frontier.md, "What is one page"). */
export interface ScopeSpec {
  /** Start URL after canonicalisation; a redirect of the start page re-bases it and raises `version`. */
  base: string;
  version: number;
  includePaths: string[];
  excludePaths: string[];
  regexOnFullUrl: boolean;
  /** Hops from the seed; null = unlimited. */
  maxDepth: number | null;
  /** Path segments of a page's URL, index files not counted; null = unlimited. */
  maxPathDepth: number | null;
  entireDomain: boolean;
  allowExternalLinks: boolean;
  allowSubdomains: boolean;
  ignoreQueryParameters: boolean;
  deduplicateSimilarUrls: boolean;
  /** `only`: sitemap URLs and the start page, no links followed. */
  sitemap: 'include' | 'skip' | 'only';
}

export interface CrawlSpec {
  /** Caller's text of the start URL. */
  url: string;
  scope: ScopeSpec;
  /** Pages fetched, start page included; failed ones count. */
  limit: number;
  /** Pause between page starts in ms, 0 = none. Above 0 the crawl runs one page at a time. */
  delayMs: number;
  /** null = the team's concurrency. */
  maxConcurrency: number | null;
  ignoreRobots: boolean;
  /** Agent name matched against robots.txt; null = ours. */
  robotsAgent: string | null;
  scrape: ScrapeSpec;
  webhook: WebhookSpec | null;
  /** A job that works on this one's pages: it hears of them and pays. Absent: the job is a client's own. */
  parent?: ActorKey;
}

export interface BatchSpec {
  maxConcurrency: number | null;
  scrape: ScrapeSpec;
  webhook: WebhookSpec | null;
  /** A job that works on this one's pages: it hears of them and pays. Absent: the job is a client's own. */
  parent?: ActorKey;
}

export interface MapSpec {
  url: string;
  search: string | null;
  limit: number;
  sitemap: 'include' | 'skip' | 'only';
  includeSubdomains: boolean;
  ignoreQueryParameters: boolean;
  allowExternalLinks: boolean;
  includePaths: string[];
  excludePaths: string[];
  regexOnFullUrl: boolean;
  filterByPath: boolean;
  headers: Record<string, string>;
  /** Where its pages are asked for from; null: no matter. */
  location: LocationSpec | null;
  timeoutMs: number;
}

export interface MapLink {
  url: string;
  title?: string;
  description?: string;
}
