/**
 * The index of the page cache; bodies are blobs, which the caller stores first (docs/design/data-model.md, "Teams and caches", "Blobs").
 */
import { fingerprintFromInt64, type EngineName, type Fingerprint, type ProxyClass, type Uuid } from '@troupe/contracts';
import type pg from 'pg';
import { bulkQuery, lastByKey, storable, storableJson, type BulkStatement } from '../actor-store/statement.js';
import { int64 } from '../actor-store/row-writes.js';

export interface PageCacheKey {
  team: Uuid;
  /** Fingerprint of the URL that is asked for. */
  urlH: Fingerprint;
  /** Fingerprint of everything else that makes another page of it. */
  variantH: Fingerprint;
}

/** Data needed to convert a body again, and to ask its site whether it still holds. */
export interface CachedPageMeta {
  finalUrl: string;
  statusCode: number;
  contentType: string | null;
  robotsTag: string | null;
  /** The body is a serialised DOM. */
  rendered: boolean;
  engine: EngineName;
  /** Absent in entries of versions that knew of no proxies: basic. */
  proxyUsed?: ProxyClass;
  etag: string | null;
  lastModified: string | null;
}

export interface CachedPage extends PageCacheKey {
  url: string;
  at: Date;
  /** Since the page was fetched or confirmed, by the database's clock. */
  ageMs: number;
  /** Key of its compressed body. */
  blob: string;
  meta: CachedPageMeta;
}

export interface NewCachedPage extends PageCacheKey {
  url: string;
  /** Fingerprint of the `siteKey` of the URL. */
  siteH: Fingerprint;
  blob: string;
  meta: CachedPageMeta;
}

const KEYS: BulkStatement<PageCacheKey>['columns'] = [(k) => k.team, (k) => int64(k.urlH), (k) => int64(k.variantH)];
const KEY_ROWS = `unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS k(team_id, url_h, opt_h)`;

const FIND: BulkStatement<PageCacheKey> = {
  name: 'page-cache-find',
  text: `SELECT c.team_id, c.url_h, c.opt_h, c.url, c.at, c.blob, c.meta, (extract(epoch FROM now() - c.at) * 1000)::float8 AS age_ms
    FROM ${KEY_ROWS} JOIN page_cache c USING (team_id, url_h, opt_h)`,
  columns: KEYS,
};

const RENEW: BulkStatement<PageCacheKey> = {
  name: 'page-cache-renew',
  text: `UPDATE page_cache c SET at = now() FROM ${KEY_ROWS}
    WHERE c.team_id = k.team_id AND c.url_h = k.url_h AND c.opt_h = k.opt_h`,
  columns: KEYS,
};

/** Answers with the bytes of all buckets before this statement. */
const STORE: BulkStatement<NewCachedPage> = {
  name: 'page-cache-store',
  text: `WITH pages AS (
      INSERT INTO page_cache (team_id, url_h, opt_h, url, blob, meta, site_h, bucket, at)
      SELECT team_id, url_h, opt_h, url, blob, meta::jsonb, site_h, $8, now()
      FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[])
        AS x(team_id, url_h, opt_h, url, blob, meta, site_h)
      ORDER BY 1, 2, 3
      ON CONFLICT (team_id, url_h, opt_h) DO UPDATE SET url = EXCLUDED.url, blob = EXCLUDED.blob, meta = EXCLUDED.meta,
        site_h = EXCLUDED.site_h, bucket = EXCLUDED.bucket, at = EXCLUDED.at),
    weighed AS (
      INSERT INTO page_cache_bucket AS b (bucket, bytes) VALUES ($8, $9)
      ON CONFLICT (bucket) DO UPDATE SET bytes = b.bytes + EXCLUDED.bytes)
    SELECT coalesce(sum(bytes), 0)::float8 AS bytes FROM page_cache_bucket`,
  columns: [...KEYS, (r) => storable(r.url), (r) => r.blob, (r) => storableJson(r.meta), (r) => int64(r.siteH)],
};

interface CacheRecord {
  team_id: Uuid;
  url_h: string;
  opt_h: string;
  url: string;
  at: Date;
  age_ms: number;
  blob: string;
  meta: CachedPageMeta;
}

export class PageCacheRepository {
  constructor(private readonly pool: pg.Pool) {}

  /** Pages of those keys that are in the cache, in any order. */
  async find(keys: readonly PageCacheKey[]): Promise<CachedPage[]> {
    const { rows } = await this.pool.query<CacheRecord>(bulkQuery(FIND, keys));
    return rows.map((row) => ({
      team: row.team_id,
      urlH: fingerprintFromInt64(BigInt(row.url_h)),
      variantH: fingerprintFromInt64(BigInt(row.opt_h)),
      url: row.url,
      at: row.at,
      ageMs: row.age_ms,
      blob: row.blob,
      meta: row.meta,
    }));
  }

  /**
   * The newest page of a key replaces the older one.
   * @param stored hour of the blobs and what they weigh
   * @returns bytes of all blobs of the cache
   */
  async store(pages: readonly NewCachedPage[], stored: { hour: string; bytes: number }): Promise<number> {
    const rows = lastByKey(pages, ({ team, urlH, variantH }) => `${team} ${urlH} ${variantH}`);
    const query = bulkQuery(STORE, rows, Number(stored.hour), stored.bytes);
    const result = await this.pool.query<{ bytes: number }>(query);
    return result.rows[0]!.bytes + stored.bytes;
  }

  /** URLs of a site's pages, the newest first; a page that is kept in several variants may come more than once. */
  async urlsOf(team: Uuid, siteH: Fingerprint, limit: number): Promise<string[]> {
    const { rows } = await this.pool.query<{ url: string }>({
      name: 'page-cache-urls',
      text: `SELECT url FROM page_cache WHERE team_id = $1 AND site_h = $2 ORDER BY at DESC LIMIT $3`,
      values: [team, int64(siteH), limit],
    });
    return rows.map(({ url }) => url);
  }

  /** Renews pages that their sites have confirmed. */
  async renew(keys: readonly PageCacheKey[]): Promise<void> {
    await this.pool.query(bulkQuery(RENEW, keys));
  }
}
