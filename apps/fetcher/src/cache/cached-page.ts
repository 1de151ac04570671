/** A page in the cache, and the conditions under which a page gets there (docs/api/limits.md, "Cache"). Pure. */
import { createHash } from 'node:crypto';
import { asksForBrowser, type ScrapeSpec, type Uuid } from '@troupe/contracts';
import { canonicalize, fingerprint } from '@troupe/frontier';
import type { CachedPage, CachedPageMeta, PageCacheKey } from '@troupe/persistence';
import type { EngineResponse } from '../http/engine.js';

/** Larger bodies are not worth their room. */
export const MAX_CACHED_BYTES = 5 * 1024 * 1024;
/** Longest validator that is kept. */
const MAX_VALIDATOR_CHARS = 1024;

/** Entries that are older are not asked about. */
const MAX_ASKED_MS = 7 * 24 * 3_600_000;

/**
 * Everything beside the URL that makes another page of a request: how it is fetched, not how it is converted. All
 * headers that we send by ourselves follow from it.
 */
function variantOf(spec: ScrapeSpec): string {
  const { waitForMs, skipTlsVerification, mobile, location, blockAds, proxy } = spec;
  const browser = asksForBrowser(spec);
  return JSON.stringify({ waitForMs, skipTlsVerification, mobile, location, blockAds, proxy, browser });
}

/** The key of a page under way. It only serves to tell pages apart. */
export function flightKeyOf(team: Uuid, url: string, spec: ScrapeSpec): string {
  return createHash('sha256')
    .update(`${team}\n${url}\n${variantOf(spec)}`)
    .digest('base64url')
    .slice(0, 22);
}

/**
 * The page is made for its caller, or is to leave no trace. Other callers may not have it, and their pages do not stand
 * for it.
 */
export function isPersonal({ headers, actions, zeroRetention }: ScrapeSpec): boolean {
  return zeroRetention || Object.keys(headers).length > 0 || actions.length > 0;
}

export function cacheKeyOf(team: Uuid, url: string, spec: ScrapeSpec): PageCacheKey {
  return { team, urlH: fingerprint(canonicalize(url) ?? url), variantH: fingerprint(variantOf(spec)) };
}

export function isConsulted({ cache }: ScrapeSpec): boolean {
  return cache.maxAgeMs > 0 || cache.minAgeMs !== null;
}

export function isFresh(
  ageMs: number,
  { maxAgeMs, minAgeMs }: Pick<ScrapeSpec['cache'], 'maxAgeMs' | 'minAgeMs'>,
): boolean {
  return ageMs < maxAgeMs && (minAgeMs === null || ageMs >= minAgeMs);
}

/** Only good answers of a size that is worth keeping, which their site lets be kept. `private` ones are: entries are a team's. */
export function isCacheable(response: EngineResponse): boolean {
  const { statusCode, body, headers } = response;
  if (statusCode < 200 || statusCode >= 300 || body.byteLength > MAX_CACHED_BYTES) return false;
  if (namesIn(headers['cache-control']).includes('no-store')) return false;
  const varies = namesIn(headers['vary']);
  return !varies.includes('*') && (!varies.includes('cookie') || sentNoCookie(response));
}

/** Cookies come from answers on the way, and a browser may have some of other pages. */
function sentNoCookie({ rendered, redirects }: EngineResponse): boolean {
  return !rendered && redirects.length === 0;
}

/** Names in a list such as `Vary` or `Cache-Control`, without the values after `=`. */
function namesIn(list: string | undefined): string[] {
  return (list ?? '').split(',').map((part) => part.replace(/=.*$/s, '').trim().toLowerCase());
}

export function metaOf(response: EngineResponse): CachedPageMeta {
  const { finalUrl, statusCode, contentType, headers, rendered, engine, proxyUsed } = response;
  return {
    finalUrl,
    statusCode,
    contentType,
    robotsTag: headers['x-robots-tag'] ?? null,
    rendered,
    engine,
    proxyUsed,
    etag: validator(headers['etag']),
    lastModified: validator(headers['last-modified']),
  };
}

/**
 * A serialised DOM is made by scripts at their time. The validators of its source stand for it only where the caller
 * says so.
 */
export function conditionsOf(
  { meta, ageMs }: Pick<CachedPage, 'meta' | 'ageMs'>,
  { revalidate }: ScrapeSpec['cache'],
): Record<string, string> | null {
  const { etag, lastModified, rendered } = meta;
  if (ageMs > MAX_ASKED_MS || (rendered && revalidate !== 'source') || (etag === null && lastModified === null))
    return null;
  return {
    ...(etag === null ? {} : { 'if-none-match': etag }),
    ...(lastModified === null ? {} : { 'if-modified-since': lastModified }),
  };
}

/** The stored answer with its body. Its time is 0 ms. */
export function responseOf(meta: CachedPageMeta, body: Uint8Array): EngineResponse {
  const { finalUrl, statusCode, contentType, robotsTag, rendered, engine, proxyUsed = 'basic' } = meta;
  return {
    statusCode,
    statusText: '',
    headers: robotsTag === null ? {} : { 'x-robots-tag': robotsTag },
    body,
    finalUrl,
    redirects: [],
    contentType,
    retryAfterMs: null,
    ms: 0,
    rendered,
    engine,
    proxyUsed,
    captured: null,
    timezone: null,
  };
}

function validator(value: string | undefined): string | null {
  return value === undefined || value.length > MAX_VALIDATOR_CHARS || !/^[\x20-\x7e]+$/.test(value) ? null : value;
}
