/** Zero data retention through the whole cluster: a canary goes through, and is looked for everywhere afterwards. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { openBlobRoots } from '@troupe/blob-store';
import { createPool, Retention } from '@troupe/persistence';
import { startSite, type Site } from '@troupe/testing';
import { RetentionRounds } from '../../apps/scheduler/src/housekeeping/retention-rounds.js';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';

const SETUP_TIMEOUT_MS = 120_000;
const TEST_TIMEOUT_MS = 60_000;

let site: Site;
let cluster: TestCluster;
let api: ApiClient;
let pool: ReturnType<typeof createPool>;

beforeAll(async () => {
  // The canary of an address stands in its page, too, and in a part that is too large for a row.
  site = await startSite((request, response) => {
    if (request.url === '/robots.txt') return void response.writeHead(404).end();
    const name = (request.url ?? '').split('/')[1] ?? '';
    const noise = Array.from({ length: 4000 }, (_, i) => Math.sin(i * name.length).toString(36)).join(' ');
    const links = [1, 2].map((n) => `<a href="/${name}/${n}">${name} ${n}</a>`).join(' ');
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(
      `<html><head><title>${name}</title></head><body><main><h1>${name}</h1><p>${noise}</p>${links}</main></body></html>`,
    );
  });
  cluster = await startCluster({
    env: { ALLOW_PRIVATE_TARGETS: '127.0.0.1', HOST_GAP_MS: '0', CACHE_MAX_MB: '64' },
  });
  pool = createPool({ databaseUrl: (await cluster.record()).postgres, poolSize: 2, name: 'zero-retention-spec' });
  api = new ApiClient(cluster.url, cluster.apiKey);
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await pool?.end();
  await cluster?.stop();
  await site?.close();
}, SETUP_TIMEOUT_MS);

const blobFolder = () => path.join(cluster.dataDir, 'blobs');

/** Tables and files in which the text stands, plain or compressed. */
async function findings(canary: string): Promise<string[]> {
  return [...(await inTables(canary)), ...(await inFiles(canary))].sort();
}

async function inTables(canary: string): Promise<string[]> {
  const { rows: columns } = await pool.query<{ table: string; column: string; isBytes: boolean }>(
    `SELECT c.relname AS table, a.attname AS column, a.atttypid = 'bytea'::regtype AS "isBytes"
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped`,
  );
  const found = new Set<string>();
  for (const { table, column, isBytes } of columns) {
    const { rows } = await pool.query<{ value: Buffer | string }>(
      isBytes
        ? `SELECT "${column}" AS value FROM "${table}" WHERE "${column}" IS NOT NULL`
        : `SELECT "${column}"::text AS value FROM "${table}" WHERE "${column}"::text LIKE '%' || $1 || '%'`,
      isBytes ? [] : [canary],
    );
    if (rows.some(({ value }) => holds(Buffer.from(value), canary))) found.add(`${table}.${column}`);
  }
  return [...found];
}

async function inFiles(canary: string): Promise<string[]> {
  const entries = await readdir(blobFolder(), { recursive: true, withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries.filter((each) => each.isFile())) {
    const file = path.join(entry.parentPath, entry.name);
    if (holds(await readFile(file), canary)) found.push(path.relative(blobFolder(), file));
  }
  return found;
}

function holds(bytes: Buffer, canary: string): boolean {
  return (
    bytes.includes(canary) ||
    [gunzipSync, brotliDecompressSync].some((unpack) => unpacked(bytes, unpack).includes(canary))
  );
}

/** What is not compressed that way is nothing. */
function unpacked(bytes: Buffer, unpack: (bytes: Buffer) => Buffer): Buffer {
  try {
    return unpack(bytes);
  } catch {
    return Buffer.alloc(0);
  }
}

/** One round of the scheduler's retention, now. */
async function retentionRound(): Promise<void> {
  const rounds = new RetentionRounds({
    rows: new Retention(pool),
    blobs: openBlobRoots(blobFolder()),
    runtime: { partitions: [0] },
    cacheMaxBytes: 64_000_000,
    historyHours: 24,
    log: { info: () => undefined, warn: (context: unknown) => console.warn(context) } as never,
  });
  await rounds.round();
}

describe('a team without the permission', () => {
  it('is refused in every call', async () => {
    const url = `${site.origin}/refused`;
    const answers = await Promise.all([
      api.post('/v2/scrape', { url, zeroDataRetention: true }),
      api.post('/v2/crawl', { url, zeroDataRetention: true }),
      api.post('/v2/batch/scrape', { urls: [url], zeroDataRetention: true }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
    expect(site.log).toEqual([]);
  });
});

describe('a team with the permission', () => {
  beforeAll(async () => {
    await pool.query(`UPDATE team SET flags = flags || '{"zeroDataRetention": true}'`);
    const fetcherPid = await cluster.signal('gateway', 'SIGKILL');
    await cluster.waitForRestart('gateway', fetcherPid);
    api = new ApiClient((await cluster.record()).url, cluster.apiKey);
  }, SETUP_TIMEOUT_MS);

  it(
    'finds what is kept of an ordinary scrape, so that the search below means something',
    async () => {
      const canary = 'canary-ordinary';
      await api.post('/v2/scrape', { url: `${site.origin}/${canary}` });
      await sleep(1500);
      const places = await findings(canary);
      expect(places).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^scrape_log_d\d+\.url$/),
          expect.stringMatching(/^scrape_document_d\d+\.inline$/),
          'page_cache.url',
          expect.stringMatching(/^cache\//),
        ]),
      );
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'leaves nothing of a scrape, pays one credit more, and does not find it again',
    async () => {
      const canary = 'canary-scrape';
      const { status, body } = await api.post('/v2/scrape', {
        url: `${site.origin}/${canary}`,
        zeroDataRetention: true,
        formats: ['markdown', 'changeTracking'],
      });
      expect(status).toBe(200);
      const data = body.data as { markdown: string; warning: string; metadata: Record<string, unknown> };
      expect(data.markdown).toContain(canary);
      expect(data).not.toHaveProperty('changeTracking');
      expect(data.warning).toContain('zero data retention');
      expect(data.metadata).toMatchObject({ creditsUsed: 2 });
      expect(data.metadata).not.toHaveProperty('cacheState');
      const id = data.metadata.scrapeId as string;
      expect(await api.call(`/v2/scrape/${id}`)).toMatchObject({ status: 404, body: { error: 'Job not found.' } });
      await sleep(1500);
      expect(await findings(canary)).toEqual([]);
      const { rows } = await pool.query('SELECT url, credits FROM scrape_log WHERE id = $1', [id]);
      expect(rows).toEqual([{ url: '', credits: 2 }]);
    },
    TEST_TIMEOUT_MS,
  );

  it('refuses what can only come from the cache', async () => {
    const { status, body } = await api.post('/v2/scrape', { url: site.origin, minAge: 1, zeroDataRetention: true });
    expect({ status, code: body.code }).toEqual({ status: 500, code: 'SCRAPE_ZDR_VIOLATION_ERROR' });
  });

  it.each([
    ['crawl', (url: string) => ({ url, sitemap: 'skip', limit: 3 }), 3],
    ['batch/scrape', (url: string) => ({ urls: [`${url}/1`, `${url}/2`] }), 2],
  ] as const)(
    'reads the results of a %s for a while, then nothing is left of it',
    async (kind, order, pages) => {
      const canary = `canary-${kind.replace('/', '-')}`;
      const started = await api.post(`/v2/${kind}`, { ...order(`${site.origin}/${canary}`), zeroDataRetention: true });
      expect(started.status).toBe(200);
      const id = started.body.id as string;
      const job = await api.finished<{
        status: string;
        creditsUsed: number;
        expiresAt: string;
        data: { markdown: string; metadata: { scrapeId: string; creditsUsed: number; cacheState?: string } }[];
      }>(`/v2/${kind}/${id}`);
      expect(job).toMatchObject({ status: 'completed', creditsUsed: 2 * pages });
      expect(job.data).toHaveLength(pages);
      for (const { markdown, metadata } of job.data) {
        expect(markdown).toContain(canary);
        expect(metadata.creditsUsed).toBe(2);
        expect(metadata.cacheState).toBeUndefined();
        expect((await api.call(`/v2/scrape/${metadata.scrapeId}`)).status).toBe(404);
      }
      expect(Date.parse(job.expiresAt) - Date.now()).toBeLessThan(31 * 60_000);
      const kept = await findings(canary);
      expect(kept.filter((place) => place.includes('/')).every((file) => file.startsWith(`zdr/${id}/`))).toBe(true);
      expect(kept).not.toEqual([]);

      await pool.query(`UPDATE job SET expires_at = now() - interval '1 second' WHERE id = $1`, [id]);
      const deadlineMs = performance.now() + 40_000;
      do {
        await retentionRound();
        await sleep(300);
      } while ((await findings(canary)).length > 0 && performance.now() < deadlineMs);
      expect(await findings(canary)).toEqual([]);
      expect(await openBlobRoots(blobFolder()).erasable.jobs()).not.toContain(id);
      // A gateway believes for 10 s what it read of a finished job, up to the end it was told then.
      while ((await api.call(`/v2/${kind}/${id}`)).status === 200 && performance.now() < deadlineMs) await sleep(500);
      expect(await api.call(`/v2/${kind}/${id}`)).toMatchObject({ status: 404, body: { error: 'Job expired' } });
    },
    TEST_TIMEOUT_MS,
  );
});
