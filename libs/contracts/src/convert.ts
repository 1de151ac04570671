/**
 * Port of the converter: bytes of a page in, the stored document and what was learned from the page out.
 * Two adapters, `local` (worker threads) and NATS `rpc.convert`; one conformance suite (docs/design/messages.md, "Request and reply").
 */
import type { Fingerprint } from './ids.js';
import type { Captured } from './jobs/document.js';
import type { ScrapeSpec } from './jobs/scrape-spec.js';
import type { ScopeSpec } from './jobs/crawl-spec.js';
import type { ScopeRule } from './outcomes.js';
import type { TraceParent } from './tracing.js';

export interface ConvertRequest {
  /** Decoded from transfer and content encodings, not from its charset. */
  body: Uint8Array;
  /** Final URL, after redirects. */
  url: string;
  statusCode: number;
  /** `Content-Type` as received, null when absent. */
  contentType: string | null;
  /** `X-Robots-Tag` as received, null when absent. */
  robotsTag: string | null;
  /** True when the body is the browser's serialised DOM (UTF-8, scripts have run). */
  rendered: boolean;
  spec: Pick<
    ScrapeSpec,
    'formats' | 'onlyMainContent' | 'includeTags' | 'excludeTags' | 'removeBase64Images' | 'parsers'
  >;
  /** Reserved metadata keys, merged over the page's own. `creditsUsed` is that of a page that is no document. */
  metadata: Record<string, unknown>;
  /** Captures of the browser beside the page; null without one. */
  captured: Captured | null;
  /** Time that a document may take; pages have a limit of their own. */
  timeoutMs: number;
  /** Discover outlinks; null for scrapes and batches. `obeyNofollow` is false when robots are ignored. */
  discover: { scope: ScopeSpec; depth: number; maxLinks: number; obeyNofollow: boolean } | null;
  /** `packed` for storing (`packDocument`), `json` for answering at once. */
  encoding: 'json' | 'packed';
  /** Trace of the page, when it is recorded. */
  trace?: TraceParent;
}

export interface Outlink {
  /** Canonical fetch URL. */
  url: string;
  h: Fingerprint;
}

export interface ExcludedLinks {
  byRule: Partial<Record<ScopeRule, number>>;
  /** Distinct, at most 50 a page. */
  sample: { url: string; h: Fingerprint; rule: ScopeRule }[];
}

/**
 * - `content`: a page with visible content.
 * - `shell`: needs a browser: scripts would fill it. `challenge`: captcha or bot wall. `empty`: nothing visible.
 */
export type PageVerdict = 'content' | 'shell' | 'challenge' | 'empty';

export interface ConvertResult {
  verdict: PageVerdict;
  /** JSON of the `PageDocument`, encoded as asked. For `shell`, `challenge` and `empty` it still holds what there is. */
  document: Uint8Array;
  /** Length of the uncompressed JSON in bytes. */
  documentBytes: number;
  title: string | null;
  /** In scope, distinct, document order. */
  outlinks: Outlink[];
  excluded: ExcludedLinks;
  /** `<meta http-equiv=refresh>` within 5 s, absolute; null when there is none. */
  refreshUrl: string | null;
  /** `rel=canonical`, absolute. */
  canonicalUrl: string | null;
  /** Pages of a document that were read; null for anything else. */
  numPages: number | null;
  /** The body is a file that was read as a document: a browser would show no more of it. */
  isDocument: boolean;
}

export interface Converter {
  /** Rejects with a `TroupeError`: `SCRAPE_UNSUPPORTED_FILE_ERROR`, `SCRAPE_TIMEOUT` (page defeats the time limit). */
  convert(request: ConvertRequest, signal?: AbortSignal): Promise<ConvertResult>;
}
