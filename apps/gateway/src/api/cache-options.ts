/**
 * Cache, history and retention in the words that all versions share -> the model (docs/api/scrape.md,
 * docs/api/formats.md).
 */
import { TroupeError, type CacheSpec, type ChangeTrackingSpec } from '@troupe/contracts';

export interface CacheOptions {
  maxAge?: number;
  minAge?: number;
  storeInCache?: boolean;
  revalidate?: 'source';
  headers?: Record<string, string>;
  actions?: unknown[];
}

export interface CacheContext {
  isTracked: boolean;
  /** A picture of the page is asked for, or something else that the cache does not hold. */
  isShown: boolean;
  zeroRetention: boolean;
  /** The value of an absent `maxAge`. */
  defaultMaxAgeMs: number;
}

export type DiffShape = 'auto' | 'string' | 'object';

/** Entries are never older. */
const ANY_AGE_MS = Number.MAX_SAFE_INTEGER;
/** With change tracking a page gets at least this long to settle, or it would seem to change by itself. */
const TRACKED_WAIT_MS = 5_000;

/** @throws TroupeError SCRAPE_ZDR_VIOLATION_ERROR for a page that may only come from a cache that may not hold it */
export function cacheSpecOf(
  options: CacheOptions,
  { isTracked, isShown, zeroRetention, defaultMaxAgeMs }: CacheContext,
): CacheSpec {
  const { minAge } = options;
  if (zeroRetention && minAge !== undefined)
    throw new TroupeError(
      'SCRAPE_ZDR_VIOLATION_ERROR',
      'minAge reads from the cache, which zero data retention keeps empty',
    );
  const isPersonal = isPersonalRequest(options);
  const absent = minAge === undefined ? defaultMaxAgeMs : ANY_AGE_MS;
  return {
    maxAgeMs: isPersonal || isTracked || isShown || zeroRetention ? 0 : (options.maxAge ?? absent),
    minAgeMs: minAge ?? null,
    store: (options.storeInCache ?? true) && !isPersonal && !zeroRetention,
    ...(options.revalidate === undefined ? {} : { revalidate: options.revalidate }),
  };
}

/** Pages fetched with headers or actions of one's own are not for the others. */
function isPersonalRequest({ headers = {}, actions = [] }: CacheOptions): boolean {
  return Object.keys(headers).length > 0 || actions.length > 0;
}

export interface ChangeTrackingOptions {
  modes?: readonly unknown[];
  tag?: string | null;
  /** The wish of mode `json`. */
  wish: NonNullable<ChangeTrackingSpec['json']>;
}

/** @param origin client name in the request: SDKs read an object, people a text */
export function changeTrackingOf(
  { modes = [], tag, wish }: ChangeTrackingOptions,
  shape: DiffShape,
  origin: string | undefined,
): ChangeTrackingSpec {
  return {
    tag: tag ?? null,
    diff: modes.includes('git-diff'),
    diffShape: shape === 'auto' ? shapeFor(origin) : shape,
    json: modes.includes('json') ? wish : null,
  };
}

function shapeFor(origin = ''): 'string' | 'object' {
  return /-sdk|\b(mcp|cli)\b/i.test(origin) ? 'object' : 'string';
}

export function trackedWaitMs(waitForMs: number): number {
  return Math.max(waitForMs, TRACKED_WAIT_MS);
}
