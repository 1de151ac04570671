/** Pages of the cache that are too old: what their site is asked, and what its answer is good for. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { browsersHere, type Site, startSite } from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';

const SETUP_TIMEOUT_MS = 180_000;
const TEST_TIMEOUT_MS = 120_000;
const PAGES = 60;
const withBrowser = browsersHere === null ? describe.skip : describe;

interface Page {
  markdown: string;
  metadata: { url: string; statusCode: number; cacheState?: string; cachedAt?: string };
}
interface Ledger {
  counts: Record<string, number>;
  discovered: number;
  revalidated: number;
  urls: { url: string; outcome: string; rule?: string; revalidated?: boolean }[];
}

let site: Site;
let cluster: TestCluster;
let api: ApiClient;
/** Status of each answer, by path. */
let answers: { path: string; status: number }[];
let edition: number;

beforeAll(async () => {
  answers = [];
  edition = 1;
  site = await startSite((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site.test');
    const page = pageOf(pathname);
    const { headers } = page;
    const isUnchanged =
      (headers.etag !== undefined && request.headers['if-none-match'] === headers.etag) ||
      (headers['last-modified'] !== undefined && request.headers['if-modified-since'] === headers['last-modified']);
    const status = pathname === '/robots.txt' ? 404 : isUnchanged ? 304 : 200;
    answers.push({ path: pathname, status });
    response.writeHead(status, headers).end(status === 200 ? page.html : undefined);
  });
  cluster = await startCluster({
    env: { ALLOW_PRIVATE_TARGETS: '127.0.0.1', HOST_GAP_MS: '0', CACHE_MAX_MB: '64' },
  });
  api = new ApiClient(cluster.url, cluster.apiKey);
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await cluster?.stop();
  await site?.close();
}, SETUP_TIMEOUT_MS);

beforeEach(() => void (answers.length = 0));

/** Every other page has a tag, the others a date. */
function pageOf(pathname: string): { html: string; headers: Record<string, string> } {
  const number = Number(/\d+/.exec(pathname)?.[0] ?? 0);
  const version = pathname.startsWith('/app') ? edition : 1;
  const validators: Record<string, string> =
    number % 2 === 0 ? { etag: `"${pathname} ${version}"` } : { 'last-modified': 'Sun, 22 Nov 2026 10:00:00 GMT' };
  const links = Array.from({ length: PAGES - 1 }, (_, i) => `<a href="/site/${i + 1}">page ${i + 1}</a>`).join(' ');
  const text = `<h1>Page ${pathname}</h1><p>Enough words for a page, number ${number}.</p>${pathname === '/site' ? links : ''}`;
  const html = pathname.startsWith('/app')
    ? `<!doctype html><title>App</title><div id="root"></div><script>
       document.getElementById('root').innerHTML = '<h1>Edition ${version}</h1><p>Written by a script, with enough words.</p>'</script>`
    : `<!doctype html><title>Page</title><main>${text}</main>`;
  return { html, headers: { 'content-type': 'text/html', ...validators } };
}

const statusesOf = (prefix: string) =>
  answers.filter(({ path }) => path.startsWith(prefix)).map(({ status }) => status);

async function crawl(version: 'v1' | 'v2', options: object): Promise<{ id: string; data: Page[] }> {
  const { body } = await api.post(`/${version}/crawl`, { url: `${site.origin}/site`, limit: PAGES, ...options });
  const id = body.id as string;
  const { data } = await api.finished<{ data: Page[] }>(`/${version}/crawl/${id}`);
  return { id, data };
}

const textsOf = ({ data }: { data: Page[] }) =>
  data.map(({ markdown, metadata }) => `${metadata.url} ${metadata.statusCode} ${markdown}`).sort();

describe('a site that has not changed', () => {
  it(
    'answers the second crawl with 304 only, which finds the same documents and says so in its ledger',
    async () => {
      const first = await crawl('v2', { sitemap: 'skip' });
      expect(first.data).toHaveLength(PAGES);
      expect(statusesOf('/site')).toEqual(Array(PAGES).fill(200));
      await sleep(2_000);
      answers.length = 0;
      const second = await crawl('v2', { sitemap: 'skip', scrapeOptions: { maxAge: 1 } });
      const statuses = statusesOf('/site');
      expect(statuses.filter((status) => status === 304).length / statuses.length).toBeGreaterThanOrEqual(0.95);
      expect(textsOf(second)).toEqual(textsOf(first));
      const { body } = await api.call(`/v2/crawl/${second.id}/ledger`);
      const { counts, discovered, revalidated, urls } = body as unknown as Ledger;
      expect({ counts, discovered }).toEqual({ counts: { ok: PAGES }, discovered: PAGES });
      expect(revalidated).toBe(statuses.filter((status) => status === 304).length);
      expect(urls.filter((entry) => entry.revalidated === true && entry.rule === undefined)).toHaveLength(revalidated);
      const earlier = (await api.call(`/v2/crawl/${first.id}/ledger`)).body as unknown as Ledger;
      expect(earlier.revalidated).toBe(0);
      expect(earlier.urls.some((entry) => 'revalidated' in entry)).toBe(false);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'answers crawls of v1 in the same way, and is young again after that',
    async () => {
      const first = await crawl('v1', { ignoreSitemap: true });
      expect(first.data).toHaveLength(PAGES);
      await sleep(15_000);
      answers.length = 0;
      const second = await crawl('v1', { ignoreSitemap: true, scrapeOptions: { maxAge: 10_000 } });
      const statuses = statusesOf('/site');
      expect(statuses.filter((status) => status === 304).length / statuses.length).toBeGreaterThanOrEqual(0.95);
      expect(textsOf(second)).toEqual(textsOf(first));
      await sleep(2_000);
      answers.length = 0;
      const third = await crawl('v1', { ignoreSitemap: true, scrapeOptions: { maxAge: 14_000 } });
      expect(new Set(third.data.map(({ metadata }) => metadata.cacheState))).toEqual(new Set(['hit']));
      expect(statusesOf('/site')).toEqual([]);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'is asked once by scrapes that come together',
    async () => {
      await api.post('/v2/scrape', { url: `${site.origin}/alone/2` });
      await sleep(7_000);
      answers.length = 0;
      const pages = await Promise.all(
        Array.from({ length: 5 }, () => api.post('/v2/scrape', { url: `${site.origin}/alone/2`, maxAge: 5_000 })),
      );
      expect(statusesOf('/alone')).toEqual([304]);
      const states = pages.map(({ body }) => (body.data as Page).metadata.cacheState).sort();
      expect(states).toEqual(['hit', 'hit', 'hit', 'hit', 'miss']);
    },
    TEST_TIMEOUT_MS,
  );
});

withBrowser('a page that scripts have made', () => {
  const scrape = async (options: object): Promise<Page> => {
    const { status, body, text } = await api.post('/v2/scrape', {
      url: `${site.origin}/app`,
      waitFor: 200,
      timeout: 60_000,
      ...options,
    });
    if (status !== 200) throw new Error(text);
    return body.data as Page;
  };

  it(
    'is taken for unchanged when its source is, for those who say so',
    async () => {
      await scrape({});
      await sleep(7_000);
      answers.length = 0;
      const kept = await scrape({ maxAge: 1, revalidate: 'source' });
      expect(statusesOf('/app')).toEqual([304]);
      expect(kept.markdown).toContain('Edition 1');
      expect(kept.metadata).toMatchObject({ statusCode: 200, cacheState: 'miss' });
      answers.length = 0;
      await sleep(7_000);
      await scrape({ maxAge: 1 });
      expect(statusesOf('/app')).toEqual([200]);
      await sleep(7_000);
      edition = 2;
      answers.length = 0;
      const changed = await scrape({ maxAge: 1, revalidate: 'source' });
      expect(changed.markdown).toContain('Edition 2');
      expect(statusesOf('/app')).toEqual([200, 200]);
    },
    TEST_TIMEOUT_MS,
  );
});
