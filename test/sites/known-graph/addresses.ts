/** Identity and scope of URLs as the interface specification words them; shares no code with the product. */

export interface CrawlRules {
  /** Start URL as sent to the API. */
  url: string;
  limit?: number;
  maxDiscoveryDepth?: number;
  includePaths?: string[];
  excludePaths?: string[];
  regexOnFullURL?: boolean;
  sitemap?: 'include' | 'skip' | 'only';
  ignoreQueryParameters?: boolean;
  deduplicateSimilarURLs?: boolean;
  crawlEntireDomain?: boolean;
  allowExternalLinks?: boolean;
}

/** Extensions of the known sites that are no pages. */
const NO_PAGES = /\.(png|zip|css|js|mp4)$/i;
const MAX_URL_CHARS = 2048;

/** Absolute, without fragment and credentials, percent escapes in one spelling; null for what is no web address or too long. */
export function absolute(href: string, base: string): string | null {
  let url: URL;
  try {
    url = new URL(href, base);
  } catch {
    return null;
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  url.hash = '';
  url.username = '';
  url.password = '';
  const text = url.href.replace(/%[0-9a-f]{2}/gi, (escape) => {
    const char = String.fromCharCode(parseInt(escape.slice(1), 16));
    return /[\w.~-]/.test(char) ? char : escape.toUpperCase();
  });
  return text.length > MAX_URL_CHARS ? null : text;
}

export function withoutQuery(url: string): string {
  return url.split('?', 1)[0]!;
}

/** What may be fetched once only. */
export function identity(url: string, rules: CrawlRules): string {
  const fetched = rules.ignoreQueryParameters === true ? withoutQuery(url) : url;
  if (rules.deduplicateSimilarURLs === false) return fetched;
  const { host, pathname, search } = new URL(fetched);
  const page = pathname.replace(/\/index\.(html?|php)$/, '/').replace(/\/$/, '');
  return host + page + search;
}

/** Whether a URL that is not the start page belongs to a crawl with this base. */
export function isInScope(url: string, depth: number, base: string, rules: CrawlRules): boolean {
  const { host, pathname } = new URL(url);
  const isOwnHost = host === new URL(base).host;
  if (!isOwnHost && rules.allowExternalLinks !== true) return false;
  if (NO_PAGES.test(pathname) || isTrap(pathname)) return false;
  if (isOwnHost && rules.crawlEntireDomain !== true && !isBelow(pathname, folderOf(base))) return false;
  if (rules.maxDiscoveryDepth !== undefined && depth > rules.maxDiscoveryDepth) return false;
  return matchesPatterns(rules.regexOnFullURL === true ? url : pathname, rules);
}

function matchesPatterns(text: string, { includePaths = [], excludePaths = [] }: CrawlRules): boolean {
  const matches = (pattern: string): boolean => new RegExp(pattern).test(text);
  return !excludePaths.some(matches) && (includePaths.length === 0 || includePaths.some(matches));
}

/** `/docs/index.html` and `/docs` start crawls of `/docs`. */
function folderOf(base: string): string {
  const segments = new URL(base).pathname.split('/');
  if (/\.[a-z]\w*$/i.test(segments.at(-1)!)) segments.pop();
  return segments.join('/').replace(/\/+$/, '');
}

function isBelow(pathname: string, folder: string): boolean {
  return pathname === folder || pathname.startsWith(folder + '/');
}

/** The same run of segments four times in a row. */
function isTrap(pathname: string): boolean {
  return /(\/[^/]+(?:\/[^/]+){0,7})\1{3}(?:\/|$)/.test(pathname);
}
