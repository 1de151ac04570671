/** Acceptance of searches: a SearXNG-compatible provider, results scraped by the cluster, errors of the provider. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { FirecrawlClient } from 'firecrawl';
import pg from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { startDns, startSite, type DnsServer, type Site } from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { startSearxng, type Indexed, type SearxngServer } from '../support/searxng-server.js';

const SETUP_TIMEOUT_MS = 120_000;

let site: Site;
let dns: DnsServer;
let searxng: SearxngServer;
let cluster: TestCluster;
let api: ApiClient;

type Item = Record<string, unknown> & { url: string; metadata?: Record<string, unknown> };

const at = (path: string) => `http://pages.test:${site.port}${path}`;

function corpus(): Indexed[] {
  const page = (n: number): Indexed => ({
    url: at(`/page/${n}`),
    title: `Troupe page ${n}`,
    content: `About troupe ${n}`,
    category: 'general',
  });
  return [
    ...Array.from({ length: 25 }, (_, n) => page(n)),
    { url: 'http://10.1.2.3/', title: 'Inner', content: 'forbidden fruit', category: 'general' },
    { url: 'http://no-such-host.test/', title: 'Gone', content: 'lost fruit', category: 'general' },
    { url: at('/fruit'), title: 'Fruit', content: 'a fruit', category: 'general' },
    { url: 'https://github.com/troupe/troupe', title: 'troupe code', content: '', category: 'general' },
    { url: at('/news'), title: 'Troupe news', content: 'New', category: 'news', publishedDate: '2026-11-01T00:00:00' },
    {
      url: at('/gallery'),
      title: 'Troupe picture',
      content: '',
      category: 'images',
      img_src: at('/picture.png'),
      resolution: '800x600',
    },
  ];
}

async function search(body: object) {
  const answer = await api.post('/v2/search', body);
  const data = (answer.body.data ?? {}) as Record<string, Item[]>;
  return { ...answer, data, web: data.web ?? [] };
}

beforeAll(async () => {
  site = await startSite((request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(
      `<html><head><title>T</title></head><body><main><h1>At ${request.url}</h1><p>Words of it.</p></main></body></html>`,
    );
  });
  searxng = await startSearxng(corpus);
  dns = await startDns({ 'pages.test': ['127.0.0.1'] });
  cluster = await startCluster({
    env: {
      ALLOW_PRIVATE_TARGETS: `127.0.0.1:${site.port}`,
      DNS_SERVERS: dns.address,
      SEARXNG_ENDPOINT: searxng.url,
    },
  });
  api = new ApiClient(cluster.url, cluster.apiKey);
}, SETUP_TIMEOUT_MS);

afterEach(() => {
  searxng.mood = 'well';
});

afterAll(async () => {
  await cluster?.stop();
  await searxng?.close();
  dns?.close();
  await site?.close();
}, SETUP_TIMEOUT_MS);

describe('a search', () => {
  it('answers with positions, an id and its price', async () => {
    const { status, body, web } = await search({ query: 'troupe', limit: 12 });
    expect(status).toBe(200);
    expect(body).toEqual({
      success: true,
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      creditsUsed: 4,
      data: { web: expect.any(Array) },
    });
    expect(web.map(({ position }) => position)).toEqual(Array.from({ length: 12 }, (_, n) => n + 1));
    expect(web[0]).toEqual({ url: at('/page/0'), title: 'Troupe page 0', description: 'About troupe 0', position: 1 });
  });

  it('asks the sources that were named, and tells the provider its words', async () => {
    const { data } = await search({
      query: 'troupe',
      sources: ['news', { type: 'images' }],
      tbs: 'qdr:m',
      lang: 'de',
      country: 'at',
    });
    expect(Object.keys(data)).toEqual(['news', 'images']);
    expect(data.news).toEqual([
      { title: 'Troupe news', url: at('/news'), snippet: 'New', date: '2026-11-01T00:00:00', position: 1 },
    ]);
    expect(data.images).toEqual([
      {
        title: 'Troupe picture',
        imageUrl: at('/picture.png'),
        imageWidth: 800,
        imageHeight: 600,
        url: at('/gallery'),
        position: 1,
      },
    ]);
    const told = Object.fromEntries(searxng.queries.at(-1)!);
    expect(told).toMatchObject({ q: 'troupe', language: 'de-AT', time_range: 'month', format: 'json' });
  });

  it('tells the provider whether everybody may see the results', async () => {
    await search({ query: 'troupe', safe: true });
    expect(searxng.queries.at(-1)!.get('safesearch')).toBe('2');
    await search({ query: 'troupe' });
    expect(searxng.queries.at(-1)!.get('safesearch')).toBe('0');
  });

  it('keeps to domains and categories', async () => {
    expect((await search({ query: 'troupe', categories: ['developer'] })).web).toEqual([
      expect.objectContaining({ url: 'https://github.com/troupe/troupe', category: 'developer' }),
    ]);
    expect((await search({ query: 'troupe', categories: ['github'] })).web).toEqual([
      expect.objectContaining({ url: 'https://github.com/troupe/troupe', category: 'github' }),
    ]);
    expect((await search({ query: 'troupe', excludeDomains: ['pages.test'] })).web).toHaveLength(1);
    expect((await search({ query: 'troupe', includeDomains: ['github.com'] })).web).toHaveLength(1);
  });

  it('has no results for words that nobody wrote, for nothing', async () => {
    expect((await search({ query: 'zzz' })).body).toMatchObject({ success: true, creditsUsed: 0, data: { web: [] } });
  });

  it('scrapes its results and bills everything once', async () => {
    const { body, web } = await search({ query: 'troupe', limit: 5, scrapeOptions: { formats: ['markdown'] } });
    expect(body.creditsUsed).toBe(2 + 5);
    for (const [n, item] of web.entries()) {
      expect(item).toMatchObject({ url: at(`/page/${n}`), title: `Troupe page ${n}`, position: n + 1 });
      expect(item.markdown).toContain(`At /page/${n}`);
      expect(item.metadata).toMatchObject({ statusCode: 200, sourceURL: at(`/page/${n}`), creditsUsed: 1 });
    }
    const ids = [body.id as string, ...web.map(({ metadata }) => metadata!.scrapeId as string)];
    for (let tries = 0; tries < 50 && (await bills(ids)).length < ids.length; tries++) await sleep(100);
    expect((await bills(ids)).sort()).toEqual([1, 1, 1, 1, 1, 2]);
  });

  it('keeps results that cannot be scraped without any key of a document', async () => {
    const { web, body } = await search({ query: 'fruit', scrapeOptions: { formats: ['markdown', 'links'] } });
    expect(web.map((item) => [item.title, Object.keys(item).length])).toEqual([
      ['Inner', 4],
      ['Gone', 4],
      ['Fruit', expect.any(Number)],
    ]);
    expect(web[0]).toEqual({
      url: 'http://10.1.2.3/',
      title: 'Inner',
      description: 'forbidden fruit',
      position: 1,
    });
    expect(web[2]).toMatchObject({ markdown: expect.any(String), metadata: { statusCode: 200 } });
    const failures = [
      { url: 'http://10.1.2.3/', code: 'SCRAPE_TARGET_FORBIDDEN', error: expect.any(String) },
      { url: 'http://no-such-host.test/', code: 'SCRAPE_DNS_RESOLUTION_ERROR', error: expect.any(String) },
    ];
    expect(body).toMatchObject({
      errors: expect.arrayContaining(failures),
      warning: expect.stringMatching(/^2 pages/),
    });
    const { web: legal } = await search({ query: 'fruit', ignoreInvalidURLs: true });
    expect(legal.map(({ title }) => title)).toEqual(['Gone', 'Fruit']);
  });

  it('answers provider errors with a code and never with 502', async () => {
    for (const mood of ['no-json', 'limited', 'broken', 'garbage'] as const) {
      searxng.mood = mood;
      const { status, body } = await search({ query: 'troupe' });
      expect({ status, body }).toEqual({
        status: 500,
        body: { success: false, code: 'SEARCH_FAILED', error: expect.stringContaining('search provider') },
      });
      expect(String(body.error)).not.toContain('127.0.0.1');
    }
    searxng.mood = 'silent';
    expect(await search({ query: 'troupe', timeout: 500 })).toMatchObject({
      status: 408,
      body: { code: 'SCRAPE_TIMEOUT' },
    });
    searxng.mood = 'engines-down';
    expect((await search({ query: 'troupe' })).body.warning).toContain('google');
  });

  it('is a flat list of the web in v1', async () => {
    const plain = await api.post('/v1/search', { query: 'troupe', limit: 2 });
    expect(plain).toMatchObject({ status: 200 });
    expect(plain.body).toEqual({
      success: true,
      data: [0, 1].map((n) => ({ url: at(`/page/${n}`), title: `Troupe page ${n}`, description: `About troupe ${n}` })),
    });
    const scraped = await api.post('/v1/search', {
      query: 'troupe',
      limit: 1,
      scrapeOptions: { formats: ['markdown'] },
    });
    expect((scraped.body.data as Item[])[0]).toMatchObject({ title: 'Troupe page 0', markdown: expect.any(String) });
  });

  it('serves the official client', async () => {
    const client = new FirecrawlClient({ apiUrl: cluster.url, apiKey: cluster.apiKey });
    const found = await client.search('troupe', { limit: 2, sources: ['web', 'news'] });
    expect(found.web).toHaveLength(2);
    expect(found.news).toHaveLength(1);
    const scraped = await client.search('troupe', { limit: 1, scrapeOptions: { formats: ['markdown'] } });
    expect(scraped.web![0]).toHaveProperty('markdown');
  });
});

/** Credits of the calls that were billed under these ids. */
async function bills(ids: string[]): Promise<number[]> {
  const { postgres } = await cluster.record();
  const client = new pg.Client({ connectionString: postgres });
  await client.connect();
  try {
    const { rows } = await client.query<{ credits: number }>('SELECT credits FROM scrape_log WHERE id = ANY($1)', [
      ids,
    ]);
    return rows.map(({ credits }) => credits);
  } finally {
    await client.end();
  }
}
