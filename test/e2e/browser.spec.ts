/** Pages that only a browser can show, through the whole cluster, and the cluster without one. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { browsersHere, type Site, startSite } from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';

const SETUP_TIMEOUT_MS = 120_000;
/** The browser's first start on a busy machine takes this long. */
const PATIENT_MS = 60_000;
const withBrowser = browsersHere === null ? describe.skip : describe;

let site: Site;
let cluster: TestCluster;
let api: ApiClient;
let programs: string;

interface PageData {
  markdown: string;
  metadata: { url: string; statusCode: number };
}

/** An application: an empty mount element that a script fills. */
function shell(script: string): string {
  return `<!doctype html><html><head><title>App</title></head><body><div id="root"></div><script>
    const show = (html) => (document.getElementById('root').innerHTML = html); ${script}</script></body></html>`;
}

const LINKS = [1, 2, 3].map((n) => `<a href="/app/${n}">view ${n}</a>`).join(' ');
const PAGES: Record<string, string> = {
  '/app': shell(`show('<h1>Start view</h1><p>Written by a script.</p>${LINKS}')`),
  '/late': shell(
    `show('<h1>Early</h1><p>Here at once.</p>'); setTimeout(() => show('<h1>Late</h1><p>Here after two seconds.</p>'), 2000)`,
  ),
  '/plain': '<!doctype html><html><body><h1>Plain</h1><p>Written by nobody but the server.</p></body></html>',
};
for (const n of [1, 2, 3]) PAGES[`/app/${n}`] = shell(`show('<h1>View ${n}</h1><p>Written by a script.</p>')`);

beforeAll(async () => {
  if (browsersHere === null) return;
  site = await startSite((request, response) => {
    const html = PAGES[request.url ?? ''];
    response.writeHead(html === undefined ? 404 : 200, { 'content-type': 'text/html' }).end(html ?? 'not here');
  });
  programs = await mkdtemp(path.join(tmpdir(), 'troupe-chromium-'));
  const program = path.join(programs, 'chromium');
  await writeFile(program, `#!/bin/sh\nexec '${browsersHere.whole}' "$@"\n`);
  await chmod(program, 0o755);
  cluster = await startCluster({
    env: { ALLOW_PRIVATE_TARGETS: '127.0.0.1', CHROMIUM_PATH: program, HOST_GAP_MS: '0' },
  });
  api = new ApiClient(cluster.url, cluster.apiKey);
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await cluster?.stop();
  await site?.close();
  if (programs !== undefined) await rm(programs, { recursive: true, force: true });
}, SETUP_TIMEOUT_MS);

const scrape = async (route: string, options: object = {}) => {
  const { status, body } = await api.post('/v2/scrape', { url: site.origin + route, timeout: PATIENT_MS, ...options });
  return { status, body, data: body.data as PageData };
};

withBrowser('a page made by scripts', () => {
  it('is scraped as a browser shows it, without being asked for it', async () => {
    const { status, data } = await scrape('/app');
    expect(status).toBe(200);
    expect(data.markdown).toContain('# Start view');
    expect(data.markdown).toContain('Written by a script.');
    const agents = site.headers.map((headers) => headers['user-agent'] ?? '');
    expect(agents[0]).not.toContain('Chrome');
    expect(agents.some((agent) => agent.includes('Chrome') && agent.includes('Troupe'))).toBe(true);
  }, 90_000);

  it('is read after waitFor, not before', async () => {
    const { data } = await scrape('/late', { waitFor: 3500 });
    expect(data.markdown).toContain('Here after two seconds.');
    expect(data.markdown).not.toContain('Here at once.');
  }, 90_000);

  it('gives its links to a crawl', async () => {
    const started = await api.post('/v2/crawl', {
      url: `${site.origin}/app`,
      sitemap: 'skip',
      scrapeOptions: { timeout: PATIENT_MS },
    });
    const { status, data } = await api.finished<{ status: string; data: PageData[] }>(
      `/v2/crawl/${started.body.id as string}`,
      150_000,
    );
    expect(status).toBe('completed');
    const found = new Map(data.map(({ metadata, markdown }) => [new URL(metadata.url).pathname, markdown]));
    expect([...found.keys()].sort()).toEqual(['/app', '/app/1', '/app/2', '/app/3']);
    for (const n of [1, 2, 3]) expect(found.get(`/app/${n}`)).toContain(`# View ${n}`);
  }, 180_000);
});

withBrowser('a fetcher that finds no browser', () => {
  beforeAll(async () => {
    await rm(path.join(programs, 'chromium'));
    const pid = await cluster.signal('fetcher', 'SIGKILL');
    await cluster.waitForRestart('fetcher', pid, 60_000);
  }, SETUP_TIMEOUT_MS);

  it('starts all the same, and says so', async () => {
    expect(cluster.output()).toContain('no browser found');
    const { status, data } = await scrape('/plain');
    expect(status).toBe(200);
    expect(data.markdown).toContain('# Plain');
  }, 90_000);

  it('fails pages that scripts make, saying why', async () => {
    let { status, body } = await scrape('/app', { timeout: 10_000 });
    // Until its membership lapses, the killed fetcher counts as one that has a browser.
    for (let tries = 1; tries < 6 && body.code === 'CONCURRENCY_QUEUE_TIMEOUT'; tries++)
      ({ status, body } = await scrape('/app', { timeout: 10_000 }));
    expect({ status, code: body.code }).toEqual({ status: 500, code: 'SCRAPE_EMPTY' });
    expect(body.error).toMatch(/no browser is available/);
  }, 90_000);

  it('refuses what was asked of a browser, naming CHROMIUM_PATH', async () => {
    const { status, body } = await scrape('/plain', { waitFor: 500 });
    expect({ status, code: body.code }).toEqual({ status: 500, code: 'SCRAPE_ALL_ENGINES_FAILED' });
    expect(body.error).toMatch(/CHROMIUM_PATH/);
  }, 90_000);

  it('cannot do actions, which is the fault of the request', async () => {
    const { status, body } = await scrape('/plain', { actions: [{ type: 'scrape' }] });
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'SCRAPE_ACTIONS_NOT_SUPPORTED' });
    expect(body.error).toMatch(/CHROMIUM_PATH/);
  }, 90_000);
});
