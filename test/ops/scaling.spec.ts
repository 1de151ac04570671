/**
 * Replicas come and go during one crawl of slow sites: fetchers add their places, schedulers hand over what they hold, and
 * with none of either the crawl waits. What that means in pages per second is for a machine of its own to say:
 * `test/bench/scaling.measure.mjs`.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { readBooks } from '../chaos/evidence.js';
import { JobClient } from '../chaos/job-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { startService, type ServiceProcess } from '../support/service-process.js';
import { SlowHosts } from '../support/slow-hosts.js';

const HOSTS = 50;
const PAGES_PER_HOST = 30;
const PAGE_MS = 250;
const CONCURRENCY = 4;
const WINDOW_MS = 4_000;
const SETTLE_MS = 1_000;
const NOBODY_MS = 5_000;
const PATIENCE_MS = 120_000;
const MAX_CONN = 1;

const env = {
  ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
  HOST_MAX_CONN: String(MAX_CONN),
  HOST_GAP_MS: '0',
  TEAM_CONCURRENCY: String(HOSTS),
  FETCHER_CONCURRENCY: String(CONCURRENCY),
  FETCHER_CLASSES: 'http',
  CACHE_MAX_MB: '0',
};

let site: SlowHosts;
let cluster: TestCluster;
let fetchers: ServiceProcess[] = [];
let schedulers: ServiceProcess[] = [];

beforeAll(async () => {
  site = await SlowHosts.start({ hosts: HOSTS, pagesPerHost: PAGES_PER_HOST, pageMs: PAGE_MS });
  cluster = await startCluster({ args: ['--fetchers', '0', '--schedulers', '0'], env });
  [fetchers, schedulers] = await Promise.all([scaleTo([], 'fetcher', 1), scaleTo([], 'scheduler', 1)]);
}, 180_000);

afterAll(async () => {
  await Promise.all([...fetchers, ...schedulers].map((service) => service.stop()));
  await cluster?.stop();
  await site?.stop();
}, 90_000);

const say = (text: string): void => void process.stderr.write(`    ${text}\n`);

/** Starts what is missing; the newest ones are told to end, as by a rollout. */
async function scaleTo(
  running: readonly ServiceProcess[],
  app: 'fetcher' | 'scheduler',
  count: number,
): Promise<ServiceProcess[]> {
  const missing = Array.from({ length: Math.max(0, count - running.length) }, () => startService(cluster, app, env));
  await Promise.all(running.slice(count).map((service) => service.stop()));
  return [...running.slice(0, count), ...(await Promise.all(missing))];
}

/** Requests in work at once, at most, with so many fetchers. */
async function measure(count: number): Promise<number> {
  fetchers = await scaleTo(fetchers, 'fetcher', count);
  await sleep(SETTLE_MS);
  const from = performance.now();
  await sleep(WINDOW_MS);
  const to = performance.now();
  const { most, mean } = site.inFlight(from, to);
  const rate = site.pagesPerS(from, to);
  say(`${count} fetchers: ${rate.toFixed(1)} pages/s, ${mean.toFixed(1)} requests at once, ${most} at most`);
  return most;
}

describe('a crawl during which replicas come and go', () => {
  let client: JobClient;
  let id: string;

  beforeAll(async () => {
    client = new JobClient(cluster);
    id = await client.start({
      url: site.startUrl,
      limit: 10_000,
      allowExternalLinks: true,
      sitemap: 'skip',
      scrapeOptions: { timeout: 20_000 },
    });
    while ((await client.status(id)).completed < CONCURRENCY) await sleep(50);
  }, PATIENCE_MS);

  it(
    'has all places of all fetchers at work, and no more',
    async () => {
      expect(await measure(1)).toBe(CONCURRENCY);
      expect(await measure(2)).toBe(2 * CONCURRENCY);
      expect(await measure(4)).toBe(4 * CONCURRENCY);
    },
    PATIENCE_MS,
  );

  it(
    'waits while there is neither a fetcher nor a scheduler, and goes on with the first of them',
    async () => {
      fetchers = await scaleTo(fetchers, 'fetcher', 0);
      schedulers = await scaleTo(schedulers, 'scheduler', 0);
      const asked = site.requests().length;
      expect(asked).toBeLessThan(site.pages);
      await sleep(NOBODY_MS);
      expect(site.requests()).toHaveLength(asked);
      expect(await client.status(id)).toMatchObject({ status: 'scraping' });
      [fetchers, schedulers] = await Promise.all([scaleTo([], 'fetcher', 2), scaleTo([], 'scheduler', 1)]);
      const deadline = performance.now() + PATIENCE_MS;
      while (site.requests().length === asked && performance.now() < deadline) await sleep(50);
      expect(site.requests().length).toBeGreaterThan(asked);
    },
    PATIENCE_MS + 30_000,
  );

  it(
    'loses and repeats nothing while schedulers become three and one again, and keeps to one request a host',
    async () => {
      expect(await client.status(id)).toMatchObject({ status: 'scraping' });
      schedulers = await scaleTo(schedulers, 'scheduler', 3);
      await sleep(SETTLE_MS);
      expect(await client.status(id)).toMatchObject({ status: 'scraping' });
      schedulers = await scaleTo([schedulers[2]!, schedulers[0]!, schedulers[1]!], 'scheduler', 1);
      fetchers = await scaleTo(fetchers, 'fetcher', 4);
      await client.end(id, PATIENCE_MS);
      expect(await readBooks(cluster, id)).toMatchObject({
        status: 'completed',
        errors: [],
        deadLetters: 0,
        pages: site.pages,
        items: site.pages,
        credits: site.pages,
        ledger: site.pages,
      });
      say(`${site.pages} pages, ${site.requests().length} requests, at most ${site.busiest()} at once on a host`);
      expect(site.repeats()).toBe(0);
      expect(site.busiest()).toBe(MAX_CONN);
    },
    2 * PATIENCE_MS,
  );
});
