/** Disk that is really freed: rows on a real Postgres, blobs in real files, and what a round leaves of them. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hourOf, openBlobRoots, type BlobRoots } from '@troupe/blob-store';
import { dayOf, jobNoOf } from '@troupe/contracts';
import { Housekeeping, PageCacheRepository, Retention } from '@troupe/persistence';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { HousekeepingRounds } from '../../../apps/scheduler/src/housekeeping/housekeeping-rounds.js';
import { RetentionRounds } from '../../../apps/scheduler/src/housekeeping/retention-rounds.js';
import { testDatabase, type TestDatabase } from './database.js';

const MB = 1_000_000;
const HOUR_MS = 3_600_000;
const runtime = { partitions: [0] };
const log = { info: () => undefined, warn: (context: object) => console.warn(context) };

let db: TestDatabase;
let folder: string;
let blobs: BlobRoots;

beforeAll(async () => {
  db = await testDatabase();
  folder = await mkdtemp(path.join(tmpdir(), 'troupe-retention-'));
  blobs = openBlobRoots(folder);
});
afterAll(async () => {
  await db.drop();
  await rm(folder, { recursive: true, force: true });
});

async function bytesOf(root: string): Promise<number> {
  const entries = await readdir(path.join(folder, root), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map(async (file) => (await stat(path.join(file.parentPath, file.name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

const rounds = (more: { cacheMaxBytes?: number } = {}) =>
  new RetentionRounds({
    rows: new Retention(db.pool),
    blobs,
    runtime,
    cacheMaxBytes: 10 * MB,
    historyHours: 24,
    log: log as never,
    ...more,
  });

async function cacheMegabyte(hour: string, fill: number): Promise<void> {
  const blob = await blobs.cache.put(Buffer.alloc(MB, fill), hour);
  const key = { team: randomUUID(), urlH: '0000000000000001', variantH: '0000000000000001' };
  const page = { ...key, url: 'http://site.test/', siteH: key.urlH, blob, meta: {} as never };
  await new PageCacheRepository(db.pool).store([page], { hour, bytes: MB });
}

const countOf = async (table: string): Promise<number> =>
  (await db.pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`)).rows[0]!.n;

describe('a round of retention', () => {
  it('brings a cache that is too large down to its room, oldest hours first', async () => {
    const hours = [1, 2, 3, 4].map((n) => hourOf(Date.now() + n * HOUR_MS));
    for (const [index, hour] of hours.entries()) await cacheMegabyte(hour, index);
    await rounds().round();
    expect(await bytesOf('cache')).toBe(4 * MB);
    await rounds({ cacheMaxBytes: 2.5 * MB }).round();
    expect(await bytesOf('cache')).toBe(2 * MB);
    expect(await blobs.cache.listHours()).toEqual(hours.slice(2));
    expect(await countOf('page_cache')).toBe(2);
  });

  it('drops cached pages and histories when their time is over, and bodies whose rows a crash took', async () => {
    const hour = hourOf(Date.now() + 4 * HOUR_MS);
    await blobs.snapshots.put(Buffer.alloc(MB), hourOf(Date.now() + HOUR_MS));
    await db.pool.query(`TRUNCATE page_cache, page_cache_bucket`);
    await cacheMegabyte(hour, 9);
    await rounds().round();
    expect(await blobs.cache.listHours()).toEqual([hour]);
    expect(await bytesOf('snap')).toBe(MB);
    await rounds().round(new Date(Date.now() + 6 * HOUR_MS));
    expect([await bytesOf('cache'), await bytesOf('snap')]).toEqual([0, 0]);
    expect([await countOf('page_cache'), await countOf('page_cache_bucket')]).toEqual([0, 0]);
  });

  it('erases jobs with zero data retention when they are over, once their actors rest', async () => {
    const jobNo = jobNoOf(dayOf(Date.now()), 77n);
    const [id, team] = [randomUUID(), randomUUID()];
    const key = `crawl/${id}`;
    await db.pool.query(
      `INSERT INTO job (job_no, id, team_id, kind, status, created_at, expires_at, origin_url, options, total, completed, credits, zdr, shards)
       VALUES ($1, $2, $3, 'crawl', 'scraping', now(), now() - interval '1 second', 'http://secret.test/', '{"wire": "secret"}', 1, 1, 2, true, 1)`,
      [jobNo, id, team],
    );
    await db.pool.query(`INSERT INTO job_id VALUES ($1, $2, $3, 'crawl', now() + interval '1 day')`, [id, jobNo, team]);
    await db.pool.query(
      `INSERT INTO page (job_no, shard, ord, item, url, final_url, status, depth, bytes, inline, credits, finished_at)
       VALUES ($1, 0, 1, 1, 'http://secret.test/', '', 200, 0, 1, 'x', 2, now())`,
      [jobNo],
    );
    await db.pool.query(
      `INSERT INTO actor (key, part, kind, epoch, rev, state, terminal, updated_at) VALUES ($1, 0, 'crawl', 1, 1, '{"url": "secret"}', false, now())`,
      [key],
    );
    await blobs.erasable.of(id).put(Buffer.alloc(MB), hourOf(Date.now() + HOUR_MS));

    await rounds().round();
    expect([await countOf('page'), await bytesOf('zdr')]).toEqual([1, MB]);
    await db.pool.query(`UPDATE job SET status = 'completed' WHERE id = $1`, [id]);
    await rounds().round();
    expect([await countOf('page'), await bytesOf('zdr')]).toEqual([1, MB]);
    await db.pool.query(`UPDATE actor SET terminal = true WHERE key = $1`, [key]);
    await rounds().round();
    expect([await countOf('page'), await bytesOf('zdr')]).toEqual([0, 0]);
    const { rows } = await db.pool.query(
      `SELECT j.origin_url, j.options, a.state FROM job j, actor a WHERE j.id = $1 AND a.key = $2`,
      [id, key],
    );
    expect(rows).toEqual([{ origin_url: null, options: {}, state: null }]);
    expect(await blobs.erasable.jobs()).toEqual([]);
  });
});

describe('a round of housekeeping', () => {
  it('frees the results of a day whose jobs have expired, rows and blobs', async () => {
    const day = dayOf(Date.now()) - 4;
    const [from, to] = [jobNoOf(day, 0n), jobNoOf(day + 1, 0n)];
    for (const table of ['job', 'page', 'url_outcome'])
      await db.pool.query(`CREATE TABLE ${table}_d${day} PARTITION OF ${table} FOR VALUES FROM (${from}) TO (${to})`);
    await db.pool.query(
      `INSERT INTO job (job_no, id, team_id, kind, status, created_at, expires_at, options, total, completed, credits, zdr, shards)
       VALUES ($1, gen_random_uuid(), gen_random_uuid(), 'crawl', 'completed', now(), now() - interval '1 second', '{}', 1, 1, 1, false, 1)`,
      [from],
    );
    await db.pool.query(
      `INSERT INTO page (job_no, shard, ord, item, url, final_url, status, depth, bytes, inline, credits, finished_at)
       SELECT $1, 0, n, n, '', '', 200, 0, 1, decode(repeat(md5(n::text), 200), 'hex'), 1, now() FROM generate_series(1, 500) n`,
      [from],
    );
    await blobs.results.put(Buffer.alloc(MB, 1), hourOf(Date.now() - HOUR_MS));
    const kept = await blobs.results.put(Buffer.alloc(MB, 2), hourOf(Date.now() + HOUR_MS));
    const size = async (): Promise<number> =>
      (await db.pool.query<{ size: number }>(`SELECT pg_database_size(current_database())::float8 AS size`)).rows[0]!
        .size;
    const before = { disk: await size(), blobs: await bytesOf('') };
    await new HousekeepingRounds(new Housekeeping(db.pool), blobs.results, runtime, log as never).round();
    expect(before.disk - (await size())).toBeGreaterThan(MB);
    expect(before.blobs - (await bytesOf(''))).toBe(MB);
    expect((await blobs.results.get(kept)).length).toBe(MB);
  });
});
