/** What a page should become. The core's own words: no optionals, no defaults, no wire version. */

export type Format =
  { type: 'markdown' } | { type: 'html' } | { type: 'rawHtml' } | { type: 'links' } | { type: 'images' };
export type FormatName = Format['type'];

/** When a page stored earlier stands for a request, and whether this page is stored (spec/limits.md, "Cache"). */
export interface CacheSpec {
  /** An entry younger than this is served; 0: the cache is not consulted. */
  maxAgeMs: number;
  /** An entry at least this old must exist, no request is made; null: a page that is not in the cache is fetched. */
  minAgeMs: number | null;
  store: boolean;
}

/** Comparison with the newest earlier scrape of the same team, URL and tag (spec/formats.md). */
export interface ChangeTrackingSpec {
  /** Name of the history; null = the default one. */
  tag: string | null;
  /** Show the differences of a changed page. */
  diff: boolean;
  /** How they are shown: a unified diff, or an object that holds it beside its parts. */
  diffShape: 'string' | 'object';
}

export interface ScrapeSpec {
  formats: Format[];
  /** Strip boilerplate; when that leaves nothing the whole page is used. */
  onlyMainContent: boolean;
  /** CSS selectors; include first, then exclude. `*text*` in excludeTags is a case-insensitive pattern. */
  includeTags: string[];
  excludeTags: string[];
  /** Sent with the page request, and only to the page's own origin. */
  headers: Record<string, string>;
  /** Extra wait after load; above 0 the browser engine is used. */
  waitForMs: number;
  skipTlsVerification: boolean;
  /** Budget of the whole scrape, queue time included. */
  timeoutMs: number;
  removeBase64Images: boolean;
  /**
   * `auto` climbs the ladder http -> got -> browser; `browser` starts at its top; `browserIfAny` too, but climbs where no
   * browser is available. Internal, set by what was asked.
   */
  engine: 'auto' | 'browser' | 'browserIfAny';
  cache: CacheSpec;
  /** null: not asked for. */
  changeTracking: ChangeTrackingSpec | null;
  /** Nothing of the page is kept once it is answered or delivered. */
  zeroRetention: boolean;
}

/** What a spec says that has nothing to do with cache, history and retention. */
export const PLAIN_PAGE: Pick<ScrapeSpec, 'cache' | 'changeTracking' | 'zeroRetention'> = {
  cache: { maxAgeMs: 0, minAgeMs: null, store: false },
  changeTracking: null,
  zeroRetention: false,
};

/** The spec of a job that may have been started by an older version, which did not know of some fields. */
export function completeSpec(spec: ScrapeSpec): ScrapeSpec {
  return { ...PLAIN_PAGE, ...spec };
}

/** What a page costs when it is had (spec/limits.md, "Credits"). */
export function pageCredits({ zeroRetention }: Pick<ScrapeSpec, 'zeroRetention'>): number {
  return zeroRetention ? 2 : 1;
}
