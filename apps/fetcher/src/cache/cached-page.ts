/** What the cache tells of a page, and what a page must be to get into it (spec/limits.md, "Cache"). Pure. */
import type { ScrapeSpec, Uuid } from '@troupe/contracts';
import { canonicalize, fingerprint } from '@troupe/frontier';
import type { CachedPageMeta, PageCacheKey } from '@troupe/persistence';
import type { EngineResponse } from '../engines/engine.js';

/** Larger bodies are not worth their room. */
export const MAX_CACHED_BYTES = 5 * 1024 * 1024;
/** Longest validator that is kept. */
const MAX_VALIDATOR_CHARS = 1024;

/** Everything but its URL that makes another page of a request: how it is fetched, not what is made of it. */
function variantOf({ waitForMs, skipTlsVerification, mobile, location, blockAds, proxy }: ScrapeSpec): string {
  return JSON.stringify({ waitForMs, skipTlsVerification, mobile, location, blockAds, proxy });
}

export function cacheKeyOf(team: Uuid, url: string, spec: ScrapeSpec): PageCacheKey {
  return { team, urlH: fingerprint(canonicalize(url) ?? url), variantH: fingerprint(variantOf(spec)) };
}

export function isConsulted({ cache }: ScrapeSpec): boolean {
  return cache.maxAgeMs > 0 || cache.minAgeMs !== null;
}

export function isFresh(ageMs: number, { maxAgeMs, minAgeMs }: ScrapeSpec['cache']): boolean {
  return ageMs < maxAgeMs && (minAgeMs === null || ageMs >= minAgeMs);
}

/** Only good answers of a size that is worth keeping. */
export function isCacheable({ statusCode, body }: Pick<EngineResponse, 'statusCode' | 'body'>): boolean {
  return statusCode >= 200 && statusCode < 300 && body.byteLength <= MAX_CACHED_BYTES;
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

/** A serialised DOM is made by scripts at their time: no validator of its source speaks for it. */
export function conditionsOf({ etag, lastModified, rendered }: CachedPageMeta): Record<string, string> | null {
  if (rendered || (etag === null && lastModified === null)) return null;
  return {
    ...(etag === null ? {} : { 'if-none-match': etag }),
    ...(lastModified === null ? {} : { 'if-modified-since': lastModified }),
  };
}

/** The answer as it was, with its body; it took no time. */
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
