/**
 * One of two schedulers is cut off from one server only: from Postgres or from NATS, aloud or in silence, one way or both, or it
 * has a slow way there. Crawls end exactly, with the same texts as if nothing had happened.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster, type TestCluster } from '../support/cluster.js';
import type { TcpRelay } from '../support/tcp-relay.js';
import { describeJob, endsLeftOpen, readBooks } from './evidence.js';
import { expectBalanced, expectSameUrls } from './exactness.js';
import { JobClient } from './job-client.js';
import { KnownSite } from './known-site.js';
import { TroubledScheduler, type Ways } from './troubled-scheduler.js';

const PATIENCE_MS = 60_000;
const TEST_MS = 2 * PATIENCE_MS;
const REST_MS = 60_000;
const SLOW_MS = 700;
const FAST_MS = 3;
/** Of a crawl, before the trouble begins. */
const BEGUN = 8;
const ENV = {
  HOST_GAP_MS: '0',
  HOST_MAX_CONN: '8',
  TEAM_CONCURRENCY: '50',
  ALLOW_PRIVATE_TARGETS: '127.0.0.1',
  LOG_FORMAT: 'json',
};

interface Trouble {
  /** All of one length: texts name them. */
  folder: string;
  what: string;
  server: keyof Ways;
  begin(way: TcpRelay): void | Promise<void>;
  /** It loses its partitions. */
  isLost: boolean;
}

const TROUBLES: Trouble[] = [
  { folder: 'nats-cut', what: 'NATS is gone', server: 'nats', begin: (way) => way.cut(), isLost: true },
  { folder: 'pgsl-cut', what: 'Postgres is gone', server: 'postgres', begin: (way) => way.cut(), isLost: true },
  { folder: 'nats-svr', what: 'NATS is not heard', server: 'nats', begin: (way) => way.silent('server'), isLost: true },
  {
    folder: 'pgsl-cli',
    what: 'Postgres does not hear',
    server: 'postgres',
    begin: (way) => way.silent('clients'),
    isLost: true,
  },
  {
    folder: 'pgsl-slo',
    what: 'Postgres is slow',
    server: 'postgres',
    begin: (way) => way.slow({ latencyMs: 150, bytesPerSecond: 500_000 }),
    isLost: false,
  },
  {
    folder: 'nats-slo',
    what: 'NATS is slow',
    server: 'nats',
    begin: (way) => way.slow({ latencyMs: 150, bytesPerSecond: 500_000 }),
    isLost: false,
  },
];

let cluster: TestCluster;
let site: KnownSite;
let scheduler: TroubledScheduler;
let crawls: JobClient;
/** By path without its folder. */
let texts: Map<string, string>;

const say = (text: string): void => void process.stderr.write(`    ${text}\n`);

beforeAll(async () => {
  site = await KnownSite.start({ pages: 80, islands: 5 });
  cluster = await startCluster({
    args: ['--schedulers', '0'],
    dataDir: process.env.CHAOS_DATA_DIR,
    env: { ...ENV, FETCHER_CLASSES: 'http' },
  });
  scheduler = await TroubledScheduler.start(cluster, ENV);
  crawls = new JobClient(cluster);
}, 180_000);

afterAll(async () => {
  await scheduler?.stop();
  await cluster?.stop();
  await site?.stop();
}, 90_000);

const wishOf = (folder: string) => ({
  url: site.startUrl(folder),
  limit: 10_000,
  scrapeOptions: { formats: ['markdown'] },
});

async function untilBegun(id: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (let { completed } = await crawls.status(id); completed < BEGUN; { completed } = await crawls.status(id)) {
    if (performance.now() > deadline) throw new Error(`no ${BEGUN} pages\n${await describeJob(cluster, id)}`);
    await sleep(100);
  }
}

async function textsOf(id: string, folder: string): Promise<Map<string, string>> {
  const documents = await crawls.documents(id);
  const plain = (text: string) => text.replaceAll(folder, 'folder');
  return new Map(documents.map(({ metadata, markdown = '' }) => [plain(metadata.url), plain(markdown)]));
}

async function expectExact(id: string, folder: string): Promise<void> {
  const expected = site.expected(folder);
  const books = await readBooks(cluster, id);
  expectSameUrls(books.finalUrls, expected);
  expectBalanced(books, expected.size);
  expect(await textsOf(id, folder)).toEqual(texts);
}

describe('a scheduler that is cut off from one server', () => {
  it(
    'has something to be compared with: a crawl in peace',
    async () => {
      site.latencyMs = FAST_MS;
      const id = await crawls.start(wishOf('in-peace'));
      await crawls.end(id, PATIENCE_MS);
      texts = await textsOf(id, 'in-peace');
      expect(texts.size).toBe(site.expected('in-peace').size);
      expect(Math.min(...[...texts.values()].map(({ length }) => length))).toBeGreaterThan(100);
      await expectExact(id, 'in-peace');
    },
    TEST_MS,
  );

  for (const { folder, what, server, begin, isLost } of TROUBLES) {
    it(
      `(${what}) changes nothing of a crawl but its time`,
      async () => {
        site.latencyMs = SLOW_MS;
        const id = await scheduler.startHere(crawls, wishOf(folder));
        await untilBegun(id);
        const way = scheduler.ways[server];
        await begin(way);
        const beganAt = performance.now();
        if (isLost) await scheduler.untilTakenOver();
        const lostMs = Math.round(performance.now() - beganAt);
        site.latencyMs = FAST_MS;
        await crawls.end(id, PATIENCE_MS);
        const overMs = Math.round(performance.now() - beganAt);
        await way.mend();
        await scheduler.until((n) => n > 1, 'it does not come back');
        const repeats = site.repeats(folder);
        say(
          `${what}: ${isLost ? `all lost after ${lostMs} ms, ` : ''}over after ${overMs} ms, ${repeats} requests again`,
        );
        await expectExact(id, folder);
      },
      TEST_MS,
    );
  }

  it(
    'leaves nothing behind: every job comes to rest, and hands back what it held',
    async () => {
      expect(await endsLeftOpen(cluster, REST_MS)).toEqual([]);
    },
    REST_MS + 30_000,
  );
});
