/**
 * A rolling restart, as an upgrade makes it: of all services at once, one replica after the other is told to end (SIGTERM)
 * and comes back, during a crawl and a stream of scrapes. Whoever uses the cluster does not notice.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { readBooks } from '../chaos/evidence.js';
import { JobClient } from '../chaos/job-client.js';
import { KnownSite } from '../chaos/known-site.js';
import { ApiClient } from '../support/api-client.js';
import { startBalancer, type Balancer } from '../support/balancer.js';
import { startCluster, type TestCluster } from '../support/cluster.js';

/** More than a crawl of pages this slow gets through while everything restarts. */
const PAGES = 1_200;
const SLOW_MS = 200;
const FAST_MS = 2;
const SCRAPE_EVERY_MS = 150;
const PATIENCE_MS = 120_000;
const WAVES = [
  ['fetcher', 'scheduler', 'gateway', 'converter', 'extractor', 'dispatcher'],
  ['fetcher-2', 'scheduler-2', 'gateway-2', 'converter-2'],
];

let site: KnownSite;
let scraped: KnownSite;
let cluster: TestCluster;
let balancer: Balancer;

beforeAll(async () => {
  site = await KnownSite.start({ pages: PAGES });
  scraped = await KnownSite.start({ pages: 1, latencyMs: 30 });
  cluster = await startCluster({
    args: ['--gateways', '2', '--schedulers', '2', '--fetchers', '2', '--converters', '2'],
    env: {
      HOST_GAP_MS: '0',
      HOST_MAX_CONN: '4',
      TEAM_CONCURRENCY: '50',
      ALLOW_PRIVATE_TARGETS: '127.0.0.1',
      CONVERTER: 'service',
      DRAIN_NOTICE_MS: '1000',
      LOG_FORMAT: 'json',
    },
  });
  balancer = await startBalancer(cluster);
}, 180_000);

afterAll(async () => {
  await balancer?.close();
  await cluster?.stop();
  await Promise.all([site?.stop(), scraped?.stop()]);
}, 90_000);

const say = (text: string): void => void process.stderr.write(`    ${text}\n`);

/** One page after the other, each of its own, until it is told to end; every answer counts. */
class Scrapes {
  readonly failures: string[] = [];
  readonly times: number[] = [];
  private readonly running = new Set<Promise<void>>();
  private readonly timer: NodeJS.Timeout;

  constructor(private readonly api: ApiClient) {
    let i = 0;
    this.timer = setInterval(() => this.begin(i++), SCRAPE_EVERY_MS);
  }

  async end(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.running);
  }

  private begin(i: number): void {
    const work = this.scrape(scraped.leaf('scraped', i)).finally(() => this.running.delete(work));
    this.running.add(work);
  }

  private async scrape(url: string): Promise<void> {
    const { status, text, ms } = await this.api
      .post('/v2/scrape', { url, formats: ['markdown'], timeout: 25_000 })
      .catch((error: Error) => ({ status: 599, text: `${error.message}: ${String(error.cause)}`, ms: 0 }));
    this.times.push(ms);
    if (status !== 200) this.failures.push(`${url}: ${status} ${text.slice(0, 300)}`);
  }
}

/** Tells a service to end and waits for its successor. */
async function restart(name: string): Promise<void> {
  const startedAt = performance.now();
  const pid = await cluster.signal(name, 'SIGTERM');
  await cluster.waitForRestart(name, pid, 60_000);
  const ended = cluster.output().match(new RegExp(`${name} (ended with exit code \\d+|was ended by \\w+)`, 'g'));
  expect({ name, ended: ended?.at(-1) }).toEqual({ name, ended: `${name} ended with exit code 0` });
  say(`${name} is back after ${Math.round(performance.now() - startedAt)} ms`);
}

describe('a rolling restart of every service', () => {
  it(
    'fails no scrape, and neither loses nor repeats a page of a crawl',
    async () => {
      const client = new JobClient({ ...cluster, url: balancer.url });
      const scrapes = new Scrapes(new ApiClient(balancer.url, cluster.apiKey));
      site.latencyMs = SLOW_MS;
      const id = await client.start({
        url: site.startUrl('rolling'),
        limit: 10_000,
        scrapeOptions: { timeout: 20_000 },
      });
      while ((await client.status(id)).completed < 20) await sleep(100);
      for (const wave of WAVES) {
        const { status, completed } = await client.status(id);
        expect({ wave, status }).toEqual({ wave, status: 'scraping' });
        say(`SIGTERM ${wave.join(', ')} at ${completed} pages`);
        await Promise.all(wave.map(restart));
      }
      expect(await client.status(id)).toMatchObject({ status: 'scraping' });
      site.latencyMs = FAST_MS;
      await client.end(id, PATIENCE_MS);
      await scrapes.end();
      const slowest = Math.round(Math.max(...scrapes.times));
      say(`${scrapes.times.length} scrapes, ${scrapes.failures.length} failed, the slowest took ${slowest} ms`);
      expect(scrapes.failures).toEqual([]);
      expect(scrapes.times.length).toBeGreaterThan(50);

      const expected = site.expected('rolling');
      const books = await readBooks(cluster, id);
      const found = new Set(books.finalUrls);
      expect([...expected].filter((url) => !found.has(url))).toEqual([]);
      expect(books).toMatchObject({
        status: 'completed',
        errors: [],
        deadLetters: 0,
        pages: expected.size,
        items: expected.size,
        completed: expected.size,
        credits: expected.size,
        ledger: expected.size,
      });
      say(
        `${expected.size} pages, ${site.hitsOf('rolling').length} requests, ${site.repeats('rolling')} of them again`,
      );
      expect(site.repeats('rolling')).toBe(0);
    },
    PATIENCE_MS + 240_000,
  );
});
