/** The official JavaScript client, version 2 of its API, as its users call it; what it hands out is looked at. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { FirecrawlClient, type Document } from 'firecrawl';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  isPageRequest,
  page,
  startKnownSite,
  textOf,
  type HostResources,
  type KnownSite,
  type Resource,
} from '../sites/known-graph/index.js';
import { type RunningCluster } from '../support/cluster.js';
import { CLIENTS_CLUSTER, startStage, type Stage } from '../support/shared-stage.js';
import { CrawlClient, type JobStatus } from './crawl-client.js';

const TIMEOUT_MS = 120_000;
const LEAVES = 20;
const SLOW_LEAVES = 200;
/** A status answer holds 10 MiB at most: so much that there must be a second one. */
const HEAVY_LEAVES = 12;
const HEAVY_PARAGRAPHS = 6000;

let stage: Stage;
let cluster: RunningCluster;
let site: KnownSite;
let client: FirecrawlClient;

const paths = (folder: string, n: number): string[] => Array.from({ length: n }, (_, i) => `/${folder}/${i}`);

function folder(name: string, n: number, leaf: Resource): HostResources {
  return {
    [`/${name}`]: page(paths(name, n)),
    ...Object.fromEntries(paths(name, n).map((path) => [path, leaf])),
  };
}

function build(): HostResources[] {
  return [
    {
      '/': page(['/docs', '/slow', '/heavy', '/trouble']),
      ...folder('docs', LEAVES, page(['/docs'], { paragraphs: 2 })),
      ...folder('slow', SLOW_LEAVES, page([], { delayMs: 150 })),
      ...folder('heavy', HEAVY_LEAVES, page([], { paragraphs: HEAVY_PARAGRAPHS })),
      '/trouble': page(['/trouble/binary', '/trouble/missing', '/trouble/private', '/trouble/fine']),
      '/trouble/binary': { type: 'file', contentType: 'application/octet-stream', body: Buffer.from([0, 1, 2, 3]) },
      '/trouble/private': page(),
      '/trouble/fine': page(),
      '/robots.txt': { type: 'robots', groups: [{ agent: '*', disallow: ['/trouble/private'] }] },
    },
  ];
}

beforeAll(async () => {
  site = await startKnownSite(build);
  stage = await startStage(CLIENTS_CLUSTER);
  ({ cluster } = stage);
  client = new FirecrawlClient({ apiKey: cluster.apiKey, apiUrl: cluster.url });
}, TIMEOUT_MS);

beforeEach(() => site.reset());

afterAll(async () => {
  await stage?.stop();
  await site?.stop();
}, TIMEOUT_MS);

function addressesOf(documents: readonly Document[]): string[] {
  return documents.map(({ metadata }) => metadata?.sourceURL ?? '?').sort();
}

const urls = (list: readonly string[]): string[] => list.map((path) => site.url(path)).sort();

/** Each document holds its own page's words and nobody else's. */
function expectOwnTexts(documents: readonly Document[]): void {
  for (const { markdown, metadata } of documents) {
    expect(markdown).toContain(textOf(new URL(metadata!.sourceURL!).pathname));
    expect(metadata).toMatchObject({ statusCode: 200, contentType: expect.stringContaining('text/html') });
  }
}

describe('scrape', () => {
  it(
    'returns markdown and metadata',
    async () => {
      const document = await client.scrape(site.url('/docs/3'));
      expect(document.markdown).toMatch(/^# Page \/docs\/3\n/);
      expectOwnTexts([document]);
      expect(document.metadata).toMatchObject({
        title: '/docs/3',
        language: 'en',
        sourceURL: site.url('/docs/3'),
        url: site.url('/docs/3'),
      });
      expect(document).not.toHaveProperty('html');
    },
    TIMEOUT_MS,
  );

  it(
    'returns every format that is asked for',
    async () => {
      const document = await client.scrape(site.url('/docs'), {
        formats: ['markdown', 'html', 'rawHtml', 'links'],
        onlyMainContent: false,
      });
      expect(document.links).toEqual(paths('docs', LEAVES).map((path) => site.url(path)));
      expect(document.rawHtml).toContain('<!doctype html>');
      expect(document.html).toContain('<h1>Page /docs</h1>');
      expect(document.markdown).toContain(`[Link 1](${site.url('/docs/0')})`);
    },
    TIMEOUT_MS,
  );

  it(
    'returns an error page with its status',
    async () => {
      const { metadata } = await client.scrape(site.url('/nowhere'));
      expect(metadata).toMatchObject({ statusCode: 404, error: 'Not Found' });
    },
    TIMEOUT_MS,
  );

  it(
    'throws with the code of what went wrong',
    async () => {
      await expect(client.scrape(site.url('/trouble/binary'))).rejects.toMatchObject({
        status: 500,
        code: 'SCRAPE_UNSUPPORTED_FILE_ERROR',
      });
      await expect(client.scrape(site.url('/slow/0'), { waitFor: 70_000 })).rejects.toMatchObject({ status: 400 });
      const stranger = new FirecrawlClient({ apiKey: 'fc-nobody', apiUrl: cluster.url });
      await expect(stranger.scrape(site.url('/docs/1'))).rejects.toMatchObject({ status: 401 });
    },
    TIMEOUT_MS,
  );
});

describe('batch scrape', () => {
  it(
    'the waiter returns every address once',
    async () => {
      const wanted = paths('docs', LEAVES);
      const job = await client.batchScrape(urls(wanted), { options: { formats: ['markdown'] }, pollInterval: 1 });
      expect(job).toMatchObject({ status: 'completed', total: LEAVES, completed: LEAVES, creditsUsed: LEAVES });
      expect(addressesOf(job.data)).toEqual(urls(wanted));
      expectOwnTexts(job.data);
    },
    TIMEOUT_MS,
  );

  it(
    'start and status lead to the same',
    async () => {
      const wanted = paths('docs', 5);
      const { id, invalidURLs } = await client.startBatchScrape([...urls(wanted), 'not a url'], {
        ignoreInvalidURLs: true,
      });
      expect(invalidURLs).toEqual(['not a url']);
      let job = await client.getBatchScrapeStatus(id, { autoPaginate: false });
      for (; job.status === 'scraping'; job = await client.getBatchScrapeStatus(id, { autoPaginate: false })) {
        expect(job.completed).toBeLessThanOrEqual(job.total);
        await sleep(100);
      }
      expect(job).toMatchObject({ id, status: 'completed', total: 5, completed: 5 });
      expect(addressesOf(job.data)).toEqual(urls(wanted));
    },
    TIMEOUT_MS,
  );

  it(
    'lists what failed',
    async () => {
      const job = await client.batchScrape(urls(['/trouble/binary', '/trouble/fine']), { pollInterval: 1 });
      expect(job).toMatchObject({ status: 'completed', total: 2, completed: 2 });
      expect(addressesOf(job.data)).toEqual(urls(['/trouble/fine']));
      const { errors, robotsBlocked } = await client.getBatchScrapeErrors(job.id);
      expect(errors).toEqual([
        expect.objectContaining({
          url: site.url('/trouble/binary'),
          code: 'SCRAPE_UNSUPPORTED_FILE_ERROR',
          id: expect.any(String),
          error: expect.stringMatching(/octet-stream/),
        }),
      ]);
      expect(robotsBlocked).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'cancel ends it for good',
    async () => {
      const { id } = await client.startBatchScrape(urls(paths('slow', SLOW_LEAVES)));
      await untilAsked(3);
      expect(await client.cancelBatchScrape(id)).toBe(true);
      await expectNothingMoreAsked();
      const job = await client.getBatchScrapeStatus(id);
      expect(job.status).toBe('cancelled');
      expect(job.data.length).toBeLessThan(SLOW_LEAVES);
    },
    TIMEOUT_MS,
  );
});

async function untilAsked(n: number): Promise<void> {
  for (let tries = 0; site.requests(isPageRequest).length < n; tries++) {
    if (tries > 600) throw new Error(`the site was not asked ${n} times`);
    await sleep(50);
  }
}

async function expectNothingMoreAsked(): Promise<void> {
  await sleep(1000);
  const asked = site.requests(isPageRequest).length;
  await sleep(1000);
  expect(site.requests(isPageRequest)).toHaveLength(asked);
}

describe('crawl', () => {
  const DOCS = ['/docs', ...paths('docs', LEAVES)];

  it(
    'the waiter returns every page once',
    async () => {
      const job = await client.crawl(site.url('/docs'), { sitemap: 'skip', pollInterval: 1 });
      expect(job).toMatchObject({
        status: 'completed',
        total: DOCS.length,
        completed: DOCS.length,
        creditsUsed: DOCS.length,
      });
      expect(addressesOf(job.data)).toEqual(urls(DOCS));
      expectOwnTexts(job.data);
    },
    TIMEOUT_MS,
  );

  it(
    'honours its options',
    async () => {
      const job = await client.crawl(site.url('/docs'), {
        limit: 4,
        includePaths: ['^/docs/1'],
        scrapeOptions: { formats: ['rawHtml', 'links'], onlyMainContent: false },
        pollInterval: 1,
      });
      expect(job).toMatchObject({ status: 'completed', total: 4, completed: 4 });
      const places = addressesOf(job.data).map((url) => new URL(url).pathname);
      expect(places.filter((path) => path !== '/docs' && !path.startsWith('/docs/1'))).toEqual([]);
      expect(job.data.every(({ rawHtml, markdown }) => rawHtml !== undefined && markdown === undefined)).toBe(true);
    },
    TIMEOUT_MS,
  );

  it(
    'pages of three by hand give what the client collects by itself',
    async () => {
      const { id } = await client.startCrawl(site.url('/docs'), { sitemap: 'skip' });
      await untilEnded(id);
      const whole = await client.getCrawlStatus(id);
      const api = new CrawlClient(cluster);
      const collected: string[] = [];
      const sizes: number[] = [];
      let next: string | undefined = `/v2/crawl/${id}?limit=3`;
      while (next !== undefined) {
        const part: JobStatus = await api.get(next);
        expect(part).toMatchObject({ status: 'completed', total: DOCS.length, completed: DOCS.length });
        collected.push(...part.data.map(({ metadata }) => metadata.sourceURL));
        sizes.push(part.data.length);
        if (part.next !== undefined) expect(new URL(part.next).searchParams.get('skip')).toBe(String(collected.length));
        next = part.next;
      }
      expect(collected).toEqual(whole.data.map(({ metadata }) => metadata?.sourceURL));
      expect(sizes).toEqual(Array.from({ length: DOCS.length / 3 }, () => 3));
    },
    TIMEOUT_MS,
  );

  it(
    'follows next through results of more than 10 MiB, unless it is told not to',
    async () => {
      const { id } = await client.startCrawl(site.url('/heavy'), { sitemap: 'skip' });
      await untilEnded(id);
      const heavy = ['/heavy', ...paths('heavy', HEAVY_LEAVES)];
      const first = await client.getCrawlStatus(id, { autoPaginate: false });
      expect(first.data.length).toBeLessThan(heavy.length);
      expect(first.next).toContain(`/v2/crawl/${id}`);
      const some = await client.getCrawlStatus(id, { maxResults: 2 });
      expect(some.data.length).toBeLessThanOrEqual(first.data.length);
      const all = await client.getCrawlStatus(id);
      expect(addressesOf(all.data)).toEqual(urls(heavy));
      expectOwnTexts(all.data);
    },
    TIMEOUT_MS,
  );

  it(
    'lists errors and what robots.txt forbids',
    async () => {
      const job = await client.crawl(site.url('/trouble'), { sitemap: 'skip', pollInterval: 1 });
      expect(job).toMatchObject({ status: 'completed', total: 4, completed: 4 });
      expect(addressesOf(job.data)).toEqual(urls(['/trouble', '/trouble/missing', '/trouble/fine']));
      const { errors, robotsBlocked } = await client.getCrawlErrors(job.id);
      expect(errors.map(({ url, code }) => ({ url, code }))).toEqual([
        { url: site.url('/trouble/binary'), code: 'SCRAPE_UNSUPPORTED_FILE_ERROR' },
      ]);
      expect(robotsBlocked).toEqual([site.url('/trouble/private')]);
      expect(site.requests(({ path }) => path === '/trouble/private')).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'is among the active crawls until it is cancelled',
    async () => {
      const { id } = await client.startCrawl(site.url('/slow'), { sitemap: 'skip', limit: 150 });
      const { crawls } = await client.getActiveCrawls();
      expect(crawls.filter((crawl) => crawl.id === id)).toEqual([
        expect.objectContaining({
          url: site.url('/slow'),
          teamId: expect.any(String),
          options: expect.objectContaining({ limit: 150 }),
        }),
      ]);
      await untilAsked(5);
      expect(await client.cancelCrawl(id)).toBe(true);
      await expectNothingMoreAsked();
      const job = await client.getCrawlStatus(id);
      expect(job.status).toBe('cancelled');
      expectOwnTexts(job.data);
      expect((await client.getActiveCrawls()).crawls.map((crawl) => crawl.id)).not.toContain(id);
    },
    TIMEOUT_MS,
  );

  async function untilEnded(id: string): Promise<void> {
    await new CrawlClient(cluster).waitForEnd(id, TIMEOUT_MS);
  }
});

describe('map', () => {
  it(
    'lists the links of a site',
    async () => {
      const { links } = await client.map(site.url('/docs'), { sitemap: 'skip' });
      expect(links.map(({ url }) => url).sort()).toEqual(urls(['/docs', ...paths('docs', LEAVES)]));
    },
    TIMEOUT_MS,
  );

  it(
    'puts what is searched for first, and keeps to its limit',
    async () => {
      const { links } = await client.map(site.url('/docs'), { sitemap: 'skip', search: 'docs/1', limit: 4 });
      expect(links).toHaveLength(4);
      expect(links[0]?.url).toBe(site.url('/docs/1'));
      expect(links.filter(({ url }) => !url.includes('/docs/1'))).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
