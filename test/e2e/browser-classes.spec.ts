/** A fetcher without a browser beside one that does nothing but browser work: each page goes where it can be shown. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { browsersHere, type Site, startSite } from '@troupe/testing';
import { query } from '../chaos/evidence.js';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { startService, type ServiceProcess } from '../support/service-process.js';

const withBrowser = browsersHere === null ? describe.skip : describe;
if (browsersHere === null) console.warn('SKIPPED: no browser found, set CHROMIUM_PATH');

const PLAIN = 24;
const APPS = 5;
const PATIENT_MS = 60_000;
const NO_BROWSER_MS = 4_000;

const env = { ALLOW_PRIVATE_TARGETS: '127.0.0.1', HOST_GAP_MS: '0', CACHE_MAX_MB: '0' };

interface PageData {
  markdown: string;
  metadata: { url: string; statusCode: number };
}

interface Job {
  status: string;
  completed: number;
  creditsUsed: number;
  data: PageData[];
}

let site: Site;
let cluster: TestCluster;
let api: ApiClient;
let plainFetcher: ServiceProcess;
let browserFetcher: ServiceProcess | null = null;

const plain = (name: string, links = '') =>
  `<!doctype html><html><head><title>${name}</title></head><body><main><h1>Plain ${name}</h1><p>Written by the server for those who read ${name}.</p>${links}</main></body></html>`;
const app = (name: string) =>
  `<!doctype html><html><head><title>App</title></head><body><div id="root"></div><script>
    document.getElementById('root').innerHTML = '<h1>App ${name}</h1><p>Written by a script for those who look at ${name}.</p>';</script></body></html>`;

/** Every folder is a site of its own: a start page, pages of the server and pages of scripts. */
function contentOf(path: string): string {
  const [, folder = '', kind = '', n = ''] = path.split('/');
  if (kind === 'app') return app(`${folder}-${n}`);
  if (kind === 'plain') return plain(`${folder}-${n}`);
  const links = [...pathsOf(folder, 'app', APPS), ...pathsOf(folder, 'plain', PLAIN)];
  return plain(`${folder}-start`, links.map((link) => `<a href="${link}">${link}</a>`).join(' '));
}

function pathsOf(folder: string, kind: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `/${folder}/${kind}/${i}`);
}

beforeAll(async () => {
  if (browsersHere === null) return;
  site = await startSite((request, response) => {
    const path = request.url ?? '/';
    const isPage = /^\/[a-z]+(\/(app|plain)\/\d+)?$/.test(path) && path !== '/robots.txt';
    response.writeHead(isPage ? 200 : 404, { 'content-type': 'text/html' }).end(isPage ? contentOf(path) : 'nothing');
  });
  cluster = await startCluster({ args: ['--fetchers', '0'], env });
  plainFetcher = await startService(cluster, 'fetcher', { ...env, FETCHER_CLASSES: 'http', BROWSER_ON_DEMAND: 'true' });
  api = new ApiClient(cluster.url, cluster.apiKey);
}, 180_000);

afterAll(async () => {
  await Promise.all([plainFetcher?.stop(), browserFetcher?.stop()]);
  await cluster?.stop();
  await site?.close();
}, 90_000);

async function startCrawl(folder: string): Promise<string> {
  const options = { url: `${site.origin}/${folder}`, sitemap: 'skip', scrapeOptions: { timeout: PATIENT_MS } };
  return (await api.post('/v2/crawl', options)).body.id as string;
}

const statusOf = async (id: string) => (await api.call(`/v2/crawl/${id}`)).body as unknown as Job;

/** Which engine made each page, and after how many attempts. */
async function ledgerOf(id: string): Promise<{ path: string; engine: string; attempts: number }[]> {
  const rows = await query<{ url: string; engine: string; attempts: number }>(
    cluster,
    'SELECT url, engine, attempts FROM url_outcome JOIN job_id USING (job_no) WHERE id = $1 ORDER BY url',
    [id],
  );
  return rows.map(({ url, engine, attempts }) => ({ path: new URL(url).pathname, engine, attempts }));
}

/** Paths that a browser asked for, and those that a plain client did. */
function agents(): { browser: Set<string>; plain: Set<string> } {
  const found = { browser: new Set<string>(), plain: new Set<string>() };
  for (const [i, line] of site.log.entries()) {
    const isBrowser = site.headers[i]!['user-agent']?.includes('Chrome') ?? false;
    found[isBrowser ? 'browser' : 'plain'].add(line.split(' ')[1]!);
  }
  return found;
}

withBrowser('a fetcher without a browser', () => {
  let id: string;

  it('does the pages that it can, and leaves the others waiting until a browser comes', async () => {
    id = await startCrawl('first');
    const deadline = performance.now() + PATIENT_MS;
    while ((await statusOf(id)).completed < PLAIN + 1 && performance.now() < deadline) await sleep(100);
    await sleep(NO_BROWSER_MS);
    expect(await statusOf(id)).toMatchObject({ status: 'scraping', completed: PLAIN + 1 });
    const [waiting] = await query<{ urls: number }>(
      cluster,
      'SELECT count(*)::int AS urls FROM frontier JOIN job_id USING (job_no) WHERE id = $1 AND browser',
      [id],
    );
    expect(waiting).toEqual({ urls: APPS });
  }, 120_000);

  it('sees them shown by the fetcher that has one, without an attempt or a credit lost', async () => {
    browserFetcher = await startService(cluster, 'fetcher', { ...env, FETCHER_CLASSES: 'browser' });
    const { status, creditsUsed, data } = await api.finished<Job>(`/v2/crawl/${id}`, 120_000);
    expect({ status, creditsUsed }).toEqual({ status: 'completed', creditsUsed: PLAIN + APPS + 1 });
    const texts = new Map(data.map(({ metadata, markdown }) => [new URL(metadata.url).pathname, markdown]));
    for (const path of pathsOf('first', 'app', APPS)) expect(texts.get(path)).toContain('Written by a script');
    for (const path of pathsOf('first', 'plain', PLAIN)) expect(texts.get(path)).toContain('Written by the server');
    for (const { path, engine, attempts } of await ledgerOf(id))
      expect({ path, engine, attempts }).toEqual({
        path,
        engine: path.includes('/app/') ? 'browser' : 'http',
        attempts: 1,
      });
    for (const path of pathsOf('first', 'plain', PLAIN)) expect(agents().browser).not.toContain(path);
  }, 180_000);
});

withBrowser('both kinds of fetchers side by side', () => {
  it('crawl a mixed site: each page by who can show it', async () => {
    const { status, data } = await api.finished<Job>(`/v2/crawl/${await startCrawl('second')}`, 120_000);
    expect(status).toBe('completed');
    expect(data).toHaveLength(PLAIN + APPS + 1);
    for (const { metadata, markdown } of data) {
      const { pathname } = new URL(metadata.url);
      expect(markdown).toContain(pathname.includes('/app/') ? 'Written by a script' : 'Written by the server');
    }
    const { browser } = agents();
    for (const path of pathsOf('second', 'app', APPS)) expect(browser).toContain(path);
    for (const path of pathsOf('second', 'plain', PLAIN)) expect(browser).not.toContain(path);
  }, 180_000);

  it('take a batch of screenshots, for which nobody asks the site in vain', async () => {
    const urls = pathsOf('third', 'plain', 3).map((path) => site.origin + path);
    const started = await api.post('/v2/batch/scrape', { urls, formats: ['screenshot'], timeout: PATIENT_MS });
    const { status, data } = await api.finished<{ status: string; data: { screenshot?: string }[] }>(
      `/v2/batch/scrape/${started.body.id as string}`,
      120_000,
    );
    expect(status).toBe('completed');
    expect(data.filter(({ screenshot }) => screenshot?.startsWith('data:image/'))).toHaveLength(3);
    for (const path of pathsOf('third', 'plain', 3)) expect(agents().plain).not.toContain(path);
  }, 180_000);

  it('scrape what scripts make', async () => {
    const { status, body } = await api.post('/v2/scrape', { url: `${site.origin}/fourth/app/1`, timeout: PATIENT_MS });
    expect(status).toBe(200);
    expect((body.data as PageData).markdown).toContain('Written by a script');
  }, 120_000);
});
