import type { ProxyClass } from './scrape-spec.js';

/** A page as a client sees it (docs/api/formats.md). The same bytes in v1 and v2. */
export interface PageDocument {
  markdown?: string;
  html?: string;
  rawHtml?: string;
  links?: string[];
  images?: string[];
  /** A data URI, or the address of an artifact. */
  screenshot?: string;
  branding?: Record<string, unknown>;
  attributes?: { selector: string; attribute: string; values: string[] }[];
  /** Made by rules from the page's data (docs/api/formats.md). */
  product?: Record<string, unknown>;
  /** The pages of a document that has pages. */
  pages?: { pageNumber: number; markdown: string }[];
  actions?: ActionResults;
  /** From here on the model formats (docs/api/formats.md). */
  json?: unknown;
  /** The value of `json` under its old name in v1. */
  extract?: unknown;
  summary?: string;
  /** Answer to a `question`. */
  answer?: string;
  highlights?: string;
  warning?: string;
  changeTracking?: ChangeTracking;
  metadata: PageMetadata;
}

/** Results of actions, each kind in the order of the actions (docs/api/scrape.md). */
export interface ActionResults {
  screenshots: string[];
  scrapes: { url: string; html: string }[];
  /** `type` is JavaScript's `typeof` the value. */
  javascriptReturns: { type: string; value: unknown }[];
  pdfs: string[];
}

/** Parts of a document that only a browser can give: they pass the converter as they are. */
export type Captured = Pick<PageDocument, 'screenshot' | 'branding' | 'actions' | 'warning'>;

/** How a page compares with its newest earlier scrape (docs/api/formats.md, "changeTracking"). */
export interface ChangeTracking {
  /** null on the first scrape. */
  previousScrapeAt: string | null;
  changeStatus: 'new' | 'same' | 'changed' | 'removed';
  visibility: 'visible' | 'hidden';
  /** A unified diff, or an object that holds it as `text` beside its parts. */
  diff?: unknown;
  /** With a schema `{field: {previous, current}}` for fields that differ. */
  json?: unknown;
}

/** Page keys (`title`, `ogTitle`, every `<meta>` by name) beside the reserved keys below, which a page cannot overwrite. */
export interface PageMetadata {
  [pageKey: string]: unknown;
  sourceURL: string;
  url: string;
  statusCode: number;
  scrapeId: string;
  proxyUsed: ProxyClass;
  creditsUsed: number;
  /** Emulated time zone, with a location. */
  timezone?: string;
  /** For a document: pages that were read, and pages that there are. */
  numPages?: number;
  totalPages?: number;
  contentType?: string;
  error?: string;
  /** Share of the content that a search for the main content left out, as far as can be told; 0 to 1. Absent without a search. */
  contentLoss?: number;
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
  'contentLoss',
  'concurrencyLimited',
  'concurrencyQueueDurationMs',
] as const;
