/** The page cache of a spec: index and bodies in memory, ages as told. */
import { brotliCompressSync } from 'node:zlib';
import { BlobNotFoundError } from '@troupe/blob-store';
import { plainScrape, type ScrapeSpec } from '@troupe/contracts';
import type { CachedPage, CachedPageMeta, PageCacheKey } from '@troupe/persistence';
import { cacheKeyOf } from './cached-page.js';
import { CacheLookups, keyText } from './cache-lookups.js';
import type { FetchedBody } from './cache-writer.js';
import { PageCache } from './page-cache.js';

export const CACHED_SPEC: ScrapeSpec = plainScrape({
  formats: [{ type: 'markdown' }],
  timeoutMs: 1000,
  cache: { maxAgeMs: 60_000, minAgeMs: null, store: true },
});

export class MemoryCache {
  readonly questions: (readonly PageCacheKey[])[] = [];
  readonly kept: FetchedBody[] = [];
  readonly renewed: PageCacheKey[] = [];
  readonly warnings: string[] = [];
  hasRoom = true;
  isAway = false;
  private readonly pages = new Map<string, CachedPage>();
  private readonly bodies = new Map<string, Buffer>();

  readonly cache = new PageCache({
    lookups: new CacheLookups({ find: (keys) => this.find(keys) }),
    writer: {
      keep: (page, onSettled) => {
        this.kept.push(page);
        onSettled?.();
      },
      renew: (key, onSettled) => {
        this.renewed.push(key);
        onSettled?.();
      },
      hasRoom: () => this.hasRoom,
    },
    blobs: {
      get: async (key) => {
        const body = this.bodies.get(key);
        if (body === undefined) throw new BlobNotFoundError(key);
        return body;
      },
    },
    log: { warn: (_, message) => void this.warnings.push(message) },
  });

  put(
    team: string,
    url: string,
    page: { body: string | null; ageMs: number; meta?: Partial<CachedPageMeta> },
    spec = CACHED_SPEC,
  ): void {
    const key = cacheKeyOf(team, url, spec);
    const blob = `blob of ${url}`;
    if (page.body !== null) this.bodies.set(blob, brotliCompressSync(page.body));
    const meta: CachedPageMeta = {
      finalUrl: url,
      statusCode: 200,
      contentType: 'text/html',
      robotsTag: null,
      rendered: false,
      engine: 'http',
      etag: null,
      lastModified: null,
      ...page.meta,
    };
    this.pages.set(keyText(key), { ...key, url, at: new Date(1_000_000), ageMs: page.ageMs, blob, meta });
  }

  private async find(keys: readonly PageCacheKey[]): Promise<CachedPage[]> {
    this.questions.push(keys);
    if (this.isAway) throw new Error('no Postgres');
    return keys.flatMap((key) => this.pages.get(keyText(key)) ?? []);
  }
}
