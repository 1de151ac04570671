/** Calls that look into a job or change it while it lives: ledger, explain, pause and resume, append. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  expectCrawl,
  isPageRequest,
  page,
  peculiarSite,
  plainSite,
  startKnownSite,
  type CrawlRules,
  type KnownSite,
  type SiteBuilder,
} from '../sites/known-graph/index.js';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { CrawlClient, type JobStatus } from './crawl-client.js';
import { countBy } from './ledger.js';

const TIMEOUT_MS = 180_000;
const OWN_KEY = 'fc-key-of-our-team';
const STRANGE_KEY = 'fc-key-of-another-team';
const UNKNOWN_ID = '5b1d0000-0000-4000-8000-000000000000';

interface Entry {
  url: string;
  outcome: string;
  rule?: string;
  depth: number;
  parent?: string;
  status?: number;
  bytes?: number;
  ms?: number;
  engine?: string;
  attempts: number;
  at: string;
  scrapeId?: string;
}

interface LedgerPage {
  success: boolean;
  counts: Record<string, number>;
  discovered: number;
  excluded: Record<string, number>;
  urls: Entry[];
  next?: string;
}

let cluster: TestCluster;
let api: ApiClient;
let crawls: CrawlClient;

beforeAll(async () => {
  const env = {
    ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
    HOST_GAP_MS: '0',
    HOST_MAX_CONN: '4',
    TROUPE_BOOTSTRAP_KEYS: `own:${OWN_KEY},other:${STRANGE_KEY}`,
  };
  cluster = await startCluster({ env });
  api = new ApiClient(cluster.url, OWN_KEY);
  crawls = new CrawlClient({ url: cluster.url, apiKey: OWN_KEY });
}, TIMEOUT_MS);

afterAll(async () => {
  await cluster?.stop();
}, TIMEOUT_MS);

async function withSite<T>(build: SiteBuilder, hosts: number, work: (site: KnownSite) => Promise<T>): Promise<T> {
  const site = await startKnownSite(build, { hosts });
  try {
    return await work(site);
  } finally {
    await site.stop();
  }
}

/** All pages of a ledger, as `next` leads; each page's counts fit its own sum. */
async function readLedger(path: string): Promise<LedgerPage> {
  const first = await crawls.get<LedgerPage>(path);
  expectSum(first);
  for (let { next } = first; next !== undefined;) {
    const more = await crawls.get<LedgerPage>(next);
    first.urls.push(...more.urls);
    next = more.next;
  }
  return first;
}

function expectSum({ counts, discovered }: LedgerPage): void {
  expect(Object.values(counts).reduce((sum, n) => sum + n, 0)).toBe(discovered);
}

const sorted = (items: Iterable<string>): string[] => [...items].sort();
const statusOf = (id: string) => crawls.get<JobStatus & { paused?: boolean }>(`/v2/crawl/${id}?limit=1`);

describe('the ledger of a crawl', () => {
  it(
    'says of every URL what the graph says, and of every link that was left out which rule',
    () =>
      withSite(peculiarSite, 2, async (site) => {
        const rules: CrawlRules = { url: site.url('/') };
        const { id, status } = await crawls.crawl(rules, TIMEOUT_MS);
        const expected = [...expectCrawl(site, rules).outcomes.values()];
        const ledger = await readLedger(`/v2/crawl/${id}/ledger?limit=37`);
        expect(ledger.counts).toEqual(countBy(expected, ({ outcome }) => outcome));
        expect(ledger.discovered).toBe(expected.length);
        expect(sorted(ledger.urls.map(({ outcome, url }) => `${outcome} ${url}`))).toEqual(
          sorted(expected.map(({ outcome, url }) => `${outcome} ${url}`)),
        );
        const known = new Set(ledger.urls.map(({ url }) => url));
        const scrapeIds = new Set(status.data.map(({ metadata }) => metadata.scrapeId));
        for (const entry of ledger.urls) {
          expect(entry).toMatchObject({
            attempts: expect.any(Number),
            depth: expect.any(Number),
            at: expect.any(String),
          });
          expect(entry.parent === undefined || known.has(entry.parent)).toBe(true);
          expect(entry.depth > 0).toBe(entry.parent !== undefined);
          expect(entry.outcome === 'ok').toBe(entry.scrapeId !== undefined && scrapeIds.has(entry.scrapeId));
          if (entry.outcome === 'ok')
            expect(entry).toMatchObject({ status: expect.any(Number), ms: expect.any(Number) });
          if (entry.outcome === 'ok') expect(entry.bytes).toBeGreaterThan(0);
          if (entry.outcome === 'failed' || entry.outcome === 'redirected')
            expect(entry.rule).toEqual(expect.any(String));
        }
        await expectLeftOut(site, id, ledger);
      }),
    TIMEOUT_MS,
  );

  async function expectLeftOut(site: KnownSite, id: string, whole: LedgerPage): Promise<void> {
    const left = await readLedger(`/v2/crawl/${id}/ledger?outcome=out_of_scope&limit=5`);
    expect(left.counts).toEqual(whole.counts);
    expect(new Set(left.urls.map(({ url }) => url)).size).toBe(left.urls.length);
    expect(sorted(new Set(left.urls.map(({ rule }) => rule!)))).toEqual(sorted(Object.keys(whole.excluded)));
    const ruleOf = Object.fromEntries(left.urls.map(({ url, rule }) => [url, rule]));
    expect(ruleOf).toMatchObject({
      [site.url('/', 1)]: 'external',
      [site.url('/f/archive.zip')]: 'file-type',
    });
    const failed = await readLedger(`/v2/crawl/${id}/ledger?outcome=failed`);
    expect(failed.urls).toHaveLength(whole.counts.failed ?? 0);
    expect(failed.urls.every(({ outcome, rule }) => outcome === 'failed' && rule!.startsWith('SCRAPE_'))).toBe(true);
  }

  it(
    'names what the limit left over, and is exact at every moment before',
    () =>
      withSite(plainSite({ pages: 150, delayMs: 25 }), 1, async (site) => {
        const id = await crawls.startCrawl({ url: site.url('/'), limit: 40 });
        const seen: number[] = [];
        for (let running = true; running;) {
          const ledger = await crawls.get<LedgerPage>(`/v2/crawl/${id}/ledger?limit=1`);
          expectSum(ledger);
          seen.push(ledger.discovered);
          running = (await statusOf(id)).status === 'scraping';
        }
        expect(seen).toEqual([...seen].sort((a, b) => a - b));
        const { counts, discovered, urls } = await readLedger(`/v2/crawl/${id}/ledger`);
        expect(counts).toEqual({ ok: 40, limit: discovered - 40 });
        expect(countBy(urls, ({ outcome }) => outcome)).toEqual(counts);
        expect(discovered).toBeGreaterThan(40);
      }),
    TIMEOUT_MS,
  );

  it('is nobody else’s, and takes no nonsense', async () => {
    await withSite(
      () => [{ '/': page() }],
      1,
      async (site) => {
        const { id } = await crawls.crawl({ url: site.url('/') }, TIMEOUT_MS);
        const stranger = new ApiClient(cluster.url, STRANGE_KEY);
        expect(await stranger.call(`/v2/crawl/${id}/ledger`)).toMatchObject({
          status: 404,
          body: { error: 'Job not found' },
        });
        for (const query of ['skip=-1', 'limit=0', 'limit=x', 'outcome=nice'])
          expect(await api.call(`/v2/crawl/${id}/ledger?${query}`)).toMatchObject({ status: 400 });
        expect((await crawls.get<LedgerPage>(`/v2/batch/scrape/${id}/ledger`)).counts).toEqual({ ok: 1 });
      },
    );
  });
});

describe('explain', () => {
  const cases: [string, Omit<CrawlRules, 'url'>, string?][] = [
    ['of a whole site', { sitemap: 'skip' }],
    [
      'with patterns',
      { sitemap: 'skip', includePaths: ['^/deep', '/dup', '/robots$', '^/private'], excludePaths: ['leaf'] },
    ],
    ['from below its root', { sitemap: 'skip' }, '/deep/2'],
  ];
  it.each(cases)(
    'says what a crawl %s then does',
    (_, more, path = '/') =>
      withSite(peculiarSite, 2, async (site) => {
        const rules = { url: site.url(path), ...more };
        const { id } = await crawls.crawl(rules, TIMEOUT_MS);
        const [taken, left] = await Promise.all([
          readLedger(`/v2/crawl/${id}/ledger?limit=1000`),
          readLedger(`/v2/crawl/${id}/ledger?outcome=out_of_scope&limit=1000`),
        ]);
        // What is no web address is told apart by the next test; whether a link may be followed is no rule about its URL.
        const judged = left.urls.filter(({ rule }) => !['scheme', 'too-long', 'nofollow'].includes(rule!));
        expect(judged.length).toBeGreaterThan(0);
        const entries = [...taken.urls, ...judged];
        const forbidden = expectCrawl(site, rules).forbidden;
        for (let i = 0; i < entries.length; i += 100) {
          const asked = entries.slice(i, i + 100);
          const { urls } = await crawls.call<{ urls: Record<string, unknown>[] }>('POST', '/v2/crawl/explain', {
            ...rules,
            urls: asked.map(({ url }) => url),
          });
          expect(urls.map(({ url, inScope, rule }) => [url, inScope, rule])).toEqual(
            asked.map(({ url, outcome, rule }) =>
              outcome === 'out_of_scope' ? [url, false, rule] : [url, true, null],
            ),
          );
          for (const [n, { url, outcome }] of asked.entries()) {
            if (outcome === 'out_of_scope') continue;
            const isForbidden = outcome === 'robots' && forbidden.has(url);
            expect([url, urls[n]!.robots]).toEqual([url, isForbidden ? 'disallowed' : 'allowed']);
          }
        }
      }),
    TIMEOUT_MS,
  );

  it('judges the canonical form, names what is no web address, and asks for nothing but robots.txt', () =>
    withSite(peculiarSite, 1, async (site) => {
      const urls = [site.url('/A/../deep/1#x'), 'mailto:a@b.example', `${site.url('/')}${'x'.repeat(2_100)}`];
      const { body } = await api.post('/v2/crawl/explain', { url: site.url('/'), urls });
      expect(body).toMatchObject({
        success: true,
        urls: [
          { url: urls[0], canonical: site.url('/deep/1'), inScope: true, rule: null, robots: 'allowed' },
          { url: urls[1], canonical: null, inScope: false, rule: 'scheme', robots: 'disallowed' },
          { url: urls[2], canonical: null, inScope: false, rule: 'too-long', robots: 'disallowed' },
        ],
      });
      expect(site.requests(isPageRequest)).toEqual([]);
    }));

  it('refuses what a crawl would refuse, and too many URLs', async () => {
    const explain = (more: object) =>
      api.post('/v2/crawl/explain', { url: 'http://127.0.0.1:1/', urls: ['x.test'], ...more });
    expect(await explain({ url: 'http://10.1.2.3/' })).toMatchObject({
      status: 403,
      body: { code: 'SCRAPE_TARGET_FORBIDDEN' },
    });
    expect(await explain({ includePaths: ['('] })).toMatchObject({ status: 400 });
    expect(await explain({ urls: [] })).toMatchObject({ status: 400 });
    expect(await explain({ urls: Array.from({ length: 101 }, () => 'x.test') })).toMatchObject({ status: 400 });
  });
});

describe('a paused crawl', () => {
  const PAGES = 160;

  async function untilCompleted(id: string, pages: number): Promise<void> {
    while ((await statusOf(id)).completed < pages) await sleep(50);
  }

  /** Times of the requests that the site saw later than this, in ms after it. */
  function startsAfter(site: KnownSite, at: number): number[] {
    return site.requests().flatMap(({ t }) => (t > at ? [Math.round(t - at)] : []));
  }

  it(
    'starts no request from 1 s after the reply on, lives through a kill of its scheduler, and is exact when it goes on',
    () =>
      withSite(plainSite({ pages: PAGES, delayMs: 120 }), 1, async (site) => {
        const id = await crawls.startCrawl({ url: site.url('/'), sitemap: 'skip' });
        await untilCompleted(id, 12);
        expect(await crawls.call('POST', `/v2/crawl/${id}/pause`)).toEqual({
          success: true,
          status: 'scraping',
          paused: true,
        });
        const pausedAt = performance.now();
        expect(await statusOf(id)).toMatchObject({ status: 'scraping', paused: true });
        await sleep(2_000);
        expect(startsAfter(site, pausedAt + 1_000)).toEqual([]);
        const pid = await cluster.signal('scheduler', 'SIGKILL');
        await cluster.waitForRestart('scheduler', pid);
        expect(await crawls.call('POST', `/v2/crawl/${id}/pause`)).toMatchObject({ paused: true });
        await sleep(3_000);
        expect(startsAfter(site, pausedAt + 1_000)).toEqual([]);
        const during = await statusOf(id);
        expect(during).toMatchObject({ status: 'scraping', paused: true });
        expect(during.completed).toBeLessThan(PAGES);
        const { counts } = await crawls.get<LedgerPage>(`/v2/crawl/${id}/ledger`);
        expect(counts.ok).toBe(during.completed);
        expect(await crawls.call('POST', `/v2/crawl/${id}/resume`)).toEqual({
          success: true,
          status: 'scraping',
          paused: false,
        });
        await crawls.waitForEnd(id, TIMEOUT_MS);
        const { status, total, completed, data, ...rest } = await crawls.readAll(id);
        expect({ status, total, completed }).toEqual({ status: 'completed', total: PAGES, completed: PAGES });
        expect(rest).not.toHaveProperty('paused');
        expect(new Set(data.map(({ metadata }) => metadata.sourceURL)).size).toBe(PAGES);
        const asked = countBy(site.requests(isPageRequest), ({ path }) => path);
        expect(Object.entries(asked).filter(([, times]) => times !== 1)).toEqual([]);
        expect((await crawls.get<LedgerPage>(`/v2/crawl/${id}/ledger`)).counts).toEqual({ ok: PAGES });
      }),
    TIMEOUT_MS,
  );

  it(
    'leaves its places to others, and can be cancelled',
    () =>
      withSite(plainSite({ pages: PAGES, delayMs: 100 }), 1, async (site) => {
        const id = await crawls.startCrawl({ url: site.url('/'), sitemap: 'skip' });
        await untilCompleted(id, 5);
        await crawls.call('POST', `/v2/crawl/${id}/pause`);
        const other = await crawls.crawl({ url: site.url('/'), sitemap: 'skip', limit: 20 }, 30_000);
        expect(other.status).toMatchObject({ status: 'completed', total: 20 });
        expect(await api.call(`/v2/crawl/${id}`, { method: 'DELETE' })).toMatchObject({
          status: 200,
          body: { status: 'cancelled' },
        });
        const { counts, discovered } = await crawls.get<LedgerPage>(`/v2/crawl/${id}/ledger`);
        expect(counts).toEqual({ ok: counts.ok, cancelled: discovered - counts.ok! });
        for (const verb of ['pause', 'resume'])
          expect(await api.call(`/v2/crawl/${id}/${verb}`, { method: 'POST' })).toMatchObject({ status: 409 });
      }),
    TIMEOUT_MS,
  );

  it('is a crawl of the caller', async () => {
    const { body } = await api.post('/v2/batch/scrape', { urls: ['http://127.0.0.1:1/'] });
    for (const id of [body.id as string, UNKNOWN_ID])
      expect(await api.call(`/v2/crawl/${id}/pause`, { method: 'POST' })).toMatchObject({
        status: 404,
        body: { success: false, error: 'Job not found' },
      });
  });
});

describe('URLs appended to a batch', () => {
  const urlsOf = (site: KnownSite, from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => site.url(`/p/${from + i}`));
  const statusOfBatch = (id: string) => crawls.get<JobStatus & { expiresAt: string }>(`/v2/batch/scrape/${id}`);
  const start = async (body: object) => (await crawls.call<{ id: string }>('POST', '/v2/batch/scrape', body)).id;
  const append = (id: string, urls: string[], more: object = {}) =>
    crawls.call<Record<string, unknown>>('POST', '/v2/batch/scrape', { urls, appendToId: id, ...more });

  it(
    'are scraped with those of a running one, counted from the first poll on, its options in force',
    () =>
      withSite(plainSite({ pages: 61, delayMs: 60 }), 1, async (site) => {
        const id = await start({ urls: urlsOf(site, 1, 21), formats: ['links'] });
        const reply = await append(id.toUpperCase(), [...urlsOf(site, 21, 31), 'nope'], { formats: ['markdown'] });
        expect(reply).toMatchObject({ success: true, id, invalidURLs: ['nope'] });
        expect(await statusOfBatch(id)).toMatchObject({ status: 'scraping', total: 30 });
        const totals: number[] = [];
        const more = Promise.all([append(id, urlsOf(site, 31, 41)), append(id, urlsOf(site, 41, 61))]);
        for (let running = true; running; await sleep(50)) {
          const { status, total } = await statusOfBatch(id);
          totals.push(total);
          running = status === 'scraping';
        }
        await more;
        expect(totals).toEqual([...totals].sort((a, b) => a - b));
        const end = await statusOfBatch(id);
        expect(end).toMatchObject({ status: 'completed', total: 60, completed: 60, creditsUsed: 60 });
        expect(sorted(end.data.map(({ metadata }) => metadata.sourceURL))).toEqual(sorted(urlsOf(site, 1, 61)));
        expect(end.data.every((document) => document.markdown === undefined && document.links !== undefined)).toBe(
          true,
        );
        const ledger = await readLedger(`/v2/batch/scrape/${id}/ledger`);
        expect(ledger.counts).toEqual({ ok: 60 });
        expect(Object.values(countBy(site.requests(isPageRequest), ({ path }) => path)).every((n) => n === 1)).toBe(
          true,
        );
      }),
    TIMEOUT_MS,
  );

  it(
    'while its scheduler is dead are in its total at once, and scraped once it is back',
    () =>
      withSite(plainSite({ pages: 41, delayMs: 40 }), 1, async (site) => {
        const id = await start({ urls: urlsOf(site, 1, 11) });
        const pid = await cluster.signal('scheduler', 'SIGKILL');
        await append(id, urlsOf(site, 11, 31));
        await append(id, urlsOf(site, 31, 41));
        expect(await statusOfBatch(id)).toMatchObject({ status: 'scraping', total: 40 });
        await cluster.waitForRestart('scheduler', pid);
        await crawls.waitForEnd(id);
        const { data, ...end } = await statusOfBatch(id);
        expect(end).toMatchObject({ status: 'completed', total: 40, completed: 40, creditsUsed: 40 });
        expect(sorted(data.map(({ metadata }) => metadata.sourceURL))).toEqual(sorted(urlsOf(site, 1, 41)));
      }),
    TIMEOUT_MS,
  );

  it(
    'open a completed one again, which completes again and lives longer',
    () =>
      withSite(plainSite({ pages: 12 }), 1, async (site) => {
        const id = await start({ urls: urlsOf(site, 1, 4) });
        await crawls.waitForEnd(id);
        const before = await statusOfBatch(id);
        // Its actor has come to rest: nothing of it is in memory.
        await sleep(2_000);
        await append(id, urlsOf(site, 4, 9));
        expect(await statusOfBatch(id)).toMatchObject({ status: 'scraping', total: 8 });
        await crawls.waitForEnd(id);
        const after = await statusOfBatch(id);
        expect(after).toMatchObject({ status: 'completed', total: 8, completed: 8 });
        expect(after.data.slice(0, 3)).toEqual(before.data);
        expect(Date.parse(after.expiresAt)).toBeGreaterThan(Date.parse(before.expiresAt));
      }),
    TIMEOUT_MS,
  );

  it('need a batch of the caller that is not over otherwise', () =>
    withSite(plainSite({ pages: 30, delayMs: 200 }), 1, async (site) => {
      const id = await start({ urls: urlsOf(site, 1, 30) });
      const stranger = new ApiClient(cluster.url, STRANGE_KEY);
      const { id: crawl } = await crawls.crawl({ url: site.url('/'), limit: 1 });
      const urls = urlsOf(site, 1, 2);
      const answers = await Promise.all([
        stranger.post('/v2/batch/scrape', { urls, appendToId: id }),
        api.post('/v2/batch/scrape', { urls, appendToId: UNKNOWN_ID }),
        api.post('/v2/batch/scrape', { urls, appendToId: crawl }),
      ]);
      for (const answer of answers) expect(answer).toMatchObject({ status: 404, body: { error: 'Job not found' } });
      await api.call(`/v2/batch/scrape/${id}`, { method: 'DELETE' });
      expect(await api.post('/v2/batch/scrape', { urls, appendToId: id })).toMatchObject({ status: 409 });
      expect(await api.post('/v2/batch/scrape', { urls, appendToId: 'x' })).toMatchObject({ status: 400 });
    }));
});
