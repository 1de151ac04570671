/** robots.txt that cannot be read at once: nothing is asked before it can, and what it wants then holds, whoever dies. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { CrawlClient } from './crawl-client.js';
import { shortestGap, withSite, type TroubledSite } from './troubled-site.js';

/** 30 in the long run. */
const DELAY_S = Number(process.env.TROUPE_TEST_CRAWL_DELAY_S ?? 4);
const PAGES = 6;
/** The site sees when a request arrives, not when it was sent: on a busy machine the first of two may be late. */
const JITTER_MS = 400;
const RETRY_AFTER_S = 10;
const PATIENCE_MS = 60_000 + 3 * PAGES * DELAY_S * 1000;
const TEST_MS = PATIENCE_MS + 60_000;

let cluster: TestCluster;
let client: CrawlClient;
let api: ApiClient;

beforeAll(async () => {
  cluster = await startCluster({ args: ['--fetchers', '2'], env: { ALLOW_PRIVATE_TARGETS: '127.0.0.0/8' } });
  client = new CrawlClient(cluster);
  api = new ApiClient(cluster.url, cluster.apiKey);
}, 180_000);

afterAll(async () => {
  await cluster?.stop();
}, 90_000);

const start = (site: TroubledSite) => client.startCrawl({ url: site.url(), sitemap: 'skip' });
const robotsTimes = (site: TroubledSite) => site.log.filter(({ path }) => path === '/robots.txt');
const RULES = `User-agent: *\nDisallow: /p/1\nCrawl-delay: ${DELAY_S}`;

async function until(isTrue: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!isTrue()) {
    if (performance.now() > deadline) throw new Error(`${what}: not within ${PATIENCE_MS} ms`);
    await sleep(50);
  }
}

describe.each([2, 5])('a robots.txt whose connection is cut %i times, and that wants a crawl-delay', (cuts) => {
  it(
    'is obeyed from the first page on, also over the sudden death of the scheduler',
    () =>
      withSite({ pages: PAGES, robots: (times) => (times < cuts ? 'reset' : { text: RULES }) }, async (site) => {
        const id = await start(site);
        await until(() => site.pages().length >= 2, 'two pages');
        const pid = await cluster.signal('scheduler', 'SIGKILL');
        await cluster.waitForRestart('scheduler', pid);
        await client.waitForEnd(id, PATIENCE_MS);
        const { data, status } = await client.readAll(id);
        const least = shortestGap(site.pages());
        console.info(`${cuts} cuts: ${site.pages().length} pages, no two within ${Math.round(least)} ms`);
        expect(status).toBe('completed');
        expect(data).toHaveLength(PAGES - 1);
        expect(site.pages().map(({ path }) => path)).not.toContain('/p/1');
        expect(least).toBeGreaterThanOrEqual(DELAY_S * 1000 - JITTER_MS);
        expect(site.pages()[0]!.t).toBeGreaterThan(robotsTimes(site)[cuts]!.t);
      }),
    TEST_MS,
  );
});

describe('a robots.txt that answers 503 with a Retry-After', () => {
  it(
    'forbids all there is as long as it answers so, and is asked for again when it said so',
    () => {
      let isReadable = false;
      const robots = () =>
        isReadable ? { text: 'User-agent: *\nAllow: /' } : { status: 503, retryAfterS: RETRY_AFTER_S };
      return withSite({ pages: PAGES, robots }, async (site) => {
        const first = await start(site);
        await client.waitForEnd(first, PATIENCE_MS);
        expect(site.pages()).toEqual([]);
        isReadable = true;
        const refused = robotsTimes(site);
        const again = refused.at(-1)!.t + RETRY_AFTER_S * 1000;
        await until(() => performance.now() > again + 1000, 'the time that it named');
        const second = await start(site);
        await client.waitForEnd(second, PATIENCE_MS);
        expect((await client.readAll(second)).data).toHaveLength(PAGES);
        expect(robotsTimes(site).length).toBeGreaterThan(refused.length);
        expect(shortestGap(robotsTimes(site))).toBeGreaterThan(RETRY_AFTER_S * 1000 - JITTER_MS);
      });
    },
    TEST_MS,
  );
});

describe('a host whose robots.txt nobody can read', () => {
  it(
    'fails the crawl that begins there soon, with the reason',
    () =>
      withSite({ pages: PAGES, robots: () => 'reset' }, async (site) => {
        const id = await start(site);
        await client.waitForEnd(id, PATIENCE_MS);
        const { body } = await api.call(`/v2/crawl/${id}/errors`);
        expect(body.errors).toMatchObject([
          { url: site.url(), error: expect.stringContaining('robots.txt'), code: 'SCRAPE_SITE_ERROR' },
        ]);
        expect(site.pages()).toEqual([]);
      }),
    TEST_MS,
  );
});
