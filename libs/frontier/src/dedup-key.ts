/** What makes two URLs one page of a job, and the 64-bit fingerprint of it. */
import { hash } from 'node:crypto';
import type { Fingerprint, ScopeSpec } from '@troupe/contracts';
import { withoutWww } from './url-parts.js';

export type IdentityOptions = Pick<ScopeSpec, 'ignoreQueryParameters' | 'deduplicateSimilarUrls'>;

const INDEX_FILE = /\/index\.(?:html|htm|php)$/;

/** The canonical URL to fetch: without its query under `ignoreQueryParameters`. */
export function fetchUrl(url: string, scope: Pick<ScopeSpec, 'ignoreQueryParameters'>): string {
  if (!scope.ignoreQueryParameters) return url;
  const at = url.indexOf('?');
  return at < 0 ? url : url.slice(0, at);
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
  const address = withoutWww(url.replace(/^https?:\/\//, ''));
  const at = address.indexOf('?');
  const page = at < 0 ? address : address.slice(0, at);
  return page.replace(INDEX_FILE, '/').replace(/\/$/, '') + (at < 0 ? '' : address.slice(at));
}

/** First 8 bytes of SHA-256, hex. */
export function fingerprint(key: string): Fingerprint {
  return hash('sha256', key, 'hex').slice(0, 16);
}

/** Fingerprint of a canonical URL's identity in its job. */
export function fingerprintUrl(url: string, scope: IdentityOptions): Fingerprint {
  return fingerprint(dedupKey(url, scope));
}
