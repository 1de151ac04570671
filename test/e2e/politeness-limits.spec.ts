/**
 * Hosts that bear a certain rate: what they do not bear is found out, shown with its reason and given up again; what an
 * operator sets or takes back is in force at once. The clocks of the fetchers are an hour apart, which changes nothing.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { ApiClient } from '../support/api-client.js';
import { startCluster, workspace, type TestCluster } from '../support/cluster.js';
import { startService, type ServiceProcess } from '../support/service-process.js';
import { CrawlClient } from './crawl-client.js';
import { limiter, rate, shortestGap, TroubledSite, type Reaction } from './troubled-site.js';

const PER_S = 10;
/** 2,000 show the long run; the first cuts weigh more among fewer. */
const LIMITED_PAGES = Number(process.env.TROUPE_TEST_LIMITED_PAGES ?? 400);
const CLOCKS_S = [-3600, 0, 3600];
const ADMIN_KEY = 'the-token-of-an-operator';
const TEST_MS = 600_000;

interface Throttled {
  host: string;
  state: string;
  pagesPerSecond: number;
  reason?: { url?: string; status?: number };
}

let cluster: TestCluster;
let fetchers: ServiceProcess[] = [];
let api: ApiClient;
let client: CrawlClient;

const env = { ALLOW_PRIVATE_TARGETS: '127.0.0.0/8', ADMIN_KEY };

function startFetcher(clockS: number): Promise<ServiceProcess> {
  const skew = pathToFileURL(path.join(workspace, 'test/support/clock-skew.mjs')).href;
  return startService(cluster, 'fetcher', { ...env, NODE_OPTIONS: `--import=${skew}`, CLOCK_SKEW_S: String(clockS) });
}

beforeAll(async () => {
  cluster = await startCluster({ args: ['--fetchers', '0'], env });
  fetchers = await Promise.all(CLOCKS_S.map(startFetcher));
  api = new ApiClient(cluster.url, cluster.apiKey);
  client = new CrawlClient(cluster);
}, 180_000);

afterAll(async () => {
  await Promise.all(fetchers.map((fetcher) => fetcher.stop()));
  await cluster?.stop();
}, 90_000);

const start = (site: TroubledSite) => client.startCrawl({ url: site.url(), sitemap: 'skip', limit: 100_000 });

async function throttledOf(id: string): Promise<{ status: string; throttled: Throttled[] }> {
  const { body } = await api.call(`/v2/crawl/${id}?limit=1`);
  return { status: String(body.status), throttled: (body.throttled ?? []) as Throttled[] };
}

async function operate(method: string, call: string, json?: object): Promise<void> {
  const answer = await new ApiClient(cluster.url, ADMIN_KEY).call(`/admin/hosts/${call}`, { method, json });
  if (answer.status >= 300) throw new Error(`${method} ${call}: ${answer.status} ${answer.text}`);
}

async function until(isTrue: () => boolean | Promise<boolean>, what: string, patienceMs = 60_000): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`${what}: not within ${patienceMs} ms`);
    await sleep(100);
  }
}

/** A limiter that can be lifted. */
function liftable(): { react: () => Reaction | null; lift: () => void } {
  const limit = limiter(PER_S, PER_S);
  let isLifted = false;
  return { react: () => (isLifted ? null : limit()), lift: () => (isLifted = true) };
}

async function cancel(id: string): Promise<void> {
  await api.call(`/v2/crawl/${id}`, { method: 'DELETE' });
}

describe('a host that answers ten pages a second and no more', () => {
  it(
    'gets nearly as many, and few too many; its crawl says so, and why, and loses nothing',
    async () => {
      const { react } = liftable();
      const site = await TroubledSite.start({ pages: LIMITED_PAGES, react });
      try {
        const startedAt = performance.now();
        const id = await start(site);
        let seenAt: number | null = null;
        let seen: Throttled | undefined;
        await until(
          async () => {
            const { status, throttled } = await throttledOf(id);
            if (throttled.length > 0 && seenAt === null) [seenAt, seen] = [performance.now(), throttled[0]];
            return status !== 'scraping';
          },
          'the end of the crawl',
          TEST_MS,
        );
        const perS = LIMITED_PAGES / ((site.good().at(-1)!.t - startedAt) / 1000);
        const refused = site.pages().filter(({ status }) => status === 429);
        const lateMs = seenAt! - refused[1]!.t;
        console.info(
          `${LIMITED_PAGES} pages: ${perS.toFixed(2)}/s, ${refused.length} times 429, shown after ${Math.round(lateMs)} ms`,
        );
        const done = await client.readAll(id);
        expect(done.data).toHaveLength(LIMITED_PAGES);
        // Of a short crawl much is the time until the limit is found.
        expect(perS).toBeGreaterThan(LIMITED_PAGES >= 2000 ? 8.5 : 6);
        expect(refused.length / LIMITED_PAGES).toBeLessThan(LIMITED_PAGES >= 2000 ? 0.01 : 0.03);
        expect(seen).toMatchObject({ host: site.host, state: 'slowed', reason: { status: 429 } });
        expect(seen!.reason!.url).toContain(site.origin);
        expect(seen!.pagesPerSecond).toBeLessThan(15);
        expect(lateMs).toBeLessThan(2_000);
      } finally {
        await site.stop();
      }
    },
    TEST_MS,
  );

  it(
    'and then again any number is asked as often as any other before long, and its crawl is throttled no more',
    async () => {
      const { react, lift } = liftable();
      const site = await TroubledSite.start({ pages: 20_000, react });
      try {
        const id = await start(site);
        await until(async () => (await throttledOf(id)).throttled.length > 0, 'the host slowed');
        await sleep(5_000);
        lift();
        const liftedAt = performance.now();
        await until(async () => (await throttledOf(id)).throttled.length === 0, 'the host open', 540_000);
        console.info(`open ${Math.round((performance.now() - liftedAt) / 1000)} s after the limit was lifted`);
        await cancel(id);
      } finally {
        await site.stop();
      }
    },
    TEST_MS,
  );

  it(
    'is asked at full rate at once when an operator releases it',
    async () => {
      const { react, lift } = liftable();
      const site = await TroubledSite.start({ pages: 20_000, react });
      try {
        const id = await start(site);
        await until(async () => (await throttledOf(id)).throttled.length > 0, 'the host slowed');
        await sleep(3_000);
        lift();
        await operate('POST', `${site.host}/release`);
        const releasedAt = performance.now();
        await sleep(5_000);
        const perS = rate(site.good(), releasedAt + 3_000, releasedAt + 5_000);
        const before = rate(site.good(), releasedAt - 2_000, releasedAt);
        console.info(`${before} pages/s before the release, ${perS} three seconds after it`);
        expect(perS).toBeGreaterThan(20);
        expect((await throttledOf(id)).throttled).toEqual([]);
        await cancel(id);
      } finally {
        await site.stop();
      }
    },
    TEST_MS,
  );
});

describe('one page a second, as an operator wants', () => {
  it(
    'is kept by all fetchers together, also when one is gone and the scheduler starts anew',
    async () => {
      const site = await TroubledSite.start({ pages: 200 });
      try {
        await operate('PUT', site.host, { maxRate: 1, note: 'asked by the owner' });
        await sleep(5_000);
        const id = await start(site);
        await until(() => site.pages().length >= 6, 'six pages');
        const pid = await cluster.signal('scheduler', 'SIGKILL');
        const [gone] = fetchers.splice(0, 1);
        await gone!.stop();
        fetchers.push(await startFetcher(CLOCKS_S[0]!));
        await cluster.waitForRestart('scheduler', pid);
        const restartedAt = performance.now();
        await until(() => site.pages().filter(({ t }) => t > restartedAt).length >= 8, 'eight pages more');
        const least = shortestGap(site.pages());
        const seconds = (site.pages().at(-1)!.t - site.pages()[0]!.t) / 1000;
        console.info(`${site.pages().length} pages in ${seconds.toFixed(1)} s, no two within ${Math.round(least)} ms`);
        expect(least).toBeGreaterThan(900);
        await cancel(id);
      } finally {
        await operate('DELETE', site.host);
        await site.stop();
      }
    },
    TEST_MS,
  );
});
