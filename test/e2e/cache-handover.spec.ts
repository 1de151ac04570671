/** Scrapes of one page that needs a browser, where one fetcher has none and another one has nothing else. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { browsersHere, type Site, startSite } from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { startService, type ServiceProcess } from '../support/service-process.js';

const SETUP_TIMEOUT_MS = 180_000;
const TEST_TIMEOUT_MS = 120_000;
const withBrowser = browsersHere === null ? describe.skip : describe;

const APP = `<!doctype html><title>App</title><div id="root"></div><script>
  document.getElementById('root').innerHTML = '<h1>App</h1><p>Written by a script.</p>'</script>`;

interface Page {
  markdown: string;
  metadata: { cacheState?: string };
}

let site: Site;
let cluster: TestCluster;
let api: ApiClient;
let fetchers: ServiceProcess[];

beforeAll(async () => {
  fetchers = [];
  if (browsersHere === null) return;
  site = await startSite((request, response) => {
    if (request.url === '/robots.txt') return void response.writeHead(404).end();
    setTimeout(() => response.writeHead(200, { 'content-type': 'text/html' }).end(APP), 300);
  });
  const env = { ALLOW_PRIVATE_TARGETS: '127.0.0.1', HOST_GAP_MS: '0', CACHE_MAX_MB: '64' };
  cluster = await startCluster({ args: ['--fetchers', '0'], env });
  api = new ApiClient(cluster.url, cluster.apiKey);
  fetchers = await Promise.all(
    ['http', 'http', 'browser'].map((cls) => startService(cluster, 'fetcher', { ...env, FETCHER_CLASSES: cls })),
  );
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await Promise.all(fetchers.map((fetcher) => fetcher.stop()));
  await cluster?.stop();
  await site?.close();
}, SETUP_TIMEOUT_MS);

const scrape = async (path: string, options: object): Promise<Page> => {
  const { status, body, text } = await api.post('/v2/scrape', { url: site.origin + path, timeout: 60_000, ...options });
  if (status !== 200) throw new Error(text);
  return body.data as Page;
};

withBrowser('a page that another fetcher must show', () => {
  it.each([
    ['is found to need a browser', '/found', {}, 2],
    ['a browser is asked for', '/asked', { waitFor: 300 }, 1],
  ])(
    'is shown once for all that want it, when it %s',
    async (_, path, options, requests) => {
      const pages = await Promise.all(Array.from({ length: 8 }, () => scrape(path, options)));
      expect(pages.every(({ markdown }) => markdown.includes('Written by a script'))).toBe(true);
      expect(pages.map(({ metadata }) => metadata.cacheState).sort()).toEqual([
        ...Array<string>(7).fill('hit'),
        'miss',
      ]);
      expect((await scrape(path, options)).metadata.cacheState).toBe('hit');
      expect(site.log.filter((line) => line === `GET ${path}`)).toHaveLength(requests);
    },
    TEST_TIMEOUT_MS,
  );
});
