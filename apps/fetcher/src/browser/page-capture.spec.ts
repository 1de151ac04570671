import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { TroupeError, type Action } from '@troupe/contracts';
import { parseAllowList, Resolver } from '@troupe/egress';
import { BrowserEngine } from './browser.engine.js';
import { BrowserPool } from './browser-pool.js';
import { browsersHere } from '@troupe/testing';
import type { Browsers } from './chromium.js';
import { EgressProxy } from '../proxies/egress-proxy.js';
import { PLAIN_VIEW, type EngineRequest, type PageView } from '../http/engine.js';
import { startSite, type Site } from '@troupe/testing';

const withBrowser = browsersHere === null ? describe.skip : describe;

const NOISE = `<!doctype html><body style="margin:0"><canvas id=c width=1920 height=1500 style="display:block"></canvas><script>
  const pen = c.getContext('2d'), image = pen.createImageData(1920, 1500);
  for (let at = 0; at < image.data.length; at++) image.data[at] = at % 4 === 3 ? 255 : Math.random() * 256;
  pen.putImageData(image, 0, 0);</script>`;
const PAGES: Record<string, string> = {
  '/noise': NOISE,
  '/start': `<!doctype html><p id=start>start</p><a id=hop href=/hop>hop</a>`,
  '/end': `<!doctype html><p id=end>end</p>`,
};

let site: Site;
let proxy: EgressProxy;
let engine: BrowserEngine;
let hops: string[] = [];

function engineWith(browsers: Browsers | null): BrowserEngine {
  const allow = parseAllowList(`127.0.0.1:${site.port}`);
  const resolver = new Resolver({ servers: [], allow });
  proxy ??= new EgressProxy(resolver);
  const pool = new BrowserPool({ browsers, concurrency: 3, proxy, userAgent: 'Troupe/0.1' });
  return new BrowserEngine({ pool, resolver, allow });
}

function show(path: string, view: Partial<PageView>, more: Partial<EngineRequest> = {}, using = engine) {
  const request: EngineRequest = {
    url: site.origin + path,
    headers: {},
    timeoutMs: 30_000,
    maxBytes: 5 * 1024 * 1024,
    skipTlsVerification: false,
    waitForMs: 0,
    view: { ...PLAIN_VIEW, ...view },
    proxy: 'basic',
    team: null,
    contextKey: null,
    onRedirect: (url) => Promise.resolve(void hops.push(url)),
    ...more,
  };
  return using.fetch(request, new AbortController().signal);
}

const run = (script: string): Action => ({ type: 'executeJavascript', script });
const PICTURE = { type: 'screenshot', fullPage: false, quality: null, viewport: null } as const;

beforeAll(async () => {
  site = await startSite((request, response) => {
    if (request.url === '/hop') return void response.writeHead(302, { location: '/end' }).end();
    response.writeHead(200, { 'content-type': 'text/html' }).end(PAGES[request.url ?? ''] ?? 'none');
  });
  engine = engineWith(browsersHere);
});

beforeEach(() => {
  hops = [];
});

afterAll(async () => {
  await engine.close();
  await proxy.close();
  await site.close();
});

describe('without a browser', () => {
  it('actions are no request that can be served', async () => {
    const asked = show('/start', { actions: [run('1')] }, {}, engineWith(null));
    await expect(asked).rejects.toMatchObject({ code: 'SCRAPE_ACTIONS_NOT_SUPPORTED', httpStatus: 400 });
    await expect(asked).rejects.toThrow(/CHROMIUM_PATH/);
  });
});

withBrowser('what a browser captures', () => {
  it('asks for every page that an action leads to, and ends with the reason of a refusal', async () => {
    const actions: Action[] = [
      { type: 'click', selector: '#hop', all: false },
      { type: 'scrape', selector: '#end' },
    ];
    const answer = await show('/start', { actions });
    expect(hops).toEqual([`${site.origin}/hop`, `${site.origin}/end`]);
    expect(answer).toMatchObject({ finalUrl: `${site.origin}/end`, redirects: hops });
    expect(answer.captured?.actions?.scrapes[0]).toEqual({ url: `${site.origin}/end`, html: '<p id="end">end</p>' });
    const reason = new TroupeError('CRAWL_DENIAL', 'not there');
    await expect(show('/start', { actions }, { onRedirect: () => Promise.reject(reason) })).rejects.toBe(reason);
  }, 60_000);

  it('turns a picture that is too large into a lighter one, and says so', async () => {
    const { captured } = await show('/noise', { screenshot: { ...PICTURE, viewport: { width: 1920, height: 1500 } } });
    expect(captured?.screenshot?.slice(0, 23)).toBe('data:image/jpeg;base64,');
    expect(captured?.warning).toBe('A screenshot is a JPEG of quality 80: as it was asked for, it is too large.');
  }, 60_000);

  it('has room for so much and no more, which the action that exceeds it is told', async () => {
    const asked = show('/noise', { actions: Array<Action>(8).fill({ ...PICTURE, quality: 95 }) });
    await expect(asked).rejects.toMatchObject({
      code: 'SCRAPE_ACTION_ERROR',
      message: expect.stringMatching(
        /^Action [1-7] \(screenshot\) failed: the screenshot is too large: .* 6 MB in all$/,
      ),
    });
    const scrapes = [
      run(`document.body.append('x'.repeat(9 * 1024 * 1024))`),
      ...Array<Action>(3).fill({ type: 'scrape', selector: null }),
    ];
    await expect(show('/start', { actions: scrapes })).rejects.toThrow(
      'Action 3 (scrape) failed: scraped HTML may have 20 MB in all',
    );
  }, 60_000);

  it('leaves the pages of others alone when a script never ends', async () => {
    const patient = show('/start', { actions: [{ type: 'wait', selector: null, ms: 8000 }] });
    const endless = show('/start', { actions: [run('for (;;);')] }, { timeoutMs: 2000 });
    await expect(endless).rejects.toMatchObject({ code: 'SCRAPE_TIMEOUT' });
    await expect(patient).resolves.toMatchObject({ statusCode: 200 });
  }, 60_000);
});
