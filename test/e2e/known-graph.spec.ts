/** Crawls of sites that are known to the last link, through the HTTP API of a whole cluster, against the oracle. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  expectCrawl,
  isPageRequest,
  page,
  peakInFlight,
  peculiarSite,
  plainSite,
  redirect,
  starSite,
  startGaps,
  startKnownSite,
  type CrawlRules,
  type Expectation,
  type KnownSite,
  type SiteBuilder,
} from '../sites/known-graph/index.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { CrawlClient, type FinishedJob } from './crawl-client.js';
import { countBy, Ledger, type JobLedger } from './ledger.js';

const TIMEOUT_MS = 180_000;
const COUNTED = new Set(['ok', 'failed']);

let cluster: TestCluster;
let api: CrawlClient;
let ledger: Ledger;

beforeAll(async () => {
  const env = { ALLOW_PRIVATE_TARGETS: '127.0.0.0/8', HOST_GAP_MS: '0', HOST_MAX_CONN: '4' };
  cluster = await startCluster({ env });
  api = new CrawlClient(cluster);
  ledger = await Ledger.open(cluster);
}, TIMEOUT_MS);

afterAll(async () => {
  await ledger?.close();
  await cluster?.stop();
}, TIMEOUT_MS);

/** A ledger that fits itself: every admitted URL ended once, and the counters say the same. */
function expectSoundLedger(job: FinishedJob, rows: JobLedger, spare: string[] = []): void {
  const counted = rows.outcomes.filter(({ outcome }) => COUNTED.has(outcome)).length;
  expect(rows.job).toEqual({
    status: job.status.status,
    total: counted,
    completed: counted,
    credits: job.status.data.length,
  });
  expect(job.status).toMatchObject({ total: counted, completed: counted, creditsUsed: job.status.data.length });
  expect(new Set(rows.outcomes.map(({ url }) => url)).size).toBe(rows.outcomes.length);
  expect(rows).toMatchObject({
    pages: job.status.data.length,
    credits: job.status.data.length,
    frontier: spare,
    lanes: 0,
  });
  expect(rows.outcomes.filter(({ outcome }) => outcome === 'ok')).toHaveLength(job.status.data.length);
}

const sorted = (items: Iterable<string>): string[] => [...items].sort();

/** Documents, statuses, errors and refusals are those of the oracle, no more and no less. */
function expectAsForetold(job: FinishedJob, rows: JobLedger, expected: Expectation): void {
  const outcomes = [...expected.outcomes.values()];
  const documents = outcomes.filter(({ outcome }) => outcome === 'ok');
  expect(job.status.status).toBe(expected.status);
  expect(job.status.next).toBeUndefined();
  expect(
    sorted(rows.outcomes.map(({ url, outcome, status }) => `${outcome} ${outcome === 'ok' ? status : ''} ${url}`)),
  ).toEqual(sorted(outcomes.map(({ url, outcome, status }) => `${outcome} ${status ?? ''} ${url}`)));
  expect(
    sorted(job.status.data.map(({ metadata: m }) => `${m.statusCode} ${m.sourceURL} -> ${m.url.split('#')[0]}`)),
  ).toEqual(sorted(documents.map(({ url, status, finalUrl }) => `${status} ${url} -> ${finalUrl}`)));
  expect(sorted(job.errors.robotsBlocked)).toEqual(
    sorted(outcomes.filter(({ outcome }) => outcome === 'robots').map(({ url }) => url)),
  );
  expect(sorted(job.errors.errors.map(({ code, url }) => `${code} ${url}`))).toEqual(
    sorted([
      ...outcomes.filter(({ outcome }) => outcome === 'failed').map(({ code, url }) => `${code} ${url}`),
      ...[...expected.brokenSitemaps].map((url) => `SCRAPE_SITEMAP_ERROR ${url}`),
    ]),
  );
  expectTexts(job, expected);
  expectSoundLedger(job, rows);
}

function expectTexts(job: FinishedJob, expected: Expectation): void {
  const missing = job.status.data.flatMap(({ markdown = '', metadata }) =>
    expected.outcomes
      .get(metadata.sourceURL)!
      .texts.filter((text) => !markdown.includes(text))
      .map((text) => `${metadata.sourceURL} lacks "${text}": ${markdown.slice(0, 300)}`),
  );
  expect(missing).toEqual([]);
}

function requestedUrls(site: KnownSite): Set<string> {
  return new Set(site.requests().map(({ host, path }) => `http://${host}${path}`));
}

async function crawlAndCompare(site: KnownSite, rules: CrawlRules, more: object = {}): Promise<FinishedJob> {
  const job = await api.crawl({ ...rules, ...more }, TIMEOUT_MS);
  const expected = expectCrawl(site, rules);
  expectAsForetold(job, await ledger.of(job.id), expected);
  const requested = requestedUrls(site);
  expect([...expected.forbidden].filter((url) => requested.has(url))).toEqual([]);
  return job;
}

async function withSite<T>(build: SiteBuilder, hosts: number, work: (site: KnownSite) => Promise<T>): Promise<T> {
  const site = await startKnownSite(build, { hosts });
  try {
    return await work(site);
  } finally {
    await site.stop();
  }
}

describe('a crawl of a site with every peculiarity returns what the oracle says', () => {
  let site: KnownSite;
  beforeAll(async () => void (site = await startKnownSite(peculiarSite, { hosts: 2 })));
  beforeEach(() => site.reset());
  afterAll(() => site.stop());

  const variants: [string, Omit<CrawlRules, 'url'>, string?][] = [
    ['with the defaults', {}],
    ['without sitemaps', { sitemap: 'skip' }],
    ['of its sitemaps only', { sitemap: 'only' }],
    ['without merging similar addresses', { deduplicateSimilarURLs: false }],
    ['without query parameters', { ignoreQueryParameters: true }],
    ['down to two levels', { sitemap: 'skip', maxDiscoveryDepth: 2 }],
    ['of the start page alone', { sitemap: 'skip', maxDiscoveryDepth: 0 }],
    ['of some paths', { includePaths: ['^/deep', '/dup'] }],
    ['without some paths', { excludePaths: ['^/s/', 'r/3\\d\\d$', '^/js'] }],
    [
      'by patterns on whole addresses',
      { regexOnFullURL: true, includePaths: ['^http://127\\.0\\.0\\.1:\\d+/(deep|s)/'], excludePaths: ['\\?a=1'] },
    ],
    ['from below its root', { sitemap: 'skip' }, '/deep/2'],
    ['from below its root, over the whole domain', { sitemap: 'skip', crawlEntireDomain: true }, '/deep/2'],
    ['with external links', { sitemap: 'skip', allowExternalLinks: true }],
    ['from a page that redirects', { sitemap: 'skip' }, '/r/301'],
    ['from a page that redirects to another host', { sitemap: 'skip' }, '/r/outside'],
    ['from a page that robots.txt forbids', { sitemap: 'skip' }, '/private/linked'],
    ['from a page that is missing', { sitemap: 'skip' }, '/no/such/page'],
    ['from a file that cannot be read', { sitemap: 'skip' }, '/f/download'],
  ];
  it.each(variants)(
    '%s',
    (_, rules, path = '/') => crawlAndCompare(site, { url: site.url(path), ...rules }),
    TIMEOUT_MS,
  );
});

describe('the limit', () => {
  it.each([1, 7, 30])(
    'of %i is met exactly, with pages that belong',
    (limit) =>
      withSite(peculiarSite, 2, async (site) => {
        const rules = { url: site.url('/') };
        const job = await api.crawl({ ...rules, limit }, TIMEOUT_MS);
        const rows = await ledger.of(job.id);
        const all = expectCrawl(site, rules).outcomes;
        const counts = countBy(rows.outcomes, ({ outcome }) => outcome);
        expect(job.status).toMatchObject({ status: 'completed', total: limit, completed: limit });
        expect((counts.ok ?? 0) + (counts.failed ?? 0)).toBe(limit);
        expectSoundLedger(job, rows, rows.frontier);
        expect(rows.outcomes.filter(({ url, outcome }) => all.get(url)?.outcome !== outcome)).toEqual([]);
        const ended = new Set(rows.outcomes.map(({ url }) => url));
        expect(rows.frontier.filter((url) => !all.has(url) || ended.has(url))).toEqual([]);
      }),
    TIMEOUT_MS,
  );

  it(
    'above the size of the site changes nothing',
    () =>
      withSite(plainSite({ pages: 120, missingEvery: 10 }), 1, async (site) => {
        await crawlAndCompare(site, { url: site.url('/') }, { limit: 1000 });
      }),
    TIMEOUT_MS,
  );
});

it(
  'a page that several addresses redirect to is returned once',
  () =>
    withSite(
      () => [
        {
          '/': page(Array.from({ length: 12 }, (_, i) => `/r/${i}`)),
          '/target': page(['/after']),
          '/after': page(),
          ...Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`/r/${i}`, redirect('/target')])),
        },
      ],
      1,
      async (site) => {
        const job = await api.crawl({ url: site.url('/'), sitemap: 'skip' }, TIMEOUT_MS);
        const rows = await ledger.of(job.id);
        expect(sorted(job.status.data.map(({ metadata }) => metadata.url))).toEqual(
          sorted(['/', '/target', '/after'].map((path) => site.url(path))),
        );
        expect(countBy(rows.outcomes, ({ outcome }) => outcome)).toEqual({ ok: 3, redirected: 11 });
        expectSoundLedger(job, rows);
      },
    ),
  TIMEOUT_MS,
);

it(
  'pages that a host is too busy for are waited for, and fail when it stays so',
  () =>
    withSite(
      () => [
        {
          '/': page(['/later', '/rate', '/never', '/plain']),
          '/later': { type: 'busy', status: 503, times: 1, page: page(['/after-later']) },
          '/after-later': page(),
          '/rate': { type: 'busy', status: 429, times: 1, retryAfterS: 1, page: page() },
          '/never': { type: 'busy', status: 503, times: 1000, retryAfterS: 1, page: page() },
          '/plain': page(),
        },
      ],
      1,
      (site) => crawlAndCompare(site, { url: site.url('/'), sitemap: 'skip' }),
    ),
  TIMEOUT_MS,
);

it(
  'a host that answers no request fails the crawl, with its reason',
  async () => {
    const site = await startKnownSite(() => [{}]);
    const url = site.url('/');
    await site.stop();
    const job = await api.crawl({ url }, TIMEOUT_MS);
    expect(job.status).toMatchObject({ status: 'failed', error: expect.any(String), total: 1, completed: 1, data: [] });
    expect(job.errors.errors.filter((error) => error.url === url)).toEqual([
      expect.objectContaining({ code: 'SCRAPE_SITE_ERROR' }),
    ]);
  },
  TIMEOUT_MS,
);

it(
  'delay is the least time between two page starts',
  () =>
    withSite(starSite(8), 1, async (site) => {
      await crawlAndCompare(site, { url: site.url('/'), sitemap: 'skip' }, { delay: 0.4 });
      const requests = site.requests(isPageRequest);
      expect(requests).toHaveLength(9);
      // Measured at the far end: the way there may shorten a gap by some ms.
      expect(Math.min(...startGaps(requests))).toBeGreaterThan(340);
      expect(peakInFlight(requests)).toBe(1);
    }),
  TIMEOUT_MS,
);

it(
  'maxConcurrency bounds the pages in flight',
  () =>
    withSite(starSite(30, 60), 1, async (site) => {
      await crawlAndCompare(site, { url: site.url('/'), sitemap: 'skip' }, { maxConcurrency: 2 });
      expect(peakInFlight(site.requests(isPageRequest))).toBe(2);
    }),
  TIMEOUT_MS,
);

it(
  'without it as many are in flight as the host allows',
  () =>
    withSite(starSite(60, 60), 1, async (site) => {
      await crawlAndCompare(site, { url: site.url('/'), sitemap: 'skip' });
      expect(peakInFlight(site.requests(isPageRequest))).toBe(4);
    }),
  TIMEOUT_MS,
);

it(
  'crawl-delay of robots.txt is kept',
  () =>
    withSite(plainSite({ pages: 5, crawlDelayS: 1 }), 1, async (site) => {
      await crawlAndCompare(site, { url: site.url('/') });
      const requests = site.requests(isPageRequest);
      expect(requests).toHaveLength(5);
      expect(Math.min(...startGaps(requests))).toBeGreaterThan(950);
    }),
  TIMEOUT_MS,
);
