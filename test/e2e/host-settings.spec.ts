/** What clients are told of a host that is slowed, and what an operator can do about hosts. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FirecrawlClient } from 'firecrawl';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { CrawlClient } from './crawl-client.js';
import { withSite, type SiteRules, type TroubledSite } from './troubled-site.js';

const ADMIN_KEY = 'operator-0123456789abcdef';
const KEYS = { a: 'fc-hosts-team-a', b: 'fc-hosts-team-b' };
const KNOWN_BY_MS = 5_000;
const TEST_MS = 150_000;
/** A tenth of the run and more. */
const WORTH_A_WARNING_MS = 5_000;
const LIMIT_PER_S = 3;

interface Throttled {
  host: string;
  state: string;
  pagesPerSecond: number | null;
  since: string;
  reason?: { at: string; kind: string; status?: number; url?: string };
}
interface LedgerUrl {
  url: string;
  outcome: string;
  rule?: string;
  notBefore?: string;
}

let cluster: TestCluster;
let admin: CrawlClient;
let teamA: CrawlClient;
let teamB: CrawlClient;

beforeAll(async () => {
  cluster = await startCluster({
    args: ['--fetchers', '2'],
    env: {
      ADMIN_KEY,
      TROUPE_BOOTSTRAP_KEYS: `a:${KEYS.a},b:${KEYS.b}`,
      ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
      HOST_GAP_MS: '20',
    },
  });
  admin = new CrawlClient({ url: cluster.url, apiKey: ADMIN_KEY });
  teamA = new CrawlClient({ url: cluster.url, apiKey: KEYS.a });
  teamB = new CrawlClient({ url: cluster.url, apiKey: KEYS.b });
}, 180_000);

afterAll(async () => {
  await cluster?.stop();
}, 90_000);

/** A limiter: who asks more often than that in a second is told so. */
function limiter(): { rules: SiteRules; lift(): void } {
  let taken: number[] = [];
  let isOn = true;
  const react: SiteRules['react'] = ({ t }) => {
    taken = taken.filter((at) => at > t - 1_000);
    if (isOn && taken.length >= LIMIT_PER_S) return 429;
    taken.push(t);
    return null;
  };
  return { rules: { pages: 400, react }, lift: () => (isOn = false) };
}

/** Looks until `found` says yes; what it said. */
async function until<T>(what: string, ms: number, look: () => Promise<T | null>): Promise<T> {
  const before = performance.now() + ms;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > before) throw new Error(`not within ${ms} ms: ${what}`);
    await sleep(100);
  }
}

const crawl = (client: CrawlClient, site: TroubledSite): Promise<string> =>
  client.startCrawl({ url: site.url(), sitemap: 'skip', limit: 10_000 });
const cancel = (client: CrawlClient, id: string) => client.call('DELETE', `/v2/crawl/${id}`);
const hostPath = (site: TroubledSite) => `/admin/hosts/${encodeURIComponent(site.host)}`;

function throttledOf(client: CrawlClient, id: string, version = 'v2'): Promise<Throttled | null> {
  return client
    .get<{ throttled?: Throttled[] }>(`/${version}/crawl/${id}?limit=1`)
    .then(({ throttled }) => throttled?.[0] ?? null);
}

/** Starts of pages a second, over so many ms from now. */
async function rateOf(site: TroubledSite, ms: number): Promise<number> {
  const from = performance.now();
  await sleep(ms);
  return (site.pages().filter(({ t }) => t >= from).length * 1_000) / ms;
}

describe('a host that limits requests', () => {
  it(
    'is shown with state, rate and reason while it is slowed, and a URL to the team that asked for it only',
    () => {
      const { rules, lift } = limiter();
      return withSite(rules, async (site) => {
        const id = await crawl(teamA, site);
        await until('a first 429', 30_000, () =>
          Promise.resolve(site.log.find(({ status }) => status === 429) ?? null),
        );
        const shown = await until('throttled', 10_000, () => throttledOf(teamA, id));
        expect(shown).toMatchObject({ host: site.host, reason: { kind: 'rateLimited', status: 429 } });
        expect(['slowed', 'paused']).toContain(shown.state);
        expect(shown.reason!.url).toContain(site.origin);
        expect(Date.parse(shown.since)).toBeGreaterThan(Date.now() - 60_000);

        const v1 = await until('throttled in v1', 10_000, () => throttledOf(teamA, id, 'v1'));
        expect(v1.host).toBe(site.host);
        const sdk = new FirecrawlClient({ apiUrl: cluster.url, apiKey: KEYS.a });
        expect(await sdk.getCrawlStatus(id, { autoPaginate: false })).toMatchObject({ status: 'scraping', id });

        const { hosts } = await teamA.get<{ hosts: (Throttled & { urls: Record<string, number> })[] }>(
          `/v2/crawl/${id}/hosts`,
        );
        expect(hosts).toMatchObject([{ host: site.host, urls: { pending: expect.any(Number) } }]);
        expect(hosts[0]!.urls.pending! + hosts[0]!.urls.ok!).toBeGreaterThan(300);
        const waiting = await until('a rule in the ledger', 10_000, async () => {
          const { urls } = await teamA.get<{ urls: LedgerUrl[] }>(`/v2/crawl/${id}/ledger?outcome=pending`);
          return urls.find(({ rule }) => rule === 'host-slowed' || rule === 'host-paused') ?? null;
        });
        expect(waiting.outcome).toBe('pending');

        const other = await crawl(teamB, site);
        const toOthers = await until('throttled for team b', 15_000, () => throttledOf(teamB, other));
        expect(toOthers.reason?.url === undefined || toOthers.reason.url.startsWith(site.origin)).toBe(true);
        const { reasons } = (
          await teamB.get<{ hosts: { reasons: { url?: string; at: string }[] }[] }>(`/v2/crawl/${other}/hosts`)
        ).hosts[0]!;
        const first = reasons.find(({ at }) => at === shown.reason!.at);
        expect(first?.url).toBeUndefined();
        await cancel(teamB, other);

        await sleep(WORTH_A_WARNING_MS);
        lift();
        await admin.call('POST', `${hostPath(site)}/release`);
        expect(await rateOf(site, 3_000)).toBeGreaterThan(2 * LIMIT_PER_S);
        await until('not throttled', 5_000, async () => ((await throttledOf(teamA, id)) === null ? true : null));
        await teamA.waitForEnd(id);
        const { status, data, warning } = await teamA.readAll(id);
        expect([status, data.length]).toEqual(['completed', 400]);
        expect(warning).toMatch(new RegExp(`^${site.host} was (slowed|paused) for \\d+ s`));
        expect(await throttledOf(teamA, id)).toBeNull();
      });
    },
    TEST_MS,
  );
});

describe("an operator's setting of a host", () => {
  it(
    'holds all requests until it is taken away, and says so',
    () =>
      withSite({ pages: 30 }, async (site) => {
        await admin.call('PUT', hostPath(site), { hold: true, note: 'asked for by mail' });
        await sleep(KNOWN_BY_MS);
        const id = await crawl(teamA, site);
        const shown = await until('held', 10_000, () => throttledOf(teamA, id));
        expect(shown.state).toBe('held');
        const { urls } = await teamA.get<{ urls: LedgerUrl[] }>(`/v2/crawl/${id}/ledger?outcome=pending`);
        expect(urls).toMatchObject([{ rule: 'host-paused' }]);
        expect(site.pages()).toEqual([]);
        const { hosts, settings } = await admin.get<{ hosts: Throttled[]; settings: object[] }>(
          '/admin/hosts?state=held',
        );
        expect(hosts.map(({ host }) => host)).toContain(site.host);
        expect(settings).toContainEqual({ pattern: site.host, hold: true, note: 'asked for by mail' });

        await admin.call('DELETE', hostPath(site));
        await teamA.waitForEnd(id, 60_000);
        expect((await teamA.readAll(id)).data).toHaveLength(30);
      }),
    TEST_MS,
  );

  it(
    'limits the rate of the whole cluster',
    () =>
      withSite({ pages: 1_000 }, async (site) => {
        await admin.call('PUT', hostPath(site), { maxRate: 1 });
        await sleep(KNOWN_BY_MS);
        const id = await crawl(teamA, site);
        await until('a first page', 10_000, () => Promise.resolve(site.pages()[0] ?? null));
        expect(await rateOf(site, 10_000)).toBeLessThan(1.3);
        await admin.call('DELETE', hostPath(site));
        await sleep(KNOWN_BY_MS);
        expect(await rateOf(site, 3_000)).toBeGreaterThan(4);
        await cancel(teamA, id);
      }),
    TEST_MS,
  );

  it('is checked, audited, and closed to teams', async () => {
    const api = new ApiClient(cluster.url, ADMIN_KEY);
    const put = (pattern: string, json: object) => api.call(`/admin/hosts/${pattern}`, { method: 'PUT', json });
    expect((await put('EXAMPLE.com', { gapMs: 500 })).body).toEqual({
      success: true,
      setting: { pattern: 'example.com', gapMs: 500 },
    });
    expect((await put('*.example.com', { expressConn: 1, crawlDelay: 'obey' })).status).toBe(200);
    for (const [pattern, json, word] of [
      ['a b', {}, 'Expected a host'],
      ['x.test', { maxConn: 0 }, 'maxConn'],
      ['x.test', { crawlDelay: 0 }, 'ALLOW_IGNORE_ROBOTS'],
      ['x.test', { unknown: 1 }, 'unknown'],
    ] as const) {
      const { status, text } = await put(encodeURIComponent(pattern), json);
      expect([status, text]).toEqual([400, expect.stringContaining(word)]);
    }
    expect((await api.call('/admin/hosts/nowhere.test')).status).toBe(404);
    expect((await api.call('/admin/hosts/x.test', { method: 'DELETE' })).status).toBe(404);
    expect((await api.call('/admin/hosts?state=asleep')).status).toBe(400);
    expect((await new ApiClient(cluster.url, KEYS.a).call('/admin/hosts')).status).toBe(401);
    await api.post('/admin/hosts/example.com/release', {});
    const { entries } = (await api.call('/admin/audit?limit=20')).body as {
      entries: { action: string; target: string }[];
    };
    expect(entries.map(({ action, target }) => `${action} ${target}`)).toEqual(
      expect.arrayContaining(['host.set example.com', 'host.set *.example.com', 'host.release example.com']),
    );
  });

  it('shows the hosts of a job to its team only', async () => {
    await withSite({ pages: 3 }, async (site) => {
      const { id } = await teamA.crawl({ url: site.url(), sitemap: 'skip' });
      const { hosts } = await teamA.get<{ hosts: object[] }>(`/v2/batch/scrape/${id}/hosts`);
      expect(hosts).toMatchObject([{ host: site.host, state: 'open', urls: { ok: 3, pending: 0 } }]);
      await expect(teamB.get(`/v2/crawl/${id}/hosts`)).rejects.toThrow('404');
    });
  });
});
