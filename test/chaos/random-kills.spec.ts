/**
 * Whoever is killed or stands still, whenever: jobs of all kinds amid a random schedule end with exact books and whole texts.
 * The seed is printed; `TROUPE_CHAOS_SEED=n` repeats its schedule.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebhookReceiver } from '../e2e/webhook-receiver.fixture.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { endsLeftOpen, readBooks } from './evidence.js';
import { expectBalanced, expectDocuments, expectSameUrls } from './exactness.js';
import { JobClient } from './job-client.js';
import { KnownSite } from './known-site.js';
import { carryOut, chaosSeed, drawSchedule, type Blow, type SchedulePlan } from './schedule.js';

const SCHEDULE: SchedulePlan = {
  victims: [
    'scheduler',
    'scheduler-2',
    'fetcher',
    'fetcher-2',
    'converter',
    'dispatcher',
    'gateway',
    'nats-server',
    'postgres',
  ],
  totalMs: 1_000 * Number(process.env.TROUPE_CHAOS_S ?? 40),
  everyMs: [800, 3_000],
  stillMs: [500, 7_000],
};
/** Slow enough for a crawl to outlast the schedule, however few blows hold it up. */
const SLOW_MS = 400;
const FAST_MS = 3;
const MAX_CONN = 12;
const EXPRESS_CONN = 4;
const PAGES = Math.ceil((SCHEDULE.totalMs / SLOW_MS) * MAX_CONN);
const BATCH = Math.ceil(PAGES / 4);
const LATE_PAGES = 100;
const PATIENCE_MS = 120_000;
/** Pools forget a silent claimant in less. */
const REST_MS = 60_000;
/** Fetchers prove their places once a second; a server is started again within ten. */
const LEARN_MS = 15_000;
const OPTIONS = { formats: ['markdown'], timeout: 20_000 };
const SEED = chaosSeed();

let site: KnownSite;
/** Of the batch and of the crawl that begins in the middle: a host is shared by its jobs, and the first has enough to do. */
let other: KnownSite;
let receiver: WebhookReceiver;
let cluster: TestCluster;
let crawls: JobClient;
let batches: JobClient;

beforeAll(async () => {
  site = await KnownSite.start({ pages: PAGES, latencyMs: SLOW_MS });
  other = await KnownSite.start({ pages: LATE_PAGES, latencyMs: SLOW_MS });
  receiver = await WebhookReceiver.start();
  cluster = await startCluster({
    args: ['--schedulers', '2', '--fetchers', '2', '--converters', '1'],
    dataDir: process.env.CHAOS_DATA_DIR,
    env: {
      HOST_GAP_MS: '0',
      HOST_MAX_CONN: String(MAX_CONN),
      HOST_EXPRESS_CONN: String(EXPRESS_CONN),
      TEAM_CONCURRENCY: '50',
      ALLOW_PRIVATE_TARGETS: '127.0.0.1',
      ALLOW_PRIVATE_WEBHOOKS: receiver.address,
      WEBHOOK_RETRY_MS: '500,1000,2000,4000,8000,8000,8000',
      LOG_FORMAT: 'json',
    },
  });
  crawls = new JobClient(cluster);
  batches = new JobClient(cluster, 'batch/scrape');
}, 180_000);

afterAll(async () => {
  await cluster?.stop();
  await site?.stop();
  await other?.stop();
  await receiver?.down();
}, 90_000);

const say = (text: string): void => void process.stderr.write(`    ${text}\n`);

async function expectExact(client: JobClient, id: string, on: KnownSite, expected: ReadonlySet<string>): Promise<void> {
  const books = await readBooks(cluster, id);
  expectSameUrls(books.finalUrls, expected);
  expectBalanced(books, expected.size);
  expectDocuments(on, await client.documents(id), expected);
}

/** Each page is told of once, however often it is posted. */
async function expectToldOf(path: string, expected: ReadonlySet<string>): Promise<void> {
  const arrived = () => [...receiver.events(path).values()].map(([first]) => first!.event);
  const deadline = performance.now() + PATIENCE_MS;
  while (!arrived().some(({ type }) => type === 'crawl.completed')) {
    if (performance.now() > deadline) throw new Error(`no crawl.completed among ${arrived().length} webhooks`);
    await sleep(200);
  }
  const pages = arrived().filter(({ type }) => type === 'crawl.page');
  expectSameUrls(
    pages.flatMap(({ data }) => data.map(({ metadata }) => String(metadata.url))),
    expected,
  );
}

/**
 * Places on hosts are kept in the memory of NATS: while a new server learns who holds them, there may be one lane too many for
 * each. At all other times there is none.
 */
function expectNoCrowds(blows: readonly Blow[], startedAt: number): void {
  const wipes = blows.filter(({ victim, stillMs }) => victim === 'nats-server' && stillMs === null);
  const crowds = [site, other]
    .flatMap((on) => on.crowds(MAX_CONN + EXPRESS_CONN))
    .map(({ at, requests }) => ({ atMs: Math.round(at - startedAt), requests }));
  const isLearnt = (atMs: number) => wipes.every((wipe) => atMs < wipe.atMs || atMs > wipe.atMs + LEARN_MS);
  expect(crowds.filter(({ atMs }) => isLearnt(atMs))).toEqual([]);
  expect(crowds.filter(({ requests }) => requests > 2 * (MAX_CONN + EXPRESS_CONN))).toEqual([]);
}

it('draws the same schedule from the same seed, and another one from another', () => {
  expect(drawSchedule(SEED, SCHEDULE)).toEqual(drawSchedule(SEED, SCHEDULE));
  expect(drawSchedule(SEED, SCHEDULE)).not.toEqual(drawSchedule(SEED + 1, SCHEDULE));
  const few = new Set(drawSchedule(SEED, { ...SCHEDULE, totalMs: 40_000 }).map(({ victim }) => victim));
  expect([...few].sort()).toEqual([...SCHEDULE.victims].sort());
});

describe(`a cluster under the random schedule ${SEED}`, () => {
  it(
    'ends a crawl, a batch and a crawl begun amid the kills exactly, and tells of each page',
    async () => {
      const startedAt = performance.now();
      const time = () => `${Math.round((performance.now() - startedAt) / 100) / 10} s`;
      say(`TROUPE_CHAOS_SEED=${SEED}`);
      const webhook = { url: receiver.url('/crawl'), events: ['page', 'completed'] };
      const crawl = { limit: 100_000, scrapeOptions: OPTIONS };
      const long = await crawls.start({ url: site.startUrl('long'), webhook, ...crawl });
      const urls = Array.from({ length: BATCH }, (_, i) => other.leaf('batch', i));
      const batch = await batches.start({ urls, ...OPTIONS });
      const blows = drawSchedule(SEED, SCHEDULE);
      const half = Math.floor(blows.length / 2);
      const stage = { cluster, startedAt: performance.now() };
      await carryOut(stage, blows.slice(0, half), say);
      // A client that hears nothing asks again: what is begun twice is one crawl too many, and ends as well.
      const late = await crawls.start({ url: other.startUrl('late'), ...crawl });
      await carryOut(stage, blows.slice(half), say);
      const { status, completed, total } = await crawls.status(long);
      say(`the schedule is over after ${time()}: ${completed} of ${total} pages`);
      expect(status).toBe('scraping');
      site.latencyMs = other.latencyMs = FAST_MS;
      await Promise.all([
        crawls.end(long, PATIENCE_MS),
        batches.end(batch, PATIENCE_MS),
        crawls.end(late, PATIENCE_MS),
      ]);
      say(`all jobs are over after ${time()}: ${site.repeats('long')} pages of ${PAGES} asked for again`);
      await expectExact(crawls, long, site, site.expected('long'));
      await expectExact(batches, batch, other, new Set(urls));
      await expectExact(crawls, late, other, other.expected('late'));
      await expectToldOf('/crawl', site.expected('long'));
      say(`all is told after ${time()}, at most ${site.peak} and ${other.peak} at once`);
      expectNoCrowds(blows, stage.startedAt);
    },
    SCHEDULE.totalMs + 2 * PATIENCE_MS,
  );

  it(
    'leaves nothing behind',
    async () => {
      expect(await endsLeftOpen(cluster, REST_MS)).toEqual([]);
    },
    REST_MS + 30_000,
  );
});
