/** Pages that leave by proxies, through the whole cluster: of every kind, by every engine, and by stealth where it takes that. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  browsersHere,
  PROXY_PASSWORD,
  type Site,
  startProxy,
  startSite,
  TEST_CERT,
  type TestProxy,
} from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';

const SETUP_TIMEOUT_MS = 120_000;
/** The browser's first start on a busy machine takes this long. */
const PATIENT_MS = 60_000;
const ADMIN_KEY = 'the-key-of-the-operator';
/** Where requests come from, as the site sees it. */
const EXITS = {
  http: '127.0.0.31',
  https: '127.0.0.32',
  socks5: '127.0.0.33',
  stealth: '127.0.0.34',
  team: '127.0.0.35',
};
const BASIC: string[] = [EXITS.http, EXITS.https, EXITS.socks5];
const hasBrowser = browsersHere !== null;
const ifBrowser = hasBrowser ? it : it.skip;

interface PageData {
  markdown: string;
  metadata: { url: string; statusCode: number; proxyUsed: string; creditsUsed: number };
}

let site: Site;
let forbidden: Site;
let cluster: TestCluster;
let api: ApiClient;
let proxies: Record<keyof typeof EXITS, TestProxy>;
let folder: string;
/** Path and exit of each request, in order. */
let seen: { path: string; exit: string; agent: string }[] = [];

const TEXT = '<p>Words that are worth reading, enough of them that nobody takes this for an empty page.</p>';
const html = (body: string, head = ''): string =>
  `<!doctype html><html><head>${head}</head><body>${body}</body></html>`;
const WALL = html('<div class="g-recaptcha" data-sitekey="none"></div>', '<title>Access denied</title>');

function bodyOf(route: string, exit: string): { status: number; text: string; type?: string } {
  if (route.startsWith('/walled') && exit !== EXITS.stealth) return { status: 403, text: WALL };
  if (route.startsWith('/fortress')) return { status: 403, text: WALL };
  if (route.startsWith('/login')) return { status: 401, text: html('Who are you?') };
  if (route === '/app') {
    const image = `http://127.0.0.9:${forbidden.port}/secret.png`;
    const script = `document.getElementById('root').innerHTML = '<h1>Made by a script</h1>${TEXT}<img src="${image}"><img src="/pixel.png">'`;
    return { status: 200, text: html(`<div id="root"></div><script>${script}</script>`) };
  }
  if (route === '/walled/start') {
    return { status: 200, text: html(`<h1>Start</h1>${TEXT}<a href="/walled/1">1</a> <a href="/walled/2">2</a>`) };
  }
  return { status: 200, text: html(`<h1>Page ${route}</h1>${TEXT}`) };
}

beforeAll(async () => {
  forbidden = await startSite((_, response) => response.end('secret'), { host: '127.0.0.9' });
  site = await startSite((request, response) => {
    const { url = '', socket, headers } = request;
    const exit = socket.remoteAddress ?? '';
    seen.push({ path: url, exit, agent: headers['user-agent'] ?? '' });
    const { status, text } = bodyOf(url, exit);
    response.writeHead(status, { 'content-type': 'text/html' }).end(text);
  });
  proxies = {
    http: await startProxy('http', { exit: EXITS.http }),
    https: await startProxy('https', { exit: EXITS.https }),
    socks5: await startProxy('socks5', { exit: EXITS.socks5 }),
    stealth: await startProxy('http', { exit: EXITS.stealth }),
    team: await startProxy('socks5', { exit: EXITS.team }),
  };
  folder = await mkdtemp(path.join(tmpdir(), 'troupe-proxies-'));
  const authority = path.join(folder, 'authority.pem');
  await writeFile(authority, TEST_CERT);
  const { http, https, socks5, stealth } = proxies;
  cluster = await startCluster({
    env: {
      ADMIN_KEY,
      ALLOW_PRIVATE_TARGETS: '127.0.0.1',
      HOST_GAP_MS: '0',
      NODE_EXTRA_CA_CERTS: authority,
      PROXY_BASIC: [http.url, https.url, socks5.url].join(','),
      PROXY_STEALTH: stealth.url,
    },
  });
  api = new ApiClient(cluster.url, cluster.apiKey);
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await cluster?.stop();
  await Promise.all([site?.close(), forbidden?.close(), ...Object.values(proxies ?? {}).map((proxy) => proxy.close())]);
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}, SETUP_TIMEOUT_MS);

beforeEach(() => {
  seen = [];
});

const scrape = async (route: string, options: object = {}, client = api) => {
  const { status, body } = await client.post('/v2/scrape', {
    url: site.origin + route,
    timeout: PATIENT_MS,
    ...options,
  });
  return { status, code: body.code, error: body.error, data: body.data as PageData };
};
const exitsOf = (route: string): string[] => seen.filter((request) => request.path === route).map(({ exit }) => exit);

describe('basic proxies', () => {
  it('take turns, be they HTTP, HTTPS or SOCKS5', async () => {
    for (const page of [1, 2, 3]) {
      const { status, data } = await scrape(`/turn/${page}`, { proxy: 'basic' });
      expect({ status, ...data.metadata }).toMatchObject({ status: 200, proxyUsed: 'basic', creditsUsed: 1 });
    }
    expect(seen.map(({ exit }) => exit).sort()).toEqual([...BASIC].sort());
  }, 90_000);

  ifBrowser(
    'serve the browser too, with all that a page loads, and lead it to no private address',
    async () => {
      for (const _ of BASIC) {
        // Of a page that is to be seen the images are loaded, too.
        const { data } = await scrape('/app', { proxy: 'basic', waitFor: 300, formats: ['markdown', 'screenshot'] });
        expect(data.markdown).toContain('# Made by a script');
      }
      expect(new Set(exitsOf('/app'))).toEqual(new Set(BASIC));
      expect(new Set(exitsOf('/pixel.png'))).toEqual(new Set(BASIC));
      expect(forbidden.connections).toBe(0);
      const told = Object.values(proxies).flatMap(({ tunnels }) => tunnels);
      expect(new Set(told)).toEqual(new Set([`127.0.0.1:${site.port}`]));
    },
    180_000,
  );

  it('keep a private address out of reach, and are not even asked', async () => {
    const { status, body } = await api.post('/v2/scrape', { url: `http://127.0.0.9:${forbidden.port}/` });
    expect({ status, code: body.code }).toEqual({ status: 403, code: 'SCRAPE_TARGET_FORBIDDEN' });
    expect(forbidden.connections).toBe(0);
  }, 90_000);

  it('are never left out, for robots.txt and sitemaps neither', async () => {
    const started = await api.post('/v2/crawl', { url: `${site.origin}/crawled`, limit: 3 });
    const { status } = await api.finished<{ status: string }>(`/v2/crawl/${started.body.id as string}`, PATIENT_MS);
    expect(status).toBe('completed');
    expect(seen.map(({ path: route }) => route)).toEqual(expect.arrayContaining(['/robots.txt', '/crawled']));
    expect(seen.filter(({ exit }) => !BASIC.includes(exit))).toEqual([]);
  }, 90_000);
});

describe('a site that turns the basic proxies away', () => {
  it('is asked by stealth in auto, at the price of stealth, and first so from then on', async () => {
    const { status, data } = await scrape('/walled/1', { proxy: 'auto' });
    expect({ status, ...data.metadata }).toMatchObject({
      status: 200,
      statusCode: 200,
      proxyUsed: 'stealth',
      creditsUsed: 5,
    });
    const [first] = seen;
    const last = seen.at(-1);
    expect(BASIC).toContain(first?.exit);
    expect(last?.exit).toBe(EXITS.stealth);
    expect(last?.agent).toMatch(/^Mozilla\/5\.0 .*Chrome/);
    expect(last?.agent).not.toMatch(/Troupe/);
    seen = [];
    expect((await scrape('/walled/2')).data.metadata.creditsUsed).toBe(5);
    expect(exitsOf('/walled/2')).toEqual([EXITS.stealth]);
  }, 180_000);

  it('gets a crawl through as well', async () => {
    const started = await api.post('/v2/crawl', {
      url: `${site.origin}/walled/start`,
      sitemap: 'skip',
      crawlEntireDomain: true,
      scrapeOptions: { proxy: 'auto', timeout: PATIENT_MS },
    });
    const crawl = `/v2/crawl/${started.body.id as string}`;
    const { data } = await api.finished<{ data: PageData[] }>(crawl, 120_000);
    expect(
      data.map(({ metadata }) => [new URL(metadata.url).pathname, metadata.proxyUsed, metadata.creditsUsed]).sort(),
    ).toEqual([
      ['/walled/1', 'stealth', 5],
      ['/walled/2', 'stealth', 5],
      ['/walled/start', 'stealth', 5],
    ]);
  }, 150_000);

  it('is asked by stealth at once when that is what was wanted', async () => {
    const { data } = await scrape('/open', { proxy: 'stealth' });
    expect(data.metadata).toMatchObject({ proxyUsed: 'stealth', creditsUsed: 5 });
    expect(new Set(seen.map(({ exit }) => exit))).toEqual(new Set([EXITS.stealth]));
  }, 90_000);

  it('is not asked by stealth in basic, and reported as a wall', async () => {
    const { status, code } = await scrape('/walled/3', { proxy: 'basic' });
    expect({ status, code }).toEqual({ status: 500, code: 'SCRAPE_BLOCKED' });
    expect(seen.filter(({ exit }) => !BASIC.includes(exit))).toEqual([]);
  }, 120_000);

  it('is reported as a wall when stealth does not help, at no price', async () => {
    const creditsBefore = (await api.call('/v2/team/credit-usage')).body;
    const { status, code } = await scrape('/fortress', { proxy: 'auto' });
    expect({ status, code }).toEqual({ status: 500, code: 'SCRAPE_BLOCKED' });
    expect(exitsOf('/fortress')).toContain(EXITS.stealth);
    expect((await api.call('/v2/team/credit-usage')).body).toEqual(creditsBefore);
  }, 150_000);
});

describe('proxies of a team', () => {
  it('are set by the operator, shown without their passwords, and used for that team alone', async () => {
    const admin = { authorization: `Bearer ${ADMIN_KEY}` };
    const json = { basic: [proxies.team.url] };
    const made = await api.post('/admin/teams', { name: 'own-proxies' }, admin);
    const { id } = made.body.team as { id: string };
    const { key } = (await api.post(`/admin/teams/${id}/keys`, { name: 'k' }, admin)).body as { key: string };
    const bad = await api.call(`/admin/teams/${id}/proxies`, {
      method: 'PUT',
      json: { basic: ['ftp://x'] },
      headers: admin,
    });
    expect(bad.status).toBe(400);
    const put = await api.call(`/admin/teams/${id}/proxies`, { method: 'PUT', json, headers: admin });
    expect(put.body).toEqual({
      success: true,
      proxies: { basic: [`socks5://127.0.0.1:${proxies.team.port}`], stealth: [] },
    });
    const audit = await api.call('/admin/audit', { headers: admin });
    expect(audit.text).toContain('proxies.set');
    expect(audit.text).not.toContain(encodeURIComponent(PROXY_PASSWORD));
    const own = new ApiClient(cluster.url, key);
    // A fetcher reads the table every 10 s.
    for (let tries = 0; tries < 60 && !exitsOf('/team').includes(EXITS.team); tries++) {
      await scrape('/team', {}, own);
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    seen = [];
    await scrape('/team', {}, own);
    await scrape('/others');
    expect(exitsOf('/team')).toEqual([EXITS.team]);
    expect(BASIC).toContain(exitsOf('/others')[0]);
  }, 120_000);
});

describe('a proxy that is gone', () => {
  it('is replaced by another one, and left alone while it rests', async () => {
    const { port } = proxies.http;
    await proxies.http.close();
    for (const page of [1, 2, 3, 4]) expect((await scrape(`/gone/${page}`, { proxy: 'basic' })).status).toBe(200);
    expect(new Set(seen.map(({ exit }) => exit))).toEqual(new Set([EXITS.https, EXITS.socks5]));
    expect(cluster.output()).toContain(`http://127.0.0.1:${port}`);
    expect(cluster.output()).not.toContain(encodeURIComponent(PROXY_PASSWORD));
  }, 120_000);

  it('fails the page when it was the last one; nothing leaves by another way', async () => {
    await proxies.https.close();
    await proxies.socks5.close();
    const { status, code } = await scrape('/lost', { proxy: 'basic' });
    expect({ status, code }).toEqual({ status: 500, code: 'SCRAPE_PROXY_SELECTION_ERROR' });
    expect(seen).toEqual([]);
    expect((await scrape('/saved', { proxy: 'auto' })).data.metadata.proxyUsed).toBe('stealth');
  }, 120_000);
});
