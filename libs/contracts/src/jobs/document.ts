/** A page as a client sees it (spec/formats.md). The same bytes in v1 and v2. */
export interface PageDocument {
  markdown?: string;
  html?: string;
  rawHtml?: string;
  links?: string[];
  images?: string[];
  warning?: string;
  changeTracking?: ChangeTracking;
  metadata: PageMetadata;
}

/** How a page compares with its newest earlier scrape (spec/formats.md, "changeTracking"). */
export interface ChangeTracking {
  /** null on the first scrape. */
  previousScrapeAt: string | null;
  changeStatus: 'new' | 'same' | 'changed' | 'removed';
  visibility: 'visible' | 'hidden';
  /** A unified diff, or an object that holds it as `text` beside its parts. */
  diff?: unknown;
}

/** Page keys (`title`, `ogTitle`, every `<meta>` by name) beside the reserved keys below, which a page cannot overwrite. */
export interface PageMetadata {
  [pageKey: string]: unknown;
  sourceURL: string;
  url: string;
  statusCode: number;
  scrapeId: string;
  proxyUsed: 'basic' | 'stealth';
  creditsUsed: number;
  contentType?: string;
  error?: string;
  /** Absent when the cache was not consulted. */
  cacheState?: 'hit' | 'miss';
  /** With a hit: when the page was fetched, or confirmed by its site. */
  cachedAt?: string;
}

/** Keys of the response that win over page metadata of the same name. */
export const RESERVED_METADATA_KEYS = [
  'sourceURL',
  'url',
  'statusCode',
  'error',
  'scrapeId',
  'contentType',
  'timezone',
  'proxyUsed',
  'cacheState',
  'cachedAt',
  'creditsUsed',
  'numPages',
  'totalPages',
  'concurrencyLimited',
  'concurrencyQueueDurationMs',
] as const;
