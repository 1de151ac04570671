/** What a page should become. The core's own words: no optionals, no defaults, no wire version. */

export type Format =
  { type: 'markdown' } | { type: 'html' } | { type: 'rawHtml' } | { type: 'links' } | { type: 'images' };
export type FormatName = Format['type'];

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
  /** `auto` climbs the ladder http -> got -> browser; `browser` starts at its top. Internal, set by what was asked. */
  engine: 'auto' | 'browser';
}
