/**
 * Killing any process at any moment loses nothing and repeats nothing (design/failure-matrix.md §2): a real cluster, a
 * site whose result is known, and kill -9.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { describeJob, readBooks, type Books } from './evidence.js';
import { JobClient } from './job-client.js';
import { KnownSite } from './known-site.js';

const PAGES = 2_200;
const SMALL = 500;
/** A crawl that is not over by then hangs. */
const PATIENCE_MS = 180_000;
const TEST_MS = PATIENCE_MS + 90_000;
/** Slow enough that a crawl is still under way when the last process is killed. */
const SLOW_MS = 180;
const FAST_MS = 3;
const BETWEEN_KILLS_MS = 2_500;
const VICTIMS = [
  'scheduler',
  'fetcher',
  'converter',
  'nats-server',
  'scheduler-2',
  'extractor',
  'postgres',
  'fetcher-2',
  'dispatcher',
  'gateway',
];

const OPTIONS = { formats: ['markdown'], timeout: 10_000 };

let site: KnownSite;
let cluster: TestCluster;
let crawls: JobClient;

beforeAll(async () => {
  site = await KnownSite.start({ pages: PAGES });
  cluster = await startCluster({
    args: ['--schedulers', '2', '--fetchers', '2'],
    env: {
      HOST_GAP_MS: '0',
      HOST_MAX_CONN: '16',
      TEAM_CONCURRENCY: '50',
      ALLOW_PRIVATE_TARGETS: '127.0.0.1',
      LOG_FORMAT: 'json',
    },
  });
  crawls = new JobClient(cluster);
}, 180_000);

afterAll(async () => {
  await cluster?.stop();
  await site?.stop();
}, 90_000);

const say = (text: string): void => void process.stderr.write(`    ${text}\n`);

/** Kills a process and returns the way to wait for its successor. */
async function kill(name: string): Promise<() => Promise<void>> {
  const pid = await cluster.signal(name, 'SIGKILL');
  return () => cluster.waitForRestart(name, pid, 60_000);
}

function startCrawl(folder: string, limit = 10_000): Promise<string> {
  return crawls.start({ url: site.startUrl(folder), limit, scrapeOptions: OPTIONS });
}

async function untilCompleted(id: string, pages: number, client = crawls): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (let status = await client.status(id); status.completed < pages; status = await client.status(id)) {
    if (status.status !== 'scraping' || performance.now() > deadline)
      throw new Error(`waiting for ${pages} pages: ${status.status}, ${status.completed}\n${await describeJob(cluster, id)}`);
    await sleep(100);
  }
}

/** Everything that must hold of a finished job, whatever happened to it. */
function expectBalanced(books: Books, pages: number): void {
  expect(books.errors).toEqual([]);
  expect(books.deadLetters).toBe(0);
  expect(books.status).toBe('completed');
  expect(books).toMatchObject({
    pages,
    items: pages,
    firstOrd: 1,
    lastOrd: pages,
    total: pages,
    completed: pages,
    credits: pages,
    ledger: pages,
    pageCredits: pages,
    frontier: 0,
  });
  expect(books.outcomes.ok).toBe(pages);
  expect(books.counted).toEqual(books.outcomes);
  expect(Object.values(books.outcomes).reduce((sum, n) => sum + n, 0)).toBe(books.discovered);
}

/** The set difference both ways, which reads better than two lists of thousands. */
function expectSameUrls(found: readonly string[], expected: ReadonlySet<string>): void {
  const set = new Set(found);
  expect({
    missing: [...expected].filter((url) => !set.has(url)),
    unexpected: [...set].filter((url) => !expected.has(url)),
    twice: found.length - set.size,
  }).toEqual({ missing: [], unexpected: [], twice: 0 });
}

async function expectExact(id: string, folder: string): Promise<void> {
  const expected = site.expected(folder);
  const books = await readBooks(cluster, id);
  expectSameUrls(books.finalUrls, expected);
  expectBalanced(books, expected.size);
  const documents = await crawls.documents(id);
  expectSameUrls(documents.map(({ metadata }) => metadata.url), expected);
  const requested = site.hitsOf(folder);
  const distinct = new Set(requested.map(({ path: asked }) => asked)).size;
  say(`${folder}: ${expected.size} pages, ${requested.length} requests, ${requested.length - distinct} repeated; peak ${site.peak}`);
}

/** Ends the server and its disk before it is started again: as after the loss of its machine. */
async function wipeNats(): Promise<void> {
  const { launcher, dataDir } = cluster;
  launcher.kill('SIGSTOP');
  try {
    const back = await kill('nats-server');
    await rm(path.join(dataDir, 'nats/store'), { recursive: true, force: true });
    launcher.kill('SIGCONT');
    await back();
  } finally {
    launcher.kill('SIGCONT');
  }
}

describe('a cluster whose processes are killed', () => {
  it(
    'finishes a crawl exactly, although each process dies once in its middle',
    async () => {
      site.latencyMs = SLOW_MS;
      const startedAt = performance.now();
      const id = await startCrawl('crawl-kills');
      await untilCompleted(id, 50);
      const returns: (() => Promise<void>)[] = [];
      for (const victim of VICTIMS) {
        const { status, completed, total } = await crawls.status(id);
        expect({ victim, status }).toEqual({ victim, status: 'scraping' });
        say(`kill -9 ${victim} at ${completed} of ${total} pages, ${Math.round(performance.now() - startedAt)} ms`);
        returns.push(await kill(victim));
        await sleep(BETWEEN_KILLS_MS);
      }
      site.latencyMs = FAST_MS;
      await Promise.all(returns.map((wait) => wait()));
      await crawls.end(id, PATIENCE_MS);
      say(`over after ${Math.round(performance.now() - startedAt)} ms`);
      await expectExact(id, 'crawl-kills');
    },
    TEST_MS,
  );
});
