/** Hosts in trouble: one URL's is not its host's, an outage costs no page, and what is gone for good is given up. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { CrawlClient, type FinishedJob } from './crawl-client.js';
import { LINKS_PER_PAGE, longestGap, rate, TroubledSite, type SiteRules } from './troubled-site.js';

const PAGES = 127;
const QUICK_MS = 20_000;
const HANG_MS = 5_000;
const OUTAGE_MS = 30_000;
const GIVE_UP_MIN = 1;
const TEST_MS = 240_000;
const path = (n: number) => `/p/${n}`;

interface Throttled {
  host: string;
  state: string;
  pagesPerSecond: number | null;
  reason: { at: string; status: number; kind: string; url: string | null };
}

let cluster: TestCluster;
let api: ApiClient;
let client: CrawlClient;

beforeAll(async () => {
  cluster = await startCluster({
    args: ['--fetchers', '2'],
    env: { ALLOW_PRIVATE_TARGETS: '127.0.0.0/8', HOST_GIVE_UP: String(GIVE_UP_MIN) },
  });
  api = new ApiClient(cluster.url, cluster.apiKey);
  client = new CrawlClient(cluster);
}, 180_000);

afterAll(async () => {
  await cluster?.stop();
}, 90_000);

async function withSite<T>(rules: SiteRules, work: (site: TroubledSite) => Promise<T>): Promise<T> {
  const site = await TroubledSite.start(rules);
  try {
    return await work(site);
  } finally {
    await site.stop();
  }
}

interface WatchedJob extends FinishedJob {
  ms: number;
  /** What its status said while it ran. */
  throttled: Throttled[];
}

/** A crawl to its end; its status is read all the time. */
async function crawl(site: TroubledSite, options: object = {}): Promise<WatchedJob> {
  const startedAt = performance.now();
  const id = await client.startCrawl({ url: site.url(), sitemap: 'skip', limit: 10_000, ...options });
  const throttled: Throttled[] = [];
  for (;;) {
    const { body } = await api.call(`/v2/crawl/${id}?limit=1`);
    throttled.push(...((body.throttled ?? []) as Throttled[]));
    if (body.status !== 'scraping') break;
    await sleep(200);
  }
  const ms = performance.now() - startedAt;
  return { id, ms, throttled, status: await client.readAll(id), errors: await client.get(`/v2/crawl/${id}/errors`) };
}

describe('one page among many', () => {
  it(
    'that is always busy fails, alone',
    () =>
      withSite({ pages: PAGES, react: (asked) => (asked.path === path(40) ? 503 : null) }, async (site) => {
        const { ms, status, errors, throttled } = await crawl(site);
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
          const job = await crawl(site);
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
          const { status, errors, throttled } = await crawl(site, { scrapeOptions: { timeout: HANG_MS } });
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

describe('a host that is gone', () => {
  it.each(['reset', 503] as const)(
    'for half a minute (%s) loses no page, is left alone meanwhile, and then gets on',
    (reaction) => {
      let goneAt = Infinity;
      const isGone = (t: number) => t >= goneAt && t < goneAt + OUTAGE_MS;
      return withSite({ pages: 1000, react: ({ t }) => (isGone(t) ? reaction : null) }, async (site) => {
        setTimeout(() => (goneAt = performance.now()), 10_000);
        const { status, errors, throttled } = await crawl(site);
        expect([status.data.length, errors.errors]).toEqual([1000, []]);
        const meanwhile = site.pages().filter(({ t }) => isGone(t));
        const before = rate(site.good(), goneAt - 5_000, goneAt);
        const backAt = goneAt + OUTAGE_MS;
        const best = Math.max(
          ...[5, 10, 15, 20, 25].map((s) => rate(site.good(), backAt + (s - 2) * 1000, backAt + s * 1000)),
        );
        console.info(
          `${reaction}: ${meanwhile.length} requests meanwhile, ${before} pages/s before, ${best} within 25 s`,
        );
        expect(meanwhile.length).toBeLessThanOrEqual(25);
        expect(best).toBeGreaterThan(before / 2);
        expect(throttled).toContainEqual(expect.objectContaining({ host: site.host, state: 'down' }));
      });
    },
    TEST_MS,
  );

  it(
    'for good is given up: its pages fail with the reason, and the crawl ends',
    () => {
      let goneAt = Infinity;
      return withSite({ pages: 1000, react: ({ t }) => (t >= goneAt ? 'reset' : null) }, async (site) => {
        setTimeout(() => (goneAt = performance.now()), 4_000);
        const { status, id } = await crawl(site);
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
