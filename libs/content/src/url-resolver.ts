/**
 * Links of one page made absolute.
 *
 * Most links need no URL parser: a relative or absolute path (or a URL on a plain host) of harmless characters and without
 * dot segments is its own normal form. Everything else goes through `new URL`; a test compares both ways.
 */
export interface Resolved {
  /** Absolute, normalised as WHATWG URL does, fragment kept. */
  href: string;
  /** True when `href` without its fragment is known to be canonical already. */
  isCanonical: boolean;
}

/** Characters that URL parsing and canonicalisation leave alone; a segment with a dot first may be a dot segment. */
const SEGMENT_START = '[\\w~=&+,;:@!$()*-]';
const SEGMENT = `${SEGMENT_START}[\\w~=&+,;:@!$()*.-]*`;
const TAIL = '[\\w~=&+,;:@!$()*./?#-]';
/**
 * Rest of a path behind a slash, and query and fragment, that are their own normal form: safe characters only, no dot
 * segments or empty segments in the path, query and fragment not empty.
 */
const PLAIN_PATH = new RegExp(`(?:${SEGMENT}(?:/${SEGMENT})*/?)?(?:\\?(?!#)${TAIL}+|#${TAIL}+)?$`, 'y');

/** Longer addresses are not worth a short way. */
const MAX_PLAIN_CHARS = 4096;
const SLASH = 47;
const QUESTION = 63;
const HASH = 35;
const SCHEME = /^[a-zA-Z][a-zA-Z0-9+.-]*:/;
const DOT_SEGMENT = /\/\.|\/\/|^\./;

export class UrlResolver {
  readonly base: string;
  readonly host: string;
  private readonly origin: string;
  /** Origin + '/', '' when the host is not in normal form and the short way must not be used. */
  private readonly originSlash: string;
  private readonly directory: string;
  /** Whether a relative path in it can take the short way. */
  private readonly isPlainDirectory: boolean;
  /** Results of the URL parser: several passes ask for the same links. */
  private readonly parsed = new Map<string, Resolved | null>();

  /** @param pageUrl absolute; @param baseHref of the first `<base>`, null when there is none. */
  constructor(pageUrl: string, baseHref: string | null) {
    const url = (hasOtherBase(pageUrl, baseHref) ? parse(baseHref ?? '', pageUrl) : null) ?? new URL(pageUrl);
    this.base = url.href;
    this.host = url.hostname;
    this.origin = url.origin;
    const isPlain =
      /^https?:$/.test(url.protocol) && !url.hostname.endsWith('.') && url.username === '' && url.password === '';
    this.originSlash = isPlain ? `${url.origin}/` : '';
    this.directory = url.pathname.slice(0, url.pathname.lastIndexOf('/') + 1);
    this.isPlainDirectory = !DOT_SEGMENT.test(this.directory) && !this.directory.includes('%');
  }

  /** Absolute form, null when it is no URL. */
  resolve(href: string): string | null {
    return this.resolveLink(href)?.href ?? null;
  }

  resolveLink(href: string): Resolved | null {
    const text = hasEdgeSpace(href) ? trimControl(href) : href;
    const short = this.originSlash === '' ? null : this.resolvePlain(text);
    return short === null ? this.resolveByParser(text) : { href: short, isCanonical: true };
  }

  private resolveByParser(text: string): Resolved | null {
    const known = this.parsed.get(text);
    if (known !== undefined) return known;
    const url = parse(text, this.base);
    const resolved = url === null ? null : { href: url.href, isCanonical: false };
    this.parsed.set(text, resolved);
    return resolved;
  }

  private resolvePlain(text: string): string | null {
    if (text === '' || text.length > MAX_PLAIN_CHARS) return null;
    const first = text.charCodeAt(0);
    if (first === SLASH) return isPlainPath(text, 1) ? this.origin + text : null;
    if (first === QUESTION || first === HASH) return null;
    if (text.startsWith(this.originSlash)) return isPlainPath(text, this.originSlash.length) ? text : null;
    if (SCHEME.test(text)) return isPlainAddress(text) ? text : null;
    return this.resolveRelative(text);
  }

  private resolveRelative(text: string): string | null {
    if (!this.isPlainDirectory) return null;
    let directory = this.directory;
    let at = 0;
    while (text.startsWith('../', at)) {
      directory = directory.slice(0, directory.lastIndexOf('/', directory.length - 2) + 1);
      if (directory === '') return null;
      at += 3;
    }
    if (at === 0 && text.startsWith('./')) at = 2;
    return isPlainPath(text, at) ? this.origin + directory + text.slice(at) : null;
  }
}

const MAX_PLAIN_HOST = 100;
/** Lower case, not a number in any spelling, and what comes after it is a path. */
const PLAIN_HOST = /^https?:\/\/(?:[a-z0-9-]{1,63}\.){1,10}[a-z][a-z0-9-]{0,62}\//;

/** An absolute URL on a host whose name is its own normal form, with a plain path. */
function isPlainAddress(text: string): boolean {
  const host = PLAIN_HOST.exec(text)?.[0];
  if (host === undefined || host.length > MAX_PLAIN_HOST || host.includes('xn--')) return false;
  return isPlainPath(text, host.length);
}

function isPlainPath(text: string, from: number): boolean {
  PLAIN_PATH.lastIndex = from;
  return PLAIN_PATH.test(text);
}

/** Whether the base is not just the page's URL. */
function hasOtherBase(pageUrl: string, baseHref: string | null): boolean {
  return baseHref !== null || pageUrl.includes('#');
}

function hasEdgeSpace(text: string): boolean {
  return text !== '' && (text.charCodeAt(0) <= 32 || text.charCodeAt(text.length - 1) <= 32);
}

function trimControl(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && text.charCodeAt(from) <= 32) from++;
  while (to > from && text.charCodeAt(to - 1) <= 32) to--;
  return text.slice(from, to);
}

function parse(text: string, base: string): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}

export function withoutFragment(url: string): string {
  const hash = url.indexOf('#');
  return hash < 0 ? url : url.slice(0, hash);
}
