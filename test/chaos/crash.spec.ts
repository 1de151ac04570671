/**
 * Killing any process at any moment loses nothing and repeats nothing (docs/design/failure-matrix.md, "Faults"): a real cluster, a
 * site whose result is known, and kill -9.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { describeJob, endsLeftOpen, query, readBooks } from './evidence.js';
import { expectBalanced, expectDocuments, expectSameUrls } from './exactness.js';
import { JobClient } from './job-client.js';
import { KnownSite } from './known-site.js';

const PAGES = 2_200;
/** Of the crawls that see one kind of trouble. */
const SMALL = 500;
const BATCH = 500;
/** Pages whose changes are tracked: each is given 5 s to settle. */
const TRACKED = 40;
const TRACKING = { formats: ['markdown', 'changeTracking'], timeout: 60_000 };
/** A crawl that is not over by then hangs. */
const PATIENCE_MS = 180_000;
const TEST_MS = PATIENCE_MS + 90_000;
/** Slow enough that a crawl is still under way when the last process is killed. */
const SLOW_MS = 180;
const FAST_MS = 3;
/** Pools forget a silent claimant in less. */
const REST_MS = 60_000;
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

const SCHEDULERS = ['scheduler', 'scheduler-2'];
const FETCHERS = ['fetcher', 'fetcher-2'];
const MAX_CONN = 16;
const EXPRESS_CONN = 4;
const OPTIONS = { formats: ['markdown'], timeout: 10_000 };

let site: KnownSite;
let small: KnownSite;
/** A host of its own: lanes of one that was quick before would be too long for pages that take 5 s. */
let tracked: KnownSite;
let cluster: TestCluster;
let crawls: JobClient;

beforeAll(async () => {
  site = await KnownSite.start({ pages: PAGES });
  small = await KnownSite.start({ pages: SMALL });
  tracked = await KnownSite.start({ pages: 1 });
  cluster = await startCluster({
    args: ['--schedulers', '2', '--fetchers', '2', '--converters', '1'],
    // Kept when named, for a look at its logs.
    dataDir: process.env.CHAOS_DATA_DIR,
    env: {
      HOST_GAP_MS: '0',
      HOST_MAX_CONN: String(MAX_CONN),
      HOST_EXPRESS_CONN: String(EXPRESS_CONN),
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
  await small?.stop();
  await tracked?.stop();
}, 90_000);

const say = (text: string): void => void process.stderr.write(`    ${text}\n`);

/** Kills a process and returns the way to wait for its successor. */
async function kill(name: string): Promise<() => Promise<void>> {
  const pid = await cluster.signal(name, 'SIGKILL');
  return () => cluster.waitForRestart(name, pid, 60_000);
}

function startCrawl(on: KnownSite, folder: string): Promise<string> {
  return crawls.start({ url: on.startUrl(folder), limit: 10_000, scrapeOptions: OPTIONS });
}

/** The scheduler that runs the job's actor. */
async function ownerOf(id: string): Promise<string> {
  const [lease] = await query<{ owner: string }>(
    cluster,
    'SELECT l.owner FROM part_lease l JOIN actor a USING (part) WHERE a.key = $1',
    [`crawl/${id}`],
  );
  for (const { name, health } of await cluster.processes()) {
    if (!name.startsWith('scheduler') || health === null) continue;
    const { instance } = (await (await fetch(`${health}/health/readiness`)).json()) as { instance: string };
    if (instance === lease?.owner) return name;
  }
  throw new Error(`no scheduler is ${lease?.owner}`);
}

async function untilCompleted(id: string, pages: number, client = crawls): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (let status = await client.status(id); status.completed < pages; status = await client.status(id)) {
    if (status.status !== 'scraping' || performance.now() > deadline)
      throw new Error(
        `waiting for ${pages} pages: ${status.status}, ${status.completed}\n${await describeJob(cluster, id)}`,
      );
    await sleep(100);
  }
}

async function expectExact(on: KnownSite, id: string, folder: string): Promise<void> {
  const expected = on.expected(folder);
  const books = await readBooks(cluster, id);
  expectSameUrls(books.finalUrls, expected);
  expectBalanced(books, expected.size);
  expectDocuments(on, await crawls.documents(id), expected);
  const again = on.repeats(folder);
  say(
    `${folder}: ${expected.size} pages, ${on.hitsOf(folder).length} requests, ${again} of them again, at most ${on.peak} at once`,
  );
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
      const id = await startCrawl(site, 'kills');
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
      await expectExact(site, id, 'kills');
      expect(site.peak).toBeLessThanOrEqual(MAX_CONN + EXPRESS_CONN);
    },
    TEST_MS,
  );

  it(
    'goes on without a scheduler that stands still for 10 s, and undisturbed by it when it wakes',
    async () => {
      small.latencyMs = SLOW_MS;
      const id = await startCrawl(small, 'zombie');
      await untilCompleted(id, 20);
      const owner = await ownerOf(id);
      await cluster.signal(owner, 'SIGSTOP');
      const { completed: before } = await crawls.status(id);
      await sleep(10_000);
      const { completed: during } = await crawls.status(id);
      await cluster.signal(owner, 'SIGCONT');
      say(`${owner} stood still at ${before} pages; ${during} when it woke`);
      small.latencyMs = FAST_MS;
      expect(during).toBeGreaterThan(before);
      await crawls.end(id, PATIENCE_MS);
      await expectExact(small, id, 'zombie');
    },
    TEST_MS,
  );

  it(
    'finishes a crawl exactly when NATS comes back with nothing, and one whose start was in NATS only',
    async () => {
      small.latencyMs = SLOW_MS;
      const startedAt = performance.now();
      const id = await startCrawl(small, 'wiped');
      await untilCompleted(id, 30);
      for (const scheduler of SCHEDULERS) await cluster.signal(scheduler, 'SIGSTOP');
      const unheard = await startCrawl(small, 'unheard');
      await wipeNats();
      for (const scheduler of SCHEDULERS) await cluster.signal(scheduler, 'SIGCONT');
      say(`NATS is back and empty after ${Math.round(performance.now() - startedAt)} ms`);
      small.latencyMs = FAST_MS;
      await crawls.end(id, PATIENCE_MS);
      say(`over after ${Math.round(performance.now() - startedAt)} ms`);
      await expectExact(small, id, 'wiped');
      await crawls.end(unheard, PATIENCE_MS);
      await expectExact(small, unheard, 'unheard');
    },
    TEST_MS,
  );

  it(
    'requests nothing for a cancelled crawl after 1 s, while processes die',
    async () => {
      small.latencyMs = SLOW_MS;
      const id = await startCrawl(small, 'cancelled');
      await untilCompleted(id, 20);
      const returns = [await kill('scheduler'), await kill('fetcher')];
      await crawls.cancel(id);
      const cancelledAt = performance.now();
      await Promise.all(returns.map((wait) => wait()));
      await sleep(3_000);
      const late = small.hitsOf('cancelled').filter(({ at }) => at > cancelledAt + 1_000);
      expect(late).toEqual([]);
      const { status } = await crawls.end(id, PATIENCE_MS);
      expect(status).toBe('cancelled');
      const books = await readBooks(cluster, id);
      expect(books).toMatchObject({ items: books.pages, credits: books.pages, ledger: books.pages });
      expect(books.lastOrd).toBe(books.pages);
    },
    TEST_MS,
  );

  it(
    'finishes a batch exactly across kills',
    async () => {
      small.latencyMs = SLOW_MS;
      const batches = new JobClient(cluster, 'batch/scrape');
      const urls = Array.from({ length: BATCH }, (_, i) => small.leaf('batch', i));
      const id = await batches.start({ urls, ...OPTIONS });
      await untilCompleted(id, 20, batches);
      const returns: (() => Promise<void>)[] = [];
      for (const victim of ['scheduler-2', 'fetcher-2', 'nats-server']) {
        returns.push(await kill(victim));
        await sleep(BETWEEN_KILLS_MS);
      }
      small.latencyMs = FAST_MS;
      await Promise.all(returns.map((wait) => wait()));
      await batches.end(id, PATIENCE_MS);
      const books = await readBooks(cluster, id);
      expectSameUrls(books.finalUrls, new Set(urls));
      expectBalanced(books, BATCH);
      expectDocuments(small, await batches.documents(id), new Set(urls));
    },
    TEST_MS,
  );

  it(
    'visits what a history knows once, whoever dies on the way',
    async () => {
      const batches = new JobClient(cluster, 'batch/scrape');
      const urls = Array.from({ length: TRACKED }, (_, i) => tracked.leaf('history', i));
      await batches.end(await batches.start({ urls, ...TRACKING }), PATIENCE_MS);
      const [url] = urls;
      const rules = { url, limit: 1_000, sitemap: 'skip', crawlEntireDomain: true };
      const id = await crawls.start({ ...rules, scrapeOptions: TRACKING });
      await sleep(500);
      const returns = [await kill(await ownerOf(id))];
      await untilCompleted(id, 1);
      returns.push(await kill('nats-server'), await kill(await ownerOf(id)));
      await untilCompleted(id, 5);
      returns.push(await kill(await ownerOf(id)));
      await Promise.all(returns.map((wait) => wait()));
      await crawls.end(id, PATIENCE_MS);
      const books = await readBooks(cluster, id);
      expectSameUrls(books.finalUrls, new Set(urls));
      expectBalanced(books, TRACKED);
      const documents = await crawls.documents(id);
      expectDocuments(tracked, documents, new Set(urls));
      for (const { metadata, changeTracking } of documents)
        expect([metadata.url, changeTracking]).toMatchObject([
          metadata.url,
          { changeStatus: 'same', visibility: metadata.url === url ? 'visible' : 'hidden' },
        ]);
    },
    TEST_MS,
  );

  it(
    'lets a crawl wait while there is no fetcher, and fails nothing',
    async () => {
      small.latencyMs = FAST_MS;
      for (const fetcher of FETCHERS) await cluster.signal(fetcher, 'SIGSTOP');
      const id = await startCrawl(small, 'waiting');
      await sleep(15_000);
      expect(await crawls.status(id)).toMatchObject({ status: 'scraping', completed: 0 });
      for (const fetcher of FETCHERS) await cluster.signal(fetcher, 'SIGCONT');
      await crawls.end(id, PATIENCE_MS);
      await expectExact(small, id, 'waiting');
    },
    TEST_MS,
  );

  it(
    'leaves nothing behind: every job comes to rest, and hands back what it held',
    async () => {
      expect(await endsLeftOpen(cluster, REST_MS)).toEqual([]);
    },
    REST_MS + 30_000,
  );
});
