/** The browser as the site of a stealth page sees it, by its headers and from inside the page. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseAllowList, Resolver } from '@troupe/egress';
import { BrowserEngine } from './browser.engine.js';
import { BrowserPool } from './browser-pool.js';
import { browsersHere } from '@troupe/testing';
import type { Browsers } from './chromium.js';
import { EgressProxy } from '../proxies/egress-proxy.js';
import { PLAIN_VIEW, type EngineRequest } from '../http/engine.js';
import { engineRequest } from '../http/engine-request.fixture.js';
import { startSite, type Site } from '@troupe/testing';

const withBrowser = browsersHere === null ? describe.skip : describe;
const PATIENT_MS = 90_000;

/** In a document, a frame or a worker. */
const TELL = `(() => {
  const canvas = self.document ? document.createElement('canvas') : new OffscreenCanvas(1, 1);
  const gl = canvas.getContext('webgl');
  if (gl) gl.getExtension('WEBGL_debug_renderer_info');
  const { userAgent, languages, platform, hardwareConcurrency, deviceMemory, webdriver, userAgentData } = navigator;
  return { userAgent, languages: [...languages], platform, hardwareConcurrency, webdriver: webdriver ?? false,
    brands: userAgentData ? userAgentData.brands.map(({ brand, version }) => brand + ' ' + version) : [],
    mobile: userAgentData?.mobile, os: userAgentData?.platform, renderer: gl ? gl.getParameter(0x9246) : null };
})()`;
const PAGE = `<!doctype html><html><body><h1>Echo</h1><pre id="out">waiting</pre><iframe src="/frame"></iframe><script>
  const worker = new Worker('/worker.js');
  const said = {};
  const done = () => { if (said.worker && said.frame) document.getElementById('out').textContent = JSON.stringify({ ...said, page: ${TELL},
    chrome: typeof window.chrome, plugins: navigator.plugins.length, permission: Notification.permission, asked: said.asked,
    source: Function.prototype.toString.call(WebGLRenderingContext.prototype.getParameter).includes('[native code]'),
    screen: [screen.width, screen.height, screen.availHeight, outerWidth, outerHeight, innerWidth, innerHeight] }); };
  navigator.permissions.query({ name: 'notifications' }).then(({ state }) => { said.asked = state;
    worker.onmessage = ({ data }) => { said.worker = data; done(); }; worker.postMessage(''); });
  window.onmessage = ({ data }) => { said.frame = data; done(); };
</script></body></html>`;
const FRAME = `<!doctype html><html><body><script>parent.postMessage(${TELL}, '*')</script></body></html>`;
const WORKER = `onmessage = () => postMessage(${TELL})`;

interface Told {
  userAgent: string;
  languages: string[];
  platform: string;
  hardwareConcurrency: number;
  webdriver: boolean;
  brands: string[];
  mobile: boolean;
  os: string;
  renderer: string | null;
}

interface Echo {
  page: Told;
  frame: Told;
  worker: Told;
  chrome: string;
  plugins: number;
  permission: string;
  asked: string;
  source: boolean;
  screen: number[];
}

let site: Site;
let egress: EgressProxy;
let engine: BrowserEngine;
/** The same in the whole Chromium alone. */
let wholeEngine: BrowserEngine;

beforeAll(async () => {
  site = await startSite((request, response) => {
    const isWorker = request.url === '/worker.js';
    response.writeHead(200, { 'content-type': isWorker ? 'text/javascript' : 'text/html' });
    response.end(isWorker ? WORKER : request.url === '/frame' ? FRAME : PAGE);
  });
  const allow = parseAllowList('127.0.0.1');
  const resolver = new Resolver({ servers: [], allow });
  egress = new EgressProxy(resolver);
  const engineIn = (browsers: Browsers | null): BrowserEngine => {
    const pool = new BrowserPool({ browsers, concurrency: 2, proxy: egress, userAgent: 'Troupe/test' });
    return new BrowserEngine({ pool, resolver, allow });
  };
  engine = engineIn(browsersHere);
  wholeEngine = engineIn(browsersHere && { whole: browsersHere.whole, plain: browsersHere.whole });
});

afterAll(async () => {
  await Promise.all([engine.close(), wholeEngine.close()]);
  await egress.close();
  await site.close();
});

async function echo(
  options: Partial<EngineRequest>,
  using = engine,
): Promise<{ told: Echo; headers: Record<string, unknown> }> {
  site.headers.length = 0;
  site.log.length = 0;
  const request = engineRequest(`${site.origin}/`, {
    skipTlsVerification: true,
    waitForMs: 500,
    proxy: 'stealth',
    ...options,
  });
  const { body, proxyUsed } = await using.fetch(request, new AbortController().signal);
  expect(proxyUsed).toBe(request.proxy);
  const text = /<pre id="out">(.*?)<\/pre>/s.exec(Buffer.from(body).toString('utf8'))?.[1] ?? '';
  const headers = site.headers[site.log.indexOf('GET /')] ?? {};
  return { told: JSON.parse(text.replaceAll('&amp;', '&')) as Echo, headers };
}

withBrowser('a stealth page', () => {
  it(
    'is shown by an ordinary browser: no automation, no name of ours, nothing that only headless browsers lack',
    async () => {
      const { told, headers } = await echo({});
      expect(headers['user-agent']).toMatch(
        /^Mozilla\/5\.0 \(X11; Linux x86_64\) .* Chrome\/\d+\.0\.0\.0 Safari\/537\.36$/,
      );
      const { renderer: _unknownToTheBrowser, ...worker } = told.worker;
      expect(JSON.stringify([{ ...told, worker }, headers])).not.toMatch(/troupe|headless|swiftshader|proxy/i);
      expect(told).toMatchObject({ chrome: 'object', permission: 'default', asked: 'prompt', source: true });
      expect([told.page.webdriver, told.frame.webdriver]).toEqual([false, false]);
      expect(told.plugins).toBeGreaterThan(0);
      expect(told.page.renderer).toMatch(/^ANGLE \((Intel|AMD|NVIDIA)/);
      const [width = 0, height = 0, availHeight = 0, outerWidth, outerHeight = 0, innerWidth, innerHeight = 0] =
        told.screen;
      expect([outerWidth, innerWidth]).toEqual([width, width]);
      expect(availHeight).toBeLessThanOrEqual(height);
      expect(outerHeight).toBe(availHeight);
      expect(innerHeight).toBeLessThan(outerHeight);
    },
    PATIENT_MS,
  );

  it(
    'says the same in its headers, its document, its frames and its workers',
    async () => {
      const { told, headers } = await echo({});
      for (const { userAgent, languages, platform, hardwareConcurrency, os, mobile } of [
        told.page,
        told.frame,
        told.worker,
      ]) {
        expect(userAgent).toBe(headers['user-agent']);
        expect(String(headers['accept-language']).split(/[,;]/)[0]).toBe(languages[0]);
        expect({ platform, os, mobile }).toEqual({ platform: 'Linux x86_64', os: 'Linux', mobile: false });
        expect(hardwareConcurrency).toBe(told.page.hardwareConcurrency);
      }
      expect(headers['sec-ch-ua-platform']).toBe('"Linux"');
      expect(headers['sec-ch-ua-mobile']).toBe('?0');
      const major = /Chrome\/(\d+)/.exec(told.page.userAgent)?.[1];
      expect(told.page.brands).toContain(`Chromium ${major}`);
      expect(headers['sec-ch-ua']).toContain(`"Chromium";v="${major}"`);
      expect(told.frame.renderer).toBe(told.page.renderer);
    },
    PATIENT_MS,
  );

  it(
    'comes from one machine for all pages of a lane, and from several for pages on their own',
    async () => {
      const pages = [1, 2, 3];
      const lane = [];
      for (const _ of pages) lane.push((await echo({ contextKey: 'job:1' })).told);
      expect(new Set(lane.map(({ page, screen }) => `${page.renderer} ${screen.join()}`)).size).toBe(1);
      const single = [];
      for (let page = 0; page < 5; page++) single.push((await echo({})).told);
      expect(new Set(single.map(({ page, screen }) => `${page.renderer} ${screen.join()}`)).size).toBeGreaterThan(1);
    },
    PATIENT_MS,
  );
});

withBrowser('a basic page', () => {
  it(
    'is shown by a browser that says whose it is',
    async () => {
      const { headers } = await echo({ proxy: 'basic' });
      expect(headers['user-agent']).toMatch(/Chrome\/\d+\.0\.0\.0 Safari\/537\.36 Troupe\/test$/);
    },
    PATIENT_MS,
  );

  it.each([
    ['at a desk', {}],
    ['on a phone', { mobile: true }],
    ['elsewhere', { location: { country: 'DE', languages: [] } }],
  ])(
    'names no headless browser but the same one as the whole Chromium, %s',
    async (_where, wishes) => {
      const view = { ...PLAIN_VIEW, ...wishes };
      const [shell, whole] = [await echo({ proxy: 'basic', view }), await echo({ proxy: 'basic', view }, wholeEngine)];
      expect(JSON.stringify([shell.told, shell.headers])).not.toMatch(/headless/i);
      expect(shell.told.page.brands).not.toEqual([]);
      for (const where of ['page', 'frame', 'worker'] as const) expect(shell.told[where]).toEqual(whole.told[where]);
      const hints = (headers: Record<string, unknown>) =>
        Object.fromEntries(Object.entries(headers).filter(([name]) => /^sec-|^accept|^user-agent$/.test(name)));
      expect(hints(shell.headers)).toEqual(hints(whole.headers));
    },
    PATIENT_MS,
  );
});
