/** The official JavaScript client in its version 1, as old programs call it (`new Firecrawl(…).v1`). */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Firecrawl, { type FirecrawlAppV1 } from 'firecrawl';
import { WebSocket } from 'ws';
import { startSite, type Site } from '@troupe/testing';
import { CLIENTS_CLUSTER, startStage, type Stage } from '../support/shared-stage.js';

const TIMEOUT_MS = 120_000;
const POLL_S = 2;
const LEAVES = 30;
/** The watcher is there by then. */
const SLOW_MS = 1_000;
const HTML = { 'content-type': 'text/html' };

let site: Site;
let stage: Stage;
let client: FirecrawlAppV1;

const leaves = Array.from({ length: LEAVES }, (_, n) => `/leaf/${n}`);

beforeAll(async () => {
  site = await startSite((request, response) => {
    const path = request.url ?? '';
    if (path === '/binary')
      return void response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(Buffer.alloc(9000, 7));
    if (path === '/slow') return void setTimeout(() => response.writeHead(200, HTML).end('<h1>Slow</h1>'), SLOW_MS);
    if (path !== '/' && !leaves.includes(path)) return void response.writeHead(404).end();
    const links = path === '/' ? leaves.map((leaf) => `<a href="${leaf}">${leaf}</a>`).join(' ') : '';
    const body = `<main><h1>Page ${path}</h1><p>Words of ${path}.</p>${links}</main>`;
    response.writeHead(200, HTML).end(`<html><body>${body}</body></html>`);
  });
  stage = await startStage(CLIENTS_CLUSTER);
  const { cluster } = stage;
  client = new Firecrawl({ apiKey: cluster.apiKey, apiUrl: cluster.url }).v1;
  // Its watcher is written for browsers, which have one of their own.
  (globalThis as { WebSocket?: unknown }).WebSocket ??= WebSocket;
}, TIMEOUT_MS);

afterAll(async () => {
  await stage?.stop();
  await site?.close();
}, TIMEOUT_MS);

/** The clients' answers are unions with their errors. */
function succeeded<T extends { success: boolean }>(answer: T): Extract<T, { success: true }> {
  expect(answer).toMatchObject({ success: true });
  return answer as Extract<T, { success: true }>;
}

const sourcesOf = (data: { metadata?: { sourceURL?: string } }[]) =>
  data.map(({ metadata }) => metadata?.sourceURL ?? '?').sort();
const urlsOf = (paths: string[]) => paths.map((path) => site.origin + path).sort();

describe('the client of v1', () => {
  it(
    'scrapes a page',
    async () => {
      const page = succeeded(
        await client.scrapeUrl(`${site.origin}/leaf/1`, { formats: ['markdown', 'links'], onlyMainContent: false }),
      );
      expect(page.markdown).toContain('Words of /leaf/1.');
      expect(page.metadata).toMatchObject({ statusCode: 200, sourceURL: `${site.origin}/leaf/1` });
    },
    TIMEOUT_MS,
  );

  it(
    'crawls a site to its end and has every page',
    async () => {
      const params = { limit: 100, maxDepth: 3, ignoreSitemap: true, allowBackwardLinks: false };
      const status = succeeded(await client.crawlUrl(site.origin, params, POLL_S));
      expect(status.status).toBe('completed');
      expect(sourcesOf(status.data)).toEqual([site.origin, ...urlsOf(leaves)].sort());
    },
    TIMEOUT_MS,
  );

  it(
    'reads a crawl in parts',
    async () => {
      const { id } = succeeded(await client.asyncCrawlUrl(site.origin, { limit: 7, ignoreSitemap: true }));
      let part = succeeded(await client.checkCrawlStatus(id));
      while (part.status === 'scraping') part = succeeded(await client.checkCrawlStatus(id));
      const second = succeeded(await client.checkCrawlStatus(id, false, undefined, 3, 3));
      expect(second.data).toEqual(part.data.slice(3, 6));
      expect(second.next).toBe(`${stage.cluster.url}/v1/crawl/${id}?skip=6&limit=3`);
      expect(succeeded(await client.checkCrawlStatus(id, true, undefined, 0, 3)).data).toHaveLength(7);
    },
    TIMEOUT_MS,
  );

  it(
    'asks for the errors of a running crawl without ending it, and cancels it then',
    async () => {
      const { id } = succeeded(await client.asyncCrawlUrl(site.origin, { delay: 5 }));
      expect(await client.checkCrawlErrors(id!)).toMatchObject({ errors: [], robotsBlocked: [] });
      expect(succeeded(await client.checkCrawlStatus(id)).status).toBe('scraping');
      await client.cancelCrawl(id!);
      expect(succeeded(await client.checkCrawlStatus(id)).status).toBe('cancelled');
    },
    TIMEOUT_MS,
  );

  it(
    'scrapes a batch, whose status it asks of the crawls',
    async () => {
      const urls = urlsOf(['/leaf/1', '/leaf/2', '/binary']);
      const status = succeeded(await client.batchScrapeUrls(urls, { formats: ['markdown'] }, POLL_S));
      expect(status.status).toBe('completed');
      expect(sourcesOf(status.data)).toEqual(urlsOf(['/leaf/1', '/leaf/2']));
    },
    TIMEOUT_MS,
  );

  it(
    'scrapes a batch and watches it: every document and one end',
    async () => {
      const paths = leaves.slice(0, 6).concat('/slow');
      const watcher = await client.batchScrapeUrlsAndWatch(urlsOf(paths), { formats: ['markdown'] });
      const documents: { metadata?: { sourceURL?: string } }[] = [];
      let ends = 0;
      watcher.addEventListener('document', ({ detail }: CustomEvent) => void documents.push(detail as object));
      await new Promise<void>((resolve, reject) => {
        watcher.addEventListener('error', ({ detail }: CustomEvent) => reject(new Error(JSON.stringify(detail))));
        watcher.addEventListener('done', () => resolve(void ends++));
      });
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(sourcesOf(documents)).toEqual(urlsOf(paths));
      expect(ends).toBe(1);
    },
    TIMEOUT_MS,
  );

  it(
    'lists the errors of a batch and leaves invalid addresses out when told to',
    async () => {
      const urls = [`${site.origin}/binary`, 'nope'];
      await expect(client.asyncBatchScrapeUrls(urls, {})).rejects.toMatchObject({ statusCode: 400 });
      const started = succeeded(await client.asyncBatchScrapeUrls(urls, {}, undefined, undefined, true));
      expect(started.invalidURLs).toEqual(['nope']);
      let status = succeeded(await client.checkBatchScrapeStatus(started.id));
      while (status.status === 'scraping') status = succeeded(await client.checkBatchScrapeStatus(started.id));
      expect(await client.checkBatchScrapeErrors(started.id!)).toMatchObject({
        errors: [{ url: urls[0], code: 'SCRAPE_UNSUPPORTED_FILE_ERROR' }],
      });
    },
    TIMEOUT_MS,
  );

  it(
    'maps a site to plain addresses',
    async () => {
      const { links } = succeeded(await client.mapUrl(site.origin, { ignoreSitemap: true }));
      expect(links).toEqual(expect.arrayContaining(urlsOf(leaves)));
    },
    TIMEOUT_MS,
  );

  it(
    'is told what is wrong',
    async () => {
      const nonsense = { parsers: ['pdf'] } as object;
      await expect(client.scrapeUrl(site.origin, nonsense)).rejects.toMatchObject({
        statusCode: 400,
        message: expect.stringContaining('unrecognized_keys'),
      });
      await expect(client.scrapeUrl('http://no-such-host.invalid/', {})).rejects.toThrow();
      const key = `key-${Date.now()}`;
      succeeded(await client.asyncCrawlUrl(site.origin, { limit: 1 }, key));
      await expect(client.asyncCrawlUrl(site.origin, { limit: 1 }, key)).rejects.toMatchObject({ statusCode: 409 });
    },
    TIMEOUT_MS,
  );
});
