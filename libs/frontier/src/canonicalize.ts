/**
 * URL identity, steps 0-2 of the design: what is fetched, stored and shown. Two spellings of one resource become one
 * string; the function is idempotent. Parts that only the duplicate check may ignore (scheme, `www.`) are in `dedup-key.ts`.
 */
import type { ScopeRule } from '@troupe/contracts';

/** Longest canonical URL in characters; longer ones are traps or data. */
export const MAX_URL_CHARS = 2048;

/** Longest text that is looked at: an escape of three characters can shrink to one, a fragment is cut before. */
const MAX_TEXT_CHARS = 3 * MAX_URL_CHARS;
const ESCAPE = /%([0-9a-fA-F]{2})?/g;
const ROUTE_START = /^#[/!]/;
const NO_ROUTE = /^#!?\/?$/;
const UNRESERVED = /[A-Za-z0-9\-._~]/;

/** Canonical fetch URL, or null when the text is not http(s), cannot be parsed or is longer than `MAX_URL_CHARS`. */
export function canonicalize(text: string, base?: string | URL): string | null {
  const url = parseHttp(text, base);
  return url === null ? null : shorten(spell(url, text));
}

/** Why `canonicalize` answers null for this text: `too-long` for an http(s) URL over the limit, else `scheme`. */
export function whyNotCanonical(text: string, base?: string | URL): Extract<ScopeRule, 'scheme' | 'too-long'> {
  if (withoutFragment(text).length > MAX_TEXT_CHARS)
    return /^\s*(?!https?:)[a-z][a-z0-9+.-]*:/i.test(text) ? 'scheme' : 'too-long';
  const url = parseHttp(text, base);
  const canonical = url === null ? null : spell(url, text);
  return canonical !== null && canonical.length > MAX_URL_CHARS ? 'too-long' : 'scheme';
}

function parseHttp(text: string, base?: string | URL): URL | null {
  const head = withoutFragment(text);
  if (head.length > MAX_TEXT_CHARS) return null;
  const url = parseUrl(head, base);
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : null;
}

/**
 * The WHATWG URL, null when the text is none. Use it for `URL.canParse`: once compiled, that of Node 20 refuses hosts
 * with Latin-1 letters (`bücher.example`).
 */
export function parseUrl(text: string, base?: string | URL): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}

/** The mark of the fragment stays: white space before it belongs to the URL, white space at the end does not. */
function withoutFragment(text: string): string {
  const at = text.indexOf('#');
  return at < 0 ? text : text.slice(0, at + 1);
}

/**
 * Null for a host that is empty or ends in more than one dot: without its dots it might become another (numeric) host.
 * `text`: what the URL was made from, with its fragment.
 */
function spell(url: URL, text: string): string | null {
  const hostname = url.hostname.endsWith('.') ? url.hostname.slice(0, -1) : url.hostname;
  if (hostname === '' || hostname.endsWith('.')) return null;
  const port = url.port === '' ? '' : `:${url.port}`;
  return `${url.protocol}//${hostname}${port}${normalizeEscapes(url.pathname + url.search)}${routeOf(text)}`;
}

/**
 * A fragment is a place on a page, and no part of what is fetched, but for `#/…` and `#!…`: there an application in the
 * browser keeps which of its pages it shows. Its start, `#/`, is the page itself.
 */
function routeOf(text: string): string {
  const at = text.indexOf('#');
  if (at < 0 || !ROUTE_START.test(text.slice(at, at + 2))) return '';
  const fragment = parseUrl(`http://route/${text.slice(at, at + MAX_TEXT_CHARS)}`)?.hash ?? '';
  return NO_ROUTE.test(fragment) ? '' : normalizeEscapes(fragment);
}

function shorten(url: string | null): string | null {
  return url !== null && url.length <= MAX_URL_CHARS ? url : null;
}

/** Decodes unreserved characters, upper-cases the other escapes, escapes a lone `%` (so that the result is stable). */
export function normalizeEscapes(text: string): string {
  if (!text.includes('%')) return text;
  return text.replace(ESCAPE, (whole: string, hex: string | undefined) => {
    if (hex === undefined) return '%25';
    const char = String.fromCharCode(parseInt(hex, 16));
    return UNRESERVED.test(char) ? char : whole.toUpperCase();
  });
}
