/**
 * The team's cache of pages, in front of every fetch: read before a request, written in the background after it. When
 * it does not answer in time, pages are fetched as if it were empty.
 */
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import { BlobNotFoundError, type BlobStore } from '@troupe/blob-store';
import { TroupeError, type ScrapeSpec, type Uuid } from '@troupe/contracts';
import type { CachedPage, CachedPageMeta, PageCacheKey } from '@troupe/persistence';
import type { EngineResponse } from '../http/engine.js';
import { keyText, type CacheLookups } from './cache-lookups.js';
import {
  cacheKeyOf,
  conditionsOf,
  isCacheable,
  isConsulted,
  isFresh,
  isPersonal,
  metaOf,
  responseOf,
} from './cached-page.js';
import type { CacheWriter } from './cache-writer.js';

const unpack = promisify(brotliDecompress);
const LOOKUP_TIMEOUT_MS = 500;
/** After a failure no scrape waits for the index for this long. */
const AWAY_MS = 2_000;

export interface PageCacheParts {
  /** null: there is no cache. */
  lookups: Pick<CacheLookups, 'find'> | null;
  writer: Pick<CacheWriter, 'keep' | 'renew' | 'hasRoom'>;
  blobs: Pick<BlobStore, 'get'>;
  /** Told the result of each lookup of a page. @default none */
  onLookUp?: (result: 'hit' | 'miss' | 'away') => void;
  /** Told of each page whose site says that it has not changed. @default none */
  onConfirm?: () => void;
  log: { warn(context: object, message: string): void };
}

/** Waiters that may have a page before it is in the index. */
export interface Sharing {
  /** The page is there. `body` stays as it is. */
  land(meta: CachedPageMeta, body: Uint8Array): void;
  /** It is in the index, or will not come there. */
  stored(): void;
}

/** The cache as seen by the fetch of one page. */
export interface CacheUse {
  /** Headers that ask whether the entry still holds; null: nothing to ask. */
  readonly conditions: Record<string, string> | null;
  /** The entry's answer, when its site says that it still holds; null when that was about another page, or the body is gone. */
  confirm(finalUrl: string): Promise<EngineResponse | null>;
  /** A copy of the body, to be handed to `keep` when the page turns out to be content; null: it will not be kept. */
  copy(response: EngineResponse): Uint8Array | null;
  keep(response: EngineResponse, body: Uint8Array): void;
}

export interface Remembered {
  response: EngineResponse;
  metadata: { cacheState: 'hit'; cachedAt: string };
}

export class PageCache {
  private awayUntil = 0;

  constructor(private readonly parts: PageCacheParts) {}

  /** One question for all URLs of a lane. Never rejects. */
  async lookUp(team: Uuid, urls: readonly string[], spec: ScrapeSpec): Promise<CacheView> {
    if (!isConsulted(spec)) return new CacheView(this.parts, team, spec, null);
    const keys = new Map(urls.map((url) => [url, cacheKeyOf(team, url, spec)]));
    const pages = await this.find(keys);
    const view = new CacheView(this.parts, team, spec, pages);
    for (const url of urls) this.parts.onLookUp?.(pages === null ? 'away' : view.holds(url) ? 'hit' : 'miss');
    return view;
  }

  /** Entries by URL; null when the index does not answer. */
  private async find(keys: ReadonlyMap<string, PageCacheKey>): Promise<Map<string, CachedPage> | null> {
    const { lookups } = this.parts;
    if (lookups === null || performance.now() < this.awayUntil) return null;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${LOOKUP_TIMEOUT_MS} ms`)), LOOKUP_TIMEOUT_MS);
    });
    try {
      const found = await Promise.race([lookups.find([...keys.values()]), late]);
      return byUrl(keys, found);
    } catch (error) {
      this.awayUntil = performance.now() + AWAY_MS;
      this.parts.log.warn({ err: error }, 'the cache is not readable; pages are fetched');
      return null;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The entries found for the URLs of one lookup. */
export class CacheView {
  constructor(
    private readonly parts: PageCacheParts,
    private readonly team: Uuid,
    private readonly spec: ScrapeSpec,
    /** null: the cache was not consulted. */
    private readonly pages: ReadonlyMap<string, CachedPage> | null,
  ) {}

  /** Reserved metadata of a page that is fetched all the same. */
  get metadata(): { cacheState?: 'miss' } {
    return this.pages === null ? {} : { cacheState: 'miss' };
  }

  /** An entry may be served. */
  holds(url: string): boolean {
    const page = this.entry(url);
    return page !== null && isFresh(page.ageMs, this.spec.cache);
  }

  /** The page as it was; null when it is not there, or not fresh. */
  async recall(url: string): Promise<Remembered | null> {
    const page = this.holds(url) ? this.entry(url) : null;
    const body = page === null ? null : await this.body(page);
    if (page === null || body === null) return null;
    return { response: responseOf(page.meta, body), metadata: { cacheState: 'hit', cachedAt: page.at.toISOString() } };
  }

  /**
   * @throws TroupeError for a page that may only come from the cache: SCRAPE_NO_CACHED_DATA, or 503 when the cache
   * could not be read
   */
  checkMayFetch(url: string): void {
    if (this.spec.cache.minAgeMs === null) return;
    if (this.pages === null && this.parts.lookups !== null)
      throw new TroupeError('UNKNOWN_ERROR', 'the cache cannot be read now', { httpStatus: 503, retryable: true });
    throw new TroupeError('SCRAPE_NO_CACHED_DATA', `${url} is not in the cache, or not old enough`);
  }

  /** The cache's view of a page that is fetched now, for its caller alone or for others too. */
  use(url: string, sharing: Sharing | null = null): CacheUse {
    const entry = this.entry(url);
    const { writer, onConfirm } = this.parts;
    const conditions = entry === null ? null : conditionsOf(entry, this.spec.cache);
    const stored = () => sharing?.stored();
    let isConfirmed = false;
    return {
      conditions,
      confirm: async (finalUrl) => {
        if (entry === null || finalUrl !== entry.meta.finalUrl) return null;
        const body = await this.body(entry);
        if (body === null) return null;
        isConfirmed = true;
        onConfirm?.();
        if (sharing === null) writer.renew(entry);
        return responseOf(entry.meta, body);
      },
      copy: (response) => {
        const isWanted = isConfirmed ? sharing !== null : this.mayKeep(response, sharing !== null);
        return isWanted ? new Uint8Array(response.body) : null;
      },
      keep: (response, body) => {
        const meta = isConfirmed && entry !== null ? entry.meta : metaOf(response);
        sharing?.land(meta, body);
        if (isConfirmed && entry !== null) writer.renew(entry, stored);
        else writer.keep({ key: cacheKeyOf(this.team, url, this.spec), url, meta, body }, stored);
      },
    };
  }

  /** A page that finds no room in the store may still go to scrapes that wait for it. */
  private mayKeep(response: EngineResponse, isShared: boolean): boolean {
    const { lookups, writer } = this.parts;
    if (lookups === null || !this.spec.cache.store || isPersonal(this.spec) || !isCacheable(response)) return false;
    return isShared || writer.hasRoom(response.body.byteLength);
  }

  private entry(url: string): CachedPage | null {
    return this.pages?.get(url) ?? null;
  }

  /** null: dropped, or the store does not answer. */
  private async body(page: CachedPage): Promise<Uint8Array | null> {
    try {
      return await unpack(await this.parts.blobs.get(page.blob));
    } catch (error) {
      if (!(error instanceof BlobNotFoundError))
        this.parts.log.warn({ blob: page.blob, err: error }, 'the body of a cached page is not readable');
      return null;
    }
  }
}

/** Two URLs of one fingerprint are told apart by their text. */
function byUrl(
  keys: ReadonlyMap<string, PageCacheKey>,
  found: ReadonlyMap<string, CachedPage>,
): Map<string, CachedPage> {
  const pages = new Map<string, CachedPage>();
  for (const [url, key] of keys) {
    const page = found.get(keyText(key));
    if (page?.url === url) pages.set(url, page);
  }
  return pages;
}
