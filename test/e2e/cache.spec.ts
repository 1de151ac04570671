/** The cache of pages through the whole cluster: who is served from it, and what reaches the site. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startSite, type Site } from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';

const SETUP_TIMEOUT_MS = 120_000;
const TEST_TIMEOUT_MS = 30_000;
/** Pages are stored a moment after they are answered; scrapes have them at once, jobs, maps and questions to a site do not. */
const STORE_TIMEOUT_MS = 10_000;

interface Page {
  markdown?: string;
  html?: string;
  links?: string[];
  metadata: { statusCode: number; url: string; cacheState?: string; cachedAt?: string; creditsUsed: number };
}

let site: Site;
let cluster: TestCluster;
let api: ApiClient;
let other: ApiClient;
let pool: pg.Pool;

const html = (title: string, rest = '') =>
  `<!doctype html><html><head><title>${title}</title></head><body><nav><a href="/nav">Menu</a></nav><main><h1>${title}</h1>
   <p>Enough words for a page that somebody would want to read again.</p>${rest}</main></body></html>`;

beforeAll(async () => {
  site = await startSite((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site.test');
    if (pathname === '/robots.txt') return void response.writeHead(404).end();
    if (pathname.startsWith('/missing')) return void response.writeHead(404).end(html('Missing'));
    if (pathname.startsWith('/moved')) return void response.writeHead(302, { location: '/target' }).end();
    const headers: Record<string, string> = { 'content-type': 'text/html' };
    if (pathname.startsWith('/tagged')) {
      headers.etag = `"tag of ${pathname}"`;
      if (request.headers['if-none-match'] === headers.etag) return void response.writeHead(304, headers).end();
    }
    const links = [1, 2, 3, 4].map((n) => `<a href="/crawl/${n}">page ${n}</a>`).join(' ');
    response.writeHead(200, headers).end(html(`Page ${pathname}`, pathname.startsWith('/crawl') ? links : ''));
  });
  cluster = await startCluster({
    env: {
      ALLOW_PRIVATE_TARGETS: '127.0.0.1',
      HOST_GAP_MS: '0',
      CACHE_MAX_MB: '64',
      TROUPE_BOOTSTRAP_KEYS: 'first:key-of-the-first-team,second:key-of-the-second-team',
    },
  });
  api = new ApiClient(cluster.url, 'key-of-the-first-team');
  other = new ApiClient(cluster.url, 'key-of-the-second-team');
  pool = new pg.Pool({ connectionString: (await cluster.record()).postgres, max: 1 });
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await pool?.end();
  await cluster?.stop();
  await site?.close();
}, SETUP_TIMEOUT_MS);

beforeEach(() => void (site.log.length = 0));

const asked = (path: string) => site.log.filter((line) => line === `GET ${path}`).length;

async function scrape(path: string, options: object = {}, client = api): Promise<Page> {
  const { status, body, text } = await client.post('/v2/scrape', { url: site.origin + path, ...options });
  if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`);
  return body.data as Page;
}

/** As soon as it is stored, for everybody. */
async function scrapeStored(path: string, options: object = {}): Promise<Page> {
  const page = await scrape(path, options);
  const deadlineMs = performance.now() + STORE_TIMEOUT_MS;
  const isStored = async () =>
    (await pool.query('SELECT FROM page_cache WHERE url = $1', [site.origin + path])).rowCount! > 0;
  while (!(await isStored())) {
    if (performance.now() > deadlineMs) throw new Error(`${path} was not stored in time`);
    await sleep(50);
  }
  return page;
}

describe('a map', () => {
  it(
    'lists the pages that its team has seen, linked or not',
    async () => {
      await scrapeStored('/island');
      const mapped = async (client: ApiClient) => {
        const { body } = await client.post('/v2/map', { url: site.origin });
        return (body.links as { url: string }[]).map(({ url }) => url);
      };
      expect(await mapped(api)).toContain(`${site.origin}/island`);
      expect(await mapped(other)).not.toContain(`${site.origin}/island`);
    },
    TEST_TIMEOUT_MS,
  );
});

describe('a page that was scraped before', () => {
  it(
    'is served without a request, says so, and costs the same',
    async () => {
      const first = await scrape('/again');
      expect(first.metadata).toMatchObject({ cacheState: 'miss', statusCode: 200, creditsUsed: 1 });
      expect(first.metadata.cachedAt).toBeUndefined();
      const second = await scrapeStored('/again');
      const requests = asked('/again');
      const third = await scrape('/again');
      expect(asked('/again')).toBe(requests);
      expect(third.markdown).toBe(first.markdown);
      expect(third.metadata).toMatchObject({ cacheState: 'hit', statusCode: 200, creditsUsed: 1 });
      expect(third.metadata.cachedAt).toBe(second.metadata.cachedAt);
      expect(Math.abs(Date.parse(third.metadata.cachedAt!) - Date.now())).toBeLessThan(60_000);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'gives every format that is asked for, whatever was asked for first',
    async () => {
      await scrape('/formats', { formats: ['markdown'] });
      await scrapeStored('/formats', { formats: ['markdown'] });
      const page = await scrape('/formats', { formats: ['html', 'links'], onlyMainContent: false });
      expect(page.metadata.cacheState).toBe('hit');
      expect(page.html).toContain('<h1>Page /formats</h1>');
      expect(page.links).toEqual([`${site.origin}/nav`]);
      expect(page.markdown).toBeUndefined();
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'keeps where its redirects led',
    async () => {
      await scrape('/moved');
      const page = await scrapeStored('/moved');
      expect(page.metadata).toMatchObject({ cacheState: 'hit', url: `${site.origin}/target` });
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'is fetched again when it is too old, or when the cache may not be read',
    async () => {
      await scrape('/fresh');
      await scrapeStored('/fresh');
      for (const options of [{ maxAge: 0 }, { maxAge: 1 }, { headers: { 'x-a': 'b' } }, { waitFor: 1 }]) {
        site.log.length = 0;
        const { metadata } = await scrape('/fresh', options);
        expect(metadata.cacheState).not.toBe('hit');
        expect(asked('/fresh')).toBe(1);
      }
      expect((await scrape('/fresh', { maxAge: 0 })).metadata.cacheState).toBeUndefined();
      expect((await scrape('/fresh', { maxAge: 1 })).metadata.cacheState).toBe('miss');
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'is not served to another team',
    async () => {
      await scrape('/private');
      await scrapeStored('/private');
      expect((await scrape('/private', {}, other)).metadata.cacheState).toBe('miss');
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'is read from the cache by requests that do not store',
    async () => {
      await scrape('/unstored', { storeInCache: false });
      await sleep(1000);
      expect((await scrape('/unstored', { storeInCache: false })).metadata.cacheState).toBe('miss');
      await scrape('/unstored');
      await scrapeStored('/unstored');
      expect((await scrape('/unstored', { storeInCache: false })).metadata.cacheState).toBe('hit');
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'is fetched again when its site answered with an error',
    async () => {
      await scrape('/missing');
      await sleep(1000);
      expect((await scrape('/missing')).metadata).toMatchObject({ cacheState: 'miss', statusCode: 404 });
      expect(asked('/missing')).toBe(2);
    },
    TEST_TIMEOUT_MS,
  );
});

describe('a page that its site has tagged', () => {
  it(
    'is asked for by its tag when it is too old, and served from the cache when nothing changed',
    async () => {
      const first = await scrape('/tagged/a');
      await scrapeStored('/tagged/a');
      site.log.length = 0;
      site.headers.length = 0;
      const confirmed = await scrape('/tagged/a', { maxAge: 1 });
      expect(site.log).toEqual(['GET /tagged/a']);
      expect(site.headers[0]!['if-none-match']).toBe('"tag of /tagged/a"');
      expect(confirmed.markdown).toBe(first.markdown);
      expect(confirmed.metadata).toMatchObject({ cacheState: 'miss', statusCode: 200 });
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'is young again after that',
    async () => {
      await scrape('/tagged/b');
      const old = await scrapeStored('/tagged/b');
      await sleep(20);
      await scrape('/tagged/b', { maxAge: 1 });
      await sleep(1000);
      const renewed = await scrape('/tagged/b');
      expect(renewed.metadata.cacheState).toBe('hit');
      expect(Date.parse(renewed.metadata.cachedAt!)).toBeGreaterThan(Date.parse(old.metadata.cachedAt!));
    },
    TEST_TIMEOUT_MS,
  );
});

describe('minAge', () => {
  it(
    'never reaches the site',
    async () => {
      const missed = await api.post('/v2/scrape', { url: `${site.origin}/only`, minAge: 1 });
      expect({ status: missed.status, code: missed.body.code }).toEqual({ status: 404, code: 'SCRAPE_NO_CACHED_DATA' });
      expect(asked('/only')).toBe(0);
      await scrape('/only');
      await sleep(5);
      site.log.length = 0;
      expect((await scrape('/only', { minAge: 1 })).metadata.cacheState).toBe('hit');
      const young = await api.post('/v2/scrape', { url: `${site.origin}/only`, minAge: 3_600_000 });
      expect(young.body.code).toBe('SCRAPE_NO_CACHED_DATA');
      expect(site.log).toEqual([]);
    },
    TEST_TIMEOUT_MS,
  );
});

describe('a job', () => {
  it(
    'that crawls the same pages again asks its site for nothing but its rules',
    async () => {
      const options = { url: `${site.origin}/crawl`, sitemap: 'skip', limit: 10 };
      const crawl = async () => {
        const { body } = await api.post('/v2/crawl', options);
        return api.finished<{ data: Page[]; creditsUsed: number }>(`/v2/crawl/${body.id as string}`);
      };
      const first = await crawl();
      expect(first.data).toHaveLength(5);
      expect(first.data.map(({ metadata }) => metadata.cacheState)).toEqual(Array(5).fill('miss'));
      await sleep(1500);
      site.log.length = 0;
      const second = await crawl();
      expect(second.data.map(({ metadata }) => metadata.cacheState)).toEqual(Array(5).fill('hit'));
      expect(second.creditsUsed).toBe(5);
      expect(site.log.filter((line) => line !== 'GET /robots.txt')).toEqual([]);
      const text = ({ markdown, metadata }: Page) => `${metadata.url} ${markdown}`;
      expect(second.data.map(text).sort()).toEqual(first.data.map(text).sort());
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'takes from the cache what it finds there and fetches the rest',
    async () => {
      await scrape('/batch/known');
      await scrapeStored('/batch/known');
      site.log.length = 0;
      const urls = ['/batch/known', '/batch/new'].map((path) => site.origin + path);
      const { body } = await api.post('/v2/batch/scrape', { urls });
      const { data } = await api.finished<{ data: Page[] }>(`/v2/batch/scrape/${body.id as string}`);
      const states = new Map(data.map(({ metadata }) => [new URL(metadata.url).pathname, metadata.cacheState]));
      expect(Object.fromEntries(states)).toEqual({ '/batch/known': 'hit', '/batch/new': 'miss' });
      expect(site.log).toEqual(['GET /batch/new']);
    },
    TEST_TIMEOUT_MS,
  );
});
