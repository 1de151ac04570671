/** The key by which two URLs are one page of a job, and its 64-bit fingerprint. */
import { hash } from 'node:crypto';
import type { Fingerprint, ScopeSpec } from '@troupe/contracts';
import { withoutWww } from './url-parts.js';

export type IdentityOptions = Pick<ScopeSpec, 'ignoreQueryParameters' | 'deduplicateSimilarUrls'>;

const INDEX_FILE = /\/index\.(?:html|htm|php)$/;
const INDEX = '/index.';
const HTTPS = 'https://';
const HTTP = 'http://';

/** The canonical URL to fetch: without its query under `ignoreQueryParameters`; that of a route is part of the route. */
export function fetchUrl(url: string, scope: Pick<ScopeSpec, 'ignoreQueryParameters'>): string {
  if (!scope.ignoreQueryParameters) return url;
  const at = url.search(/[?#]/);
  if (at < 0 || url[at] === '#') return url;
  const route = url.indexOf('#', at);
  return url.slice(0, at) + (route < 0 ? '' : url.slice(route));
}

/**
 * Identity of a canonical URL inside its job. With `deduplicateSimilarUrls` the spellings of one page (http and
 * https, `www.`, a trailing slash, an index file) get one key; the key is not a URL and is never fetched.
 */
export function dedupKey(url: string, scope: IdentityOptions): string {
  const fetched = fetchUrl(url, scope);
  return scope.deduplicateSimilarUrls ? similarKey(fetched) : fetched;
}

function similarKey(url: string): string {
  const address = withoutWww(withoutScheme(url));
  const at = address.search(/[?#]/);
  if (at < 0) return withoutIndex(address);
  return withoutIndex(address.slice(0, at)) + address.slice(at);
}

function withoutScheme(url: string): string {
  if (url.startsWith(HTTPS)) return url.slice(HTTPS.length);
  return url.startsWith(HTTP) ? url.slice(HTTP.length) : url;
}

/** Path without an index file, and without the slash that is then at the end. */
function withoutIndex(page: string): string {
  if (page.endsWith('/')) return page.slice(0, -1);
  return page.includes(INDEX) ? page.replace(INDEX_FILE, '') : page;
}

/** First 8 bytes of SHA-256, hex. */
export function fingerprint(key: string): Fingerprint {
  return hash('sha256', key, 'hex').slice(0, 16);
}

/** Fingerprint of a canonical URL's identity in its job. */
export function fingerprintUrl(url: string, scope: IdentityOptions): Fingerprint {
  return fingerprint(dedupKey(url, scope));
}
