import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseAllowList, Resolver } from '@troupe/egress';
import { BrowserEngine } from './browser.engine.js';
import { BrowserPool, type BrowserPoolOptions } from './browser-pool.js';
import { browsersHere } from '@troupe/testing';
import type { Browsers } from './chromium.js';
import { EgressProxy } from '../proxies/egress-proxy.js';
import { PLAIN_VIEW, type EngineRequest, type EngineResponse } from '../http/engine.js';
import { engineRequest } from '../http/engine-request.fixture.js';
import { startSite, type Handler, type Site } from '@troupe/testing';
import { descendantsOf } from '@troupe/testing';

const withBrowser = browsersHere === null || process.platform !== 'linux' ? describe.skip : describe;

let site: Site;
let proxy: EgressProxy;
let engine: BrowserEngine | null = null;
let routes: Record<string, Handler> = {};
const allow = parseAllowList('127.0.0.1');
const resolver = new Resolver({ servers: [], allow });

const text = (response: EngineResponse): string => Buffer.from(response.body).toString();
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const page = (address: string, html: string): void => {
  routes[address] = (_request, response) => response.setHeader('content-type', 'text/html; charset=utf-8').end(html);
};

function start(options: Partial<BrowserPoolOptions> = {}): void {
  const pool = new BrowserPool({
    browsers: browsersHere,
    concurrency: 2,
    proxy,
    userAgent: 'T',
    warmTabs: 0,
    ...options,
  });
  engine = new BrowserEngine({ pool, resolver, allow });
}

async function get(address: string, changes: Partial<EngineRequest> = {}): Promise<EngineResponse> {
  const request: EngineRequest = engineRequest(site.origin + address, {
    timeoutMs: 25_000,
    maxBytes: 5 * 1024 * 1024,
    ...changes,
  });
  if (engine === null) throw new Error('no engine');
  return engine.fetch(request, new AbortController().signal);
}

const pidsOf = (isWanted: (command: string) => boolean): number[] =>
  descendantsOf(process.pid)
    .filter(({ command, state }) => state !== 'Z' && isWanted(command))
    .map(({ pid }) => pid);
const rendererPids = (): number[] => pidsOf((command) => command.includes('--type=renderer'));
/** The process that the others come from has no type; its guard is a shell, and so is Debian's way to start it. */
const browserPids = (): number[] =>
  pidsOf((command) => /--user-data-dir=/.test(command) && !/--type=|browser\.sh|^\/bin\/sh /.test(command));
/** Those that ended since they were listed are dead already. */
function kill(pids: number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

async function until(condition: () => boolean, limitMs = 10_000): Promise<void> {
  for (const endsAt = performance.now() + limitMs; !condition() && performance.now() < endsAt;) await pause(50);
}

beforeAll(async () => {
  site = await startSite((request, response) => {
    const route = routes[request.url ?? ''];
    if (route) return route(request, response);
    response.writeHead(404, { 'content-type': 'text/html' }).end('<title>none</title>');
  });
  proxy = new EgressProxy(resolver);
});

beforeEach(() => {
  routes = {};
  site.log.length = site.headers.length = 0;
  page('/set', `<script>document.cookie = 'seen=1'; localStorage.seen = 1; window.name = 'mine'</script>`);
  page('/show', `<p id=p></p><script>p.textContent = document.cookie + '|' + localStorage.seen</script>`);
});

afterEach(async () => {
  await engine?.close();
  engine = null;
});

afterAll(async () => {
  await proxy.close();
  await site.close();
});

withBrowser('the tabs of a job', () => {
  it('share their storage from page to page, and with no other job and no single scrape', async () => {
    start();
    await get('/set', { contextKey: 'job-1' });
    expect(text(await get('/show', { contextKey: 'job-1' }))).toContain('>seen=1|1<');
    expect(text(await get('/show', { contextKey: 'job-2' }))).toContain('>|undefined<');
    expect(text(await get('/show'))).toContain('>|undefined<');
    expect(text(await get('/show', { contextKey: 'job-1' }))).toContain('>seen=1|1<');
  });

  it('keep one renderer for all pages of a site, which is asked for nothing in between', async () => {
    start();
    const renderers = new Set<number>();
    for (let pages = 0; pages < 4; pages++) {
      await get('/show', { contextKey: 'job-1' });
      for (const pid of rendererPids()) renderers.add(pid);
    }
    expect(renderers.size).toBe(1);
    expect(site.log.filter((request) => request.includes('?'))).toEqual([]);
  });

  it('are not shared by pages that want another view of the site', async () => {
    start();
    await get('/set', { contextKey: 'job-1' });
    const other = await get('/show', { contextKey: 'job-1', skipTlsVerification: true });
    expect(text(other)).toContain('>|undefined<');
  });

  it('show each page by itself: what the last one still does neither reaches the site nor counts for the next', async () => {
    page(
      '/restless',
      `<p>restless</p><script>setInterval(() => fetch('/beat'), 30);
      setTimeout(() => { location.href = '/elsewhere' }, 4000);</script>`,
    );
    page('/calm', '<p>calm</p>');
    start();
    expect(text(await get('/restless', { contextKey: 'job' }))).toContain('restless');
    await pause(1_500);
    site.log.length = 0;
    await pause(4_000);
    expect(site.log).toEqual([]);
    const calm = await get('/calm', { contextKey: 'job' });
    expect([calm.redirects, calm.finalUrl, site.log]).toEqual([[], `${site.origin}/calm`, ['GET /calm']]);
  });

  it('tell each page only of its own redirects and headers', async () => {
    routes['/from'] = (_request, response) => response.writeHead(302, { location: '/to' }).end();
    page('/to', '<p>to</p>');
    page('/plain', '<p>plain</p>');
    start();
    const moved = await get('/from', { contextKey: 'job', headers: { 'x-key': '1' } });
    const plain = await get('/plain', { contextKey: 'job' });
    expect([moved.redirects, plain.redirects]).toEqual([[`${site.origin}/to`], []]);
    const told = site.log.map((line, at) => [line, site.headers[at]?.['x-key']]);
    expect(told.filter(([line]) => !line?.includes('favicon'))).toEqual([
      ['GET /from', '1'],
      ['GET /to', '1'],
      ['GET /plain', undefined],
    ]);
  });

  it('are closed when no page has used them for a while', async () => {
    start({ tabIdleMs: 500 });
    await get('/show', { contextKey: 'job' });
    const before = rendererPids().length;
    await until(() => rendererPids().length < before);
    expect(rendererPids().length).toBeLessThan(before);
    expect(browserPids()).toHaveLength(1);
  });
});

withBrowser('a page that is only read', () => {
  it('is spared its images, fonts and media without noticing broken images', async () => {
    page(
      '/pictures',
      `<style>@font-face { font-family: f; src: url(/font.woff2) } p { font-family: f }</style>
      <p id=p>text</p><img src=/picture.png onload="p.textContent += ' loaded'" onerror="this.src = '/instead.png'">
      <video src=/film.mp4 preload=auto></video>`,
    );
    start();
    const answer = text(await get('/pictures'));
    expect(answer).toContain('text loaded');
    expect(answer).toContain('src="/picture.png"');
    expect(site.log.filter((line) => line !== 'GET /favicon.ico')).toEqual(['GET /pictures']);
  });

  it('but not a page whose picture is wanted, even in the same tab', async () => {
    page('/pictures', '<p>text</p><img src=/picture.png>');
    start();
    await get('/pictures', { contextKey: 'job' });
    expect(site.log).not.toContain('GET /picture.png');
    const view = { ...PLAIN_VIEW, screenshot: { fullPage: false, quality: null, viewport: null } };
    await get('/pictures', { contextKey: 'job', view });
    expect(site.log).toContain('GET /picture.png');
  });
});

withBrowser('a page whose tab or browser dies', () => {
  const slowly = (): Promise<void> => {
    let arrived: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => (arrived = resolve));
    page('/slow', `<p id=p>not yet</p><script>fetch('/late').then(() => { p.textContent = 'there' })</script>`);
    routes['/late'] = (_request, response) => {
      arrived();
      setTimeout(() => response.end('x'), 1_000);
    };
    return asked;
  };

  it('is shown once more when its renderer is killed', async () => {
    start();
    const asked = slowly();
    const answer = get('/slow');
    await asked;
    kill(rendererPids());
    expect(text(await answer)).toContain('there');
    expect(site.log.filter((line) => line === 'GET /slow')).toHaveLength(2);
  });

  it('is shown once more when the browser is killed, and nothing of the dead one is left', async () => {
    start();
    const asked = slowly();
    const answer = get('/slow');
    await asked;
    const dead = pidsOf((command) => command.includes('--user-data-dir='));
    kill(browserPids());
    expect(text(await answer)).toContain('there');
    const left = (): number[] =>
      pidsOf((command) => command.includes('--user-data-dir=')).filter((pid) => dead.includes(pid));
    await until(() => left().length === 0);
    expect(left()).toEqual([]);
    expect(browserPids()).toHaveLength(1);
  });

  it('fails when it kills every tab it is shown in', async () => {
    let times = 0;
    routes['/deadly'] = (_request, response) => {
      times++;
      response.setHeader('content-type', 'text/html');
      response.write('<p>deadly</p>');
      setTimeout(() => kill(rendererPids()), 300);
    };
    start();
    await expect(get('/deadly')).rejects.toMatchObject({ code: 'SCRAPE_SITE_ERROR', retryable: true });
    expect(times).toBe(2);
  });

  it('is shown after a time in which every tab was killed, however far it had come', async () => {
    page('/fine', '<p>fine</p>');
    start({ warmTabs: 2 });
    await get('/fine');
    const killing = setInterval(() => kill(rendererPids()), 20);
    const others = Array.from({ length: 6 }, () => get('/fine', { timeoutMs: 5_000 }).catch(() => null));
    await Promise.all(others);
    clearInterval(killing);
    expect(text(await get('/fine', { timeoutMs: 12_000 }))).toContain('fine');
  }, 60_000);

  it('does not take the other pages of its browser with it when its script hangs', async () => {
    page('/hang', `<p>x</p><script>setTimeout(() => { for (;;); }, 50)</script>`);
    start();
    await get('/show', { contextKey: 'job' });
    const browsers = browserPids();
    await expect(get('/hang', { timeoutMs: 2_500 })).rejects.toMatchObject({ code: 'SCRAPE_TIMEOUT' });
    await get('/set', { contextKey: 'job' });
    await pause(3_500);
    expect(text(await get('/show', { contextKey: 'job' }))).toContain('>seen=1|1<');
    expect(browserPids()).toEqual(browsers);
  });
});

/** Programs that are told apart by their names, though one Chromium is behind them. */
async function twoPrograms(folder: string): Promise<Browsers> {
  const programs = { whole: path.join(folder, 'whole'), plain: path.join(folder, 'plain') };
  for (const program of Object.values(programs)) {
    await writeFile(program, `#!/bin/sh\nexec '${browsersHere?.plain}' --of='${program}' "$@"\n`);
    await chmod(program, 0o755);
  }
  return programs;
}

withBrowser('where there are two programs', () => {
  let folder: string;
  beforeEach(async () => (folder = await mkdtemp(path.join(tmpdir(), 'troupe-browsers-'))));
  afterEach(() => rm(folder, { recursive: true, force: true }));
  const running = (program: string): boolean => pidsOf((command) => command.includes(`--of=${program} `)).length > 0;

  it('pages in disguise have the whole one, all others the plain one, and no tab is shared', async () => {
    const { plain, whole } = await twoPrograms(folder);
    start({ browsers: { plain, whole } });
    await get('/set', { contextKey: 'job' });
    expect([running(plain), running(whole)]).toEqual([true, false]);
    expect(text(await get('/show', { contextKey: 'job', proxy: 'stealth' }))).toContain('>|undefined<');
    expect([running(plain), running(whole)]).toEqual([true, true]);
    expect(text(await get('/show', { contextKey: 'job' }))).toContain('>seen=1|1<');
  });

  it('the unused one ends while the other goes on', async () => {
    const { plain, whole } = await twoPrograms(folder);
    start({ browsers: { plain, whole }, idleMs: 2_000, tabIdleMs: 500 });
    await get('/show', { proxy: 'stealth' });
    expect(running(whole)).toBe(true);
    for (const endsAt = performance.now() + 20_000; running(whole) && performance.now() < endsAt;) {
      await get('/show', { contextKey: 'job' });
      await pause(200);
    }
    expect([running(plain), running(whole)]).toEqual([true, false]);
  });
});

withBrowser('the browser', () => {
  it('is replaced after so many pages', async () => {
    start({ limits: { pages: 3 } });
    for (let i = 0; i < 2; i++) await get('/show', { contextKey: 'job' });
    const [first] = browserPids();
    for (let i = 0; i < 2; i++) await get('/show', { contextKey: 'job' });
    await until(() => !browserPids().includes(first ?? 0), 15_000);
    expect(browserPids()).toHaveLength(1);
    expect(browserPids()).not.toContain(first);
  });

  it('is replaced when it holds too much memory', async () => {
    start({ limits: { memoryBytes: 1, fatalBytes: Infinity } });
    await get('/show', { contextKey: 'job' });
    const [first] = browserPids();
    await until(() => !browserPids().includes(first ?? 0), 15_000);
    expect(text(await get('/show', { contextKey: 'job' }))).toContain('>|undefined<');
    expect(browserPids()).not.toContain(first);
  });

  it('opens contexts ahead of need, and keeps them apart', async () => {
    start({ warmTabs: 2 });
    await get('/set');
    await pause(1_500);
    const renderers = rendererPids();
    expect(text(await get('/show'))).toContain('>|undefined<');
    expect(text(await get('/show'))).toContain('>|undefined<');
    expect(renderers.length).toBeGreaterThanOrEqual(2);
  });
});
