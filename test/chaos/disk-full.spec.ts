/**
 * A disk that is full amid a crawl: of the results, of NATS, of Postgres. The cluster says so, loses nothing, and goes on by
 * itself when there is room again. Skipped loudly where no disk can be mounted.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { SmallDisk } from '../support/small-disk.js';
import { describeJob, query, readBooks } from './evidence.js';
import { expectBalanced, expectDocuments, expectSameUrls } from './exactness.js';
import { JobClient } from './job-client.js';
import { KnownSite } from './known-site.js';

const PAGES = 250;
/** Documents become too large for a row. */
const NOISE_LINES = 320;
const SLOW_MS = 200;
const FAST_MS = 3;
/** From the full disk until somebody says so. */
const SAID_MS = 20_000;
/** That it stays full after that. */
const HOLD_MS = 4_000;
const PATIENCE_MS = 90_000;
/** Processes start again after at most ten seconds, and must become ready. */
const WELL_MS = 30_000;
const SIZES_MB = { blobs: 64, nats: 64, postgres: 400 };
type Part = keyof typeof SIZES_MB;
const PLACES: Record<Part, string> = { blobs: 'blobs', nats: 'nats/store', postgres: 'postgres' };

const suite = SmallDisk.whyNone('full disks are not tried') === null ? describe : describe.skip;

let dataDir: string;
const disks = {} as Record<Part, SmallDisk>;
let site: KnownSite;
let cluster: TestCluster;
let crawls: JobClient;

const say = (text: string): void => void process.stderr.write(`    ${text}\n`);

suite('a cluster', () => {
  beforeAll(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'troupe-cluster-'));
    // As root, Postgres runs as another user.
    await chmod(dataDir, 0o755);
    for (const part of Object.keys(PLACES) as Part[])
      disks[part] = SmallDisk.mount(path.join(dataDir, PLACES[part]), SIZES_MB[part]);
    site = await KnownSite.start({ pages: PAGES, islands: 0, latencyMs: SLOW_MS, noiseLines: NOISE_LINES });
    cluster = await startCluster({
      dataDir,
      env: {
        HOST_GAP_MS: '0',
        HOST_MAX_CONN: '8',
        TEAM_CONCURRENCY: '50',
        ALLOW_PRIVATE_TARGETS: '127.0.0.1',
        FETCHER_CLASSES: 'http',
        LOG_FORMAT: 'json',
      },
    });
    crawls = new JobClient(cluster);
  }, 180_000);

  afterAll(async () => {
    await cluster?.stop();
    await site?.stop();
    for (const disk of Object.values(disks)) disk.remove();
    await rm(dataDir, { recursive: true, force: true });
  }, 90_000);

  /** What the services say to whoever asks whether they are ready; those that are say nothing. */
  async function complaints(): Promise<string[]> {
    const asked = (await cluster.processes()).flatMap(({ name, health }) =>
      health === null ? [] : [{ name, health }],
    );
    const said = asked.map(async ({ name, health }) => {
      const answer = await fetch(`${health}/health/readiness`, { signal: AbortSignal.timeout(4_000) });
      if (answer.ok) return [];
      const { checks } = (await answer.json()) as { checks: Record<string, { error?: string }> };
      return Object.values(checks).flatMap(({ error }) => (error === undefined ? [] : [`${name}: ${error}`]));
    });
    return (await Promise.all(said)).flat();
  }

  async function logOf(name: string): Promise<string> {
    return readFile(path.join(dataDir, `logs/${name}.log`), 'utf8');
  }

  async function freeShare(): Promise<number> {
    const { health } = (await cluster.processes()).find(({ name }) => name === 'scheduler')!;
    const text = await (await fetch(`${health}/metrics`)).text();
    const valueOf = (name: string) => Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)`, 'm').exec(text)?.[1]);
    return valueOf('troupe_disk_free_bytes') / valueOf('troupe_disk_size_bytes');
  }

  async function untilCompleted(id: string, pages: number): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    for (let { completed } = await crawls.status(id); completed < pages; { completed } = await crawls.status(id)) {
      if (performance.now() > deadline) throw new Error(`no ${pages} pages\n${await describeJob(cluster, id)}`);
      await sleep(100);
    }
  }

  async function startCrawl(folder: string): Promise<string> {
    site.latencyMs = SLOW_MS;
    const id = await crawls.start({
      url: site.startUrl(folder),
      limit: 10_000,
      scrapeOptions: { formats: ['markdown'] },
    });
    await untilCompleted(id, 40);
    return id;
  }

  /** Fills the disk until `isSaid` and some seconds longer, and makes room again. @returns whether it was said in time */
  async function fillUntil(part: Part, isSaid: () => Promise<boolean>): Promise<boolean> {
    const startedAt = performance.now();
    const seconds = () => ((performance.now() - startedAt) / 1000).toFixed(1);
    let until = startedAt + SAID_MS;
    let saidMs: number | null = null;
    try {
      for (; performance.now() < until; await sleep(500)) {
        await disks[part].fill();
        if (saidMs !== null || !(await isSaid())) continue;
        saidMs = performance.now() - startedAt;
        say(`the disk of ${part} is full; said after ${seconds()} s: ${(await complaints()).join('; ').slice(0, 300)}`);
        until = performance.now() + HOLD_MS;
      }
    } finally {
      await disks[part].empty();
    }
    say(`room again after ${seconds()} s`);
    return saidMs !== null;
  }

  async function expectWell(id: string, folder: string): Promise<void> {
    const startedAt = performance.now();
    const seconds = () => ((performance.now() - startedAt) / 1000).toFixed(1);
    site.latencyMs = FAST_MS;
    await crawls.end(id, PATIENCE_MS);
    say(`over ${seconds()} s later, ${site.repeats(folder)} requests again`);
    const expected = site.expected(folder);
    const books = await readBooks(cluster, id);
    expectSameUrls(books.finalUrls, expected);
    expectBalanced(books, expected.size);
    expectDocuments(site, await crawls.documents(id), expected);
    let open = await complaints();
    for (const deadline = startedAt + WELL_MS; open.length > 0 && performance.now() < deadline; await sleep(500))
      open = await complaints();
    expect(open).toEqual([]);
  }

  it(
    'whose results find no room is not ready, tells by its metrics, and goes on when there is room',
    async () => {
      const id = await startCrawl('blobs');
      const isSaid = async () =>
        (await freeShare()) < 0.1 &&
        (await complaints()).some((text) => text.startsWith('fetcher: the disk of the results is full'));
      expect(await fillUntil('blobs', isSaid)).toBe(true);
      await expectWell(id, 'blobs');
    },
    2 * PATIENCE_MS,
  );

  it(
    'whose NATS finds no room is not ready and says why, and goes on when there is room',
    async () => {
      const id = await startCrawl('nats');
      const isSaid = async () => (await complaints()).some((text) => /scheduler: JetStream does not store/.test(text));
      expect(await fillUntil('nats', isSaid)).toBe(true);
      await expectWell(id, 'nats');
    },
    2 * PATIENCE_MS,
  );

  it(
    'whose Postgres finds no room is not ready and says why, and goes on when there is room',
    async () => {
      const id = await startCrawl('postgres');
      const isSaid = async () =>
        (await complaints()).some((text) => /scheduler: the disk of Postgres is full/.test(text));
      // Where its tables, or its log, have room inside it needs none of the disk for a while, and refuses nothing.
      if (!(await fillUntil('postgres', isSaid))) say('Postgres had room enough in its tables');
      await expectWell(id, 'postgres');
    },
    2 * PATIENCE_MS,
  );

  it(
    'whose Postgres dies because its log finds no room starts it again, and goes on when there is room',
    async () => {
      const id = await startCrawl('wal');
      const isSaid = async () => {
        // What the log has ready for later is used up.
        for (let i = 0; i < 10; i++) await query(cluster, 'SELECT pg_switch_wal()').catch(() => undefined);
        const isDead = (await logOf('postgres')).includes('PANIC');
        return isDead && (await complaints()).some((text) => text.startsWith('scheduler: '));
      };
      if (!(await fillUntil('postgres', isSaid))) say('Postgres had room enough in its log');
      await expectWell(id, 'wal');
    },
    2 * PATIENCE_MS,
  );
});
