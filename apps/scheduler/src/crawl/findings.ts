/** The results of `plan` for `finish`: page results that count, and what each candidate stands for. */
import type {
  Candidate,
  ExcludedLinks,
  FrontierRow,
  HistoryPart,
  PageJobStart,
  PageResult,
  SitemapChunk,
  WaitRule,
  WebhookEvent,
} from '@troupe/contracts';
import type { PendingSitemap } from './sitemap-window.js';

/** The item goes back to the frontier. */
export interface Again {
  /** Strikes. */
  attempt: number;
  tries: number;
  waitMs: number;
  /** null: the item does not wait. */
  rule: WaitRule | null;
}

export interface Settled {
  page: PageResult;
  row: FrontierRow;
  /** Item number of the candidate that stands for the page's redirect target, null without a redirect. */
  redirectItem: number | null;
  /** null: the item ends with this result. */
  again: Again | null;
}

/** Pages of a part that only the patterns may still exclude. */
export interface HistoryFound {
  part: HistoryPart;
  urls: string[];
}

export class Findings {
  start: PageJobStart | null = null;
  cancelled = false;
  /** Why the job may not begin. */
  refused: string | null = null;
  /** A batch got seeds. */
  appended = false;
  /** Events for the listener beside pages and the end. */
  news: WebhookEvent[] = [];
  settled: Settled[] = [];
  chunks: SitemapChunk[] = [];
  /** Pages of histories whose patterns a fetcher is to match. */
  history: HistoryFound | null = null;
  /** Outlinks that a newer scope leaves out. */
  refiltered: { excluded: ExcludedLinks; parent: number }[] = [];
  /** Candidates that become pages when they are new. */
  links: Candidate[] = [];
  /** Candidates that only mark a fingerprint as seen: redirect targets and sitemap files. */
  markers: Candidate[] = [];
  /** Child sitemaps by their marker's item. */
  sitemapMarkers = new Map<number, PendingSitemap>();
}
