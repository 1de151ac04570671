/** Hosts in trouble: one URL's is not its host's, and what is gone for good is given up. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { CrawlClient } from './crawl-client.js';
import { LINKS_PER_PAGE, longestGap, withSite } from './troubled-site.js';
import { watchedCrawl } from './watched-crawl.js';

const PAGES = 127;
const QUICK_MS = 20_000;
const HANG_MS = 5_000;
const GIVE_UP_MIN = 1;
const TEST_MS = 240_000;
const path = (n: number) => `/p/${n}`;

let cluster: TestCluster;
let client: CrawlClient;

beforeAll(async () => {
  cluster = await startCluster({
    args: ['--fetchers', '2'],
    env: { ALLOW_PRIVATE_TARGETS: '127.0.0.0/8', HOST_GIVE_UP: String(GIVE_UP_MIN) },
  });
  client = new CrawlClient(cluster);
}, 180_000);

afterAll(async () => {
  await cluster?.stop();
}, 90_000);

describe('one page among many', () => {
  it(
    'that is always busy fails, alone',
    () =>
      withSite({ pages: PAGES, react: (asked) => (asked.path === path(40) ? 503 : null) }, async (site) => {
        const { ms, status, errors, throttled } = await watchedCrawl(cluster, site);
        expect(ms).toBeLessThan(QUICK_MS);
        expect(status.status).toBe('completed');
        expect(status.data).toHaveLength(PAGES - 1);
        expect(errors.errors).toMatchObject([{ url: site.url(path(40)), code: 'SCRAPE_SITE_ERROR' }]);
        expect(site.pages().filter((asked) => asked.path === path(40))).toHaveLength(3);
        expect(throttled).toEqual([]);
      }),
    TEST_MS,
  );

  it.each([429, 503])(
    'that answers %i with a long Retry-After keeps nobody else waiting',
    (status) =>
      withSite(
        {
          pages: PAGES,
          react: ({ path: asked, times }) => (asked === path(40) && times === 0 ? { status, retryAfterS: 12 } : null),
        },
        async (site) => {
          const job = await watchedCrawl(cluster, site);
          expect(job.status.data).toHaveLength(PAGES);
          const [first, second] = site.pages().filter((asked) => asked.path === path(40));
          expect(second!.t - first!.t).toBeGreaterThan(11_900);
          expect(longestGap(site.pages().filter((asked) => asked.path !== path(40)))).toBeLessThan(3_000);
          expect(job.throttled).toEqual([]);
        },
      ),
    TEST_MS,
  );

  it(
    'or three, for a moment: all pages come, and the others go on meanwhile',
    () =>
      withSite(
        {
          pages: PAGES,
          react: ({ path: asked, times }) => {
            if (times > 0) return null;
            if (asked === path(20)) return 503;
            if (asked === path(50)) return 429;
            return asked === path(80) ? 'hang' : null;
          },
        },
        async (site) => {
          const { status, errors, throttled } = await watchedCrawl(cluster, site, {
            scrapeOptions: { timeout: HANG_MS },
          });
          expect([status.data.length, errors.errors]).toEqual([PAGES, []]);
          // What its lane had left waits for the page that hangs.
          const hung = site.pages().find((asked) => asked.path === path(80))!;
          expect(longestGap(site.pages(), { from: hung.t, to: hung.t + HANG_MS })).toBeLessThan(3_000);
          expect(throttled).toEqual([]);
        },
      ),
    TEST_MS,
  );
});

describe('a host that is gone for good', () => {
  it(
    'is given up: its pages fail with the reason, and the crawl ends',
    () => {
      let goneAt = Infinity;
      return withSite({ pages: 1000, react: ({ t }) => (t >= goneAt ? 'reset' : null) }, async (site) => {
        setTimeout(() => (goneAt = performance.now()), 4_000);
        const { status, id } = await watchedCrawl(cluster, site);
        const { urls } = await client.get<{ urls: { rule: string }[] }>(
          `/v2/crawl/${id}/ledger?outcome=failed&limit=1000`,
        );
        const rules = new Set(urls.map(({ rule }) => rule));
        const lateMs = performance.now() - goneAt;
        console.info(
          `gone for good: ended ${Math.round(lateMs / 1000)} s after, ${status.data.length} documents, ${[...rules].join()}`,
        );
        expect(lateMs).toBeLessThan((GIVE_UP_MIN + 2) * 60_000);
        expect(status.status).toBe('completed');
        expect(rules).toContain('host-down');
        expect(status.data.length + urls.length).toBe(1 + LINKS_PER_PAGE);
      });
    },
    TEST_MS,
  );
});
