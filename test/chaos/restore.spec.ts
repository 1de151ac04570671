/**
 * The backup of docs/operating.md, taken while a crawl runs: a dump of Postgres first, the blobs after it, nothing of NATS. Restored
 * onto another Postgres and an empty NATS, finished results can be read and the running crawl goes on to its end.
 * Skipped loudly where there is no pg_dump as new as the server.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { query, readBooks } from './evidence.js';
import { expectBalanced, expectDocuments, expectSameUrls } from './exactness.js';
import { JobClient } from './job-client.js';
import { KnownSite } from './known-site.js';
import { startCluster, type TestCluster } from '../support/cluster.js';

const PAGES = 120;
/** Documents become too large for a row. */
const NOISE_LINES = 320;
const DONE_PAGES = 30;
const SLOW_MS = 150;
const PATIENCE_MS = 120_000;
const DATABASE = `restored_${process.pid}`;
const ENV = { HOST_GAP_MS: '0', HOST_MAX_CONN: '4', ALLOW_PRIVATE_TARGETS: '127.0.0.1', LOG_FORMAT: 'json' };

const server = process.env.TEST_DATABASE_URL ?? '';
const tools = server === '' ? null : await findTools();
const suite = tools === null ? describe.skip : describe;

interface Tools {
  dump: string;
  restore: string;
}

/** The client programs of a Postgres; they read servers of their version and older ones. */
async function findTools(): Promise<Tools | null> {
  const { rows } = await onServer('SHOW server_version_num');
  const wanted = Math.floor(Number(rows[0]?.server_version_num) / 10_000);
  const debian = '/usr/lib/postgresql';
  const versions = Array.from({ length: 20 }, (_, i) => `${debian}/${30 - i}/bin`);
  const folders = [...versions, ...(process.env.PATH ?? '').split(path.delimiter)];
  const bin = folders.find((folder) => existsSync(path.join(folder, 'pg_restore')) && majorOf(folder) >= wanted);
  if (bin !== undefined) return { dump: path.join(bin, 'pg_dump'), restore: path.join(bin, 'pg_restore') };
  process.stderr.write(`troupe    | SKIPPED: there is no pg_dump ${wanted} here; backup and restore are not tried\n`);
  return null;
}

function majorOf(folder: string): number {
  const { stdout } = spawnSync(path.join(folder, 'pg_dump'), ['--version'], { encoding: 'utf8' });
  return Number(/(\d+)/.exec(stdout ?? '')?.[1] ?? 0);
}

function run(program: string, args: string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr.slice(-2_000)}`);
}

/** One statement on the server that is restored to. */
async function onServer(sql: string): Promise<pg.QueryResult<Record<string, unknown>>> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
}

const restoredUrl = (): string => {
  const url = new URL(server);
  url.pathname = `/${DATABASE}`;
  return url.href;
};

let work: string;
let site: KnownSite;
let first: TestCluster | null = null;
let second: TestCluster | null = null;

suite('a backup that is taken while a crawl runs', () => {
  let finished: string;
  let running: string;
  let startedPages: number;
  let crawls: JobClient;

  beforeAll(async () => {
    work = await mkdtemp(path.join(tmpdir(), 'troupe-restore-'));
    await chmod(work, 0o755);
    site = await KnownSite.start({ pages: PAGES, islands: 0, latencyMs: 3, noiseLines: NOISE_LINES });
    const firstDir = path.join(work, 'first');
    await mkdir(firstDir);
    first = await startCluster({ dataDir: firstDir, env: ENV });
    const before = new JobClient(first);
    const options = { limit: 10_000, scrapeOptions: { formats: ['markdown'], timeout: 1_000 } };
    finished = await before.start({ url: site.startUrl('finished'), ...options, limit: DONE_PAGES });
    await before.end(finished, PATIENCE_MS);
    site.latencyMs = SLOW_MS;
    running = await before.start({ url: site.startUrl('running'), ...options });
    while ((await before.status(running)).completed < 20) await sleep(100);

    const dump = path.join(work, 'troupe.dump');
    run(tools!.dump, ['--format=custom', `--file=${dump}`, `--dbname=${(await first.record()).postgres}`]);
    await cp(path.join(firstDir, 'blobs'), path.join(work, 'blobs'), { recursive: true });
    const key = first.apiKey;
    // What comes after the backup is lost with the installation.
    await first.stop();
    first = null;
    await rm(firstDir, { recursive: true, force: true });

    await onServer(`CREATE DATABASE ${DATABASE}`);
    run(tools!.restore, ['--no-owner', '--exit-on-error', `--dbname=${restoredUrl()}`, dump]);
    const secondDir = path.join(work, 'second');
    await mkdir(secondDir);
    await cp(path.join(work, 'blobs'), path.join(secondDir, 'blobs'), { recursive: true });
    site.latencyMs = 3;
    second = await startCluster({ dataDir: secondDir, env: { ...ENV, DATABASE_URL: restoredUrl() } });
    crawls = new JobClient({ ...second, apiKey: key });
    startedPages = (await crawls.status(running)).completed;
  }, 240_000);

  afterAll(async () => {
    await first?.stop();
    await second?.stop();
    await site?.stop();
    await rm(work, { recursive: true, force: true });
    await onServer(`DROP DATABASE IF EXISTS ${DATABASE} WITH (FORCE)`);
  }, 90_000);

  it('gives back the results of finished jobs, large ones too, to the same key', async () => {
    const documents = await crawls.documents(finished);
    expect(documents).toHaveLength(DONE_PAGES);
    for (const { metadata, markdown } of documents)
      expect([metadata.url, markdown]).toEqual([metadata.url, site.markdownOf(metadata.url)]);
    const [{ blobs } = { blobs: 0 }] = await query<{ blobs: number }>(
      second!,
      'SELECT count(blob)::int AS blobs FROM page JOIN job_id i USING (job_no) WHERE i.id = $1',
      [finished],
    );
    expect(blobs).toBeGreaterThan(0);
  });

  it(
    'lets the running crawl go on to its end, every page once',
    async () => {
      expect(startedPages).toBeGreaterThanOrEqual(20);
      const expected = site.expected('running');
      expect(startedPages).toBeLessThan(expected.size);
      await crawls.end(running, PATIENCE_MS);
      const books = await readBooks(second!, running);
      expectSameUrls(books.finalUrls, expected);
      expectBalanced(books, expected.size);
      expectDocuments(site, await crawls.documents(running), expected);
    },
    PATIENCE_MS + 30_000,
  );

  it('takes new work', async () => {
    const id = await crawls.start({ url: site.startUrl('new'), limit: 10 });
    expect(await crawls.end(id, PATIENCE_MS)).toMatchObject({ status: 'completed', completed: 10 });
  });
});
