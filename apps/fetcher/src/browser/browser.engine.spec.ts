import { readdirSync, readFileSync } from 'node:fs';
import os from 'node:os';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { parseAllowList, Resolver } from '@troupe/egress';
import { BrowserEngine } from './browser.engine.js';
import { BrowserPool } from './browser-pool.js';
import { browsersHere } from '@troupe/testing';
import { EgressProxy } from '../proxies/egress-proxy.js';
import { PLAIN_VIEW, type EngineRequest, type EngineResponse, type PageView } from '../http/engine.js';
import { engineRequest } from '../http/engine-request.fixture.js';
import {
  startDns,
  startRaw,
  startSite,
  startUdpCounter,
  type DnsServer,
  type Handler,
  type Site,
} from '@troupe/testing';

const withBrowser = browsersHere === null ? describe.skip : describe;

// A page of many requests takes half a minute on a machine that is ten times too busy.
jest.setTimeout(90_000);

/** Nothing that the page asks for is withheld from it. */
const ALL_SEEN: PageView = { ...PLAIN_VIEW, screenshot: { fullPage: false, quality: null, viewport: null } };

let site: Site;
let secure: Site;
let forbidden: Site;
let dns: DnsServer;
let proxy: EgressProxy;
let engine: BrowserEngine;
let routes: Record<string, Handler> = {};

const text = (response: EngineResponse): string => Buffer.from(response.body).toString();
const page = (path: string, html: string): void => {
  routes[path] = (_request, response) => response.setHeader('content-type', 'text/html; charset=utf-8').end(html);
};

const handle: Handler = (request, response) => {
  const route = routes[request.url ?? ''];
  if (route) return route(request, response);
  response.writeHead(404, { 'content-type': 'text/html' }).end('<title>none</title>');
};

function get(url: string, changes: Partial<EngineRequest> = {}, using = engine): Promise<EngineResponse> {
  const request = engineRequest(url, { maxBytes: 5 * 1024 * 1024, ...changes });
  return using.fetch(request, new AbortController().signal);
}

/** Ports in LISTEN state on other than loopback addresses, of this process's network. */
function openListeners(): string[] {
  const lines = readFileSync('/proc/self/net/tcp6', 'latin1').split('\n').slice(1);
  return lines
    .filter((line) => line.includes(' 0A ') && / 0{32}:/.test(line))
    .map((line) => line.split(/\s+/)[2] ?? '');
}

beforeAll(async () => {
  site = await startSite(handle);
  secure = await startSite(handle, { tls: true });
  forbidden = await startSite((_request, response) => response.end('secret'));
  dns = await startDns({ 'site.test': ['127.0.0.1'], 'other.test': ['127.0.0.1'], 'elsewhere.test': ['127.0.0.7'] });
  const allow = parseAllowList(`127.0.0.1:${site.port},127.0.0.1:${secure.port}`);
  const resolver = new Resolver({ servers: [dns.address], allow });
  proxy = new EgressProxy(resolver);
  const pool = new BrowserPool({
    browsers: browsersHere,
    concurrency: 2,
    proxy,
    userAgent: 'Troupe/0.1',
    idleMs: 60_000,
  });
  engine = new BrowserEngine({ pool, resolver, allow });
});

beforeEach(() => {
  routes = {};
  site.log.length = site.headers.length = 0;
});

afterAll(async () => {
  await engine.close();
  await proxy.close();
  await Promise.all([site.close(), secure.close(), forbidden.close()]);
  dns.close();
});

withBrowser('the browser engine', () => {
  it('returns the DOM that scripts have made, with the status and headers of the page', async () => {
    const before = process.platform === 'linux' ? openListeners() : [];
    page(
      '/app',
      `<!doctype html><title>x</title><div id=app></div><script>
      fetch('/data').then(r => r.text()).then(t => setTimeout(() => { app.textContent = t }, 300));</script>`,
    );
    routes['/data'] = (_request, response) => setTimeout(() => response.end('from afar'), 400);
    const answer = await get(`${site.origin}/app`);
    expect(answer).toMatchObject({
      statusCode: 200,
      rendered: true,
      engine: 'browser',
      finalUrl: `${site.origin}/app`,
      redirects: [],
    });
    expect(answer.contentType).toBe('text/html; charset=utf-8');
    expect(text(answer)).toMatch(/^<!DOCTYPE html>[\s\S]*<div id="app">from afar<\/div>/);
    expect(site.headers[0]?.['user-agent']).toMatch(/Chrome\/\d+\.0\.0\.0 Safari\/537\.36 Troupe\/0\.1$/);
    expect(process.platform === 'linux' ? openListeners() : []).toEqual(before);
  });

  it('is not kept waiting by polling, by a ticking clock or by a stream', async () => {
    page(
      '/busy',
      `<p id=c></p><script>setInterval(() => { c.textContent = 'tick ' + (Date.now() % 10) }, 20);
      setInterval(() => fetch('/poll?' + Math.random()), 50); new EventSource('/events');</script>`,
    );
    routes['/events'] = (_request, response) =>
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n');
    const answer = await get(`${site.origin}/busy`);
    expect(text(answer)).toContain('tick');
    expect(answer.ms).toBeLessThan(15_000);
  });

  it('waits longer when asked', async () => {
    page('/late', `<p id=p></p><script>setTimeout(() => { p.textContent = 'late' }, 2500)</script>`);
    expect(text(await get(`${site.origin}/late`))).not.toContain('>late<');
    expect(text(await get(`${site.origin}/late`, { waitForMs: 2_500 }))).toContain('>late<');
  });

  it('follows redirects of server, script and meta tag, asking before each', async () => {
    routes['/1'] = (_request, response) => response.writeHead(302, { location: '/2' }).end();
    page('/2', `<script>location.href = '/3'</script>`);
    page('/3', `<meta http-equiv=refresh content="0;url=/4">`);
    page('/4', 'arrived');
    const asked: string[] = [];
    const answer = await get(`${site.origin}/1`, { onRedirect: async (url) => void asked.push(url) });
    expect(asked).toEqual(['/2', '/3', '/4'].map((path) => site.origin + path));
    expect(answer).toMatchObject({ finalUrl: `${site.origin}/4`, redirects: asked });
    expect(text(answer)).toContain('arrived');
  });

  it('sends nothing to a redirect target that the caller refuses', async () => {
    routes['/1'] = (_request, response) => response.writeHead(302, { location: '/2' }).end();
    const reason = new Error('robots');
    await expect(get(`${site.origin}/1`, { onRedirect: () => Promise.reject(reason) })).rejects.toBe(reason);
    expect(site.log).toEqual(['GET /1']);
  });

  it('ends redirect loops', async () => {
    page('/loop', `<script>location.href = '/again'</script>`);
    routes['/back'] = (_request, response) => response.writeHead(302, { location: '/back2' }).end();
    routes['/back2'] = (_request, response) => response.writeHead(302, { location: '/back' }).end();
    page('/again', `<script>location.href = '/loop'</script>`);
    for (const path of ['/back', '/loop']) {
      await expect(get(site.origin + path)).rejects.toMatchObject({ code: 'SCRAPE_TOO_MANY_REDIRECTS' });
    }
  });

  it('sends the callers headers to the pages own origin only', async () => {
    routes['/in'] = (_request, response) =>
      response.writeHead(302, { location: `http://other.test:${site.port}/out` }).end();
    page('/out', '<script src=/script></script>');
    await get(`http://site.test:${site.port}/in`, { headers: { 'X-Key': '1', Cookie: 'a=b' } });
    const sent = site.headers.map((headers) => [headers.host?.split(':')[0], headers['x-key'], headers.cookie]);
    expect(sent[0]).toEqual(['site.test', '1', 'a=b']);
    expect(sent.slice(1).filter(([, key, cookie]) => key !== undefined || cookie !== undefined)).toEqual([]);
    expect(sent.length).toBeGreaterThan(2);
  });

  it('keeps nothing from one page to the next', async () => {
    page('/set', `<script>document.cookie = 'seen=1'; localStorage.seen = 1</script>`);
    page('/show', `<p id=p></p><script>p.textContent = document.cookie + '|' + localStorage.seen</script>`);
    await get(`${site.origin}/set`);
    expect(text(await get(`${site.origin}/show`))).toContain('<p id="p">|undefined</p>');
  });

  it('returns what is no HTML as it was sent', async () => {
    routes['/json'] = (_request, response) => response.setHeader('content-type', 'application/json').end('{"a": 1}');
    const answer = await get(`${site.origin}/json`);
    expect([text(answer), answer.rendered]).toEqual(['{"a": 1}', false]);
  });

  it('downloads nothing', async () => {
    routes['/file'] = (_request, response) => {
      response
        .writeHead(200, { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment' })
        .end('x');
    };
    await expect(get(`${site.origin}/file`)).rejects.toMatchObject({ code: 'SCRAPE_UNSUPPORTED_FILE_ERROR' });
  });

  it('does not wait for the rest of a document that has broken off', async () => {
    routes['/cut'] = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html', 'content-length': '5000' }).write('<p>cut off');
      setTimeout(() => response.destroy(), 50);
    };
    const cut = get(`${site.origin}/cut`);
    await expect(cut).rejects.toMatchObject({
      code: 'SCRAPE_SITE_ERROR',
      message: expect.stringContaining('ERR_CONTENT_LENGTH_MISMATCH'),
    });
  });

  it('is not stopped by dialogs, and closes popups', async () => {
    page(
      '/dialogs',
      `<script>alert(1); confirm(2); prompt(3); window.open('/popup'); document.write('through')</script>`,
    );
    expect(text(await get(`${site.origin}/dialogs`))).toContain('through');
  });

  it('verifies certificates unless told otherwise', async () => {
    page('/', 'secure');
    await expect(get(`${secure.origin}/`)).rejects.toMatchObject({ code: 'SCRAPE_SSL_ERROR', retryable: false });
    expect(text(await get(`${secure.origin}/`, { skipTlsVerification: true }))).toContain('secure');
  });

  it('names a refused connection and an unknown host', async () => {
    const gone = await startRaw(() => undefined);
    await gone.close();
    const allow = parseAllowList(`127.0.0.1:${gone.port}`);
    const resolver = new Resolver({ servers: [dns.address], allow });
    const other = new EgressProxy(resolver);
    const pool = new BrowserPool({ browsers: browsersHere, concurrency: 1, proxy: other, userAgent: 'T' });
    const lonely = new BrowserEngine({ pool, resolver, allow });
    for (const scheme of ['http', 'https']) {
      const refused = get(`${scheme}://127.0.0.1:${gone.port}/`, {}, lonely);
      await expect(refused).rejects.toMatchObject({ code: 'SCRAPE_SITE_ERROR', retryable: true });
    }
    await lonely.close();
    await other.close();
    await expect(get('http://unknown.test/')).rejects.toMatchObject({ code: 'SCRAPE_DNS_RESOLUTION_ERROR' });
  });

  it('ends at the deadline, also while a script hangs the page, and goes on working', async () => {
    page('/hang', `<p>x</p><script>setTimeout(() => { for (;;); }, 50)</script>`);
    routes['/endless'] = (_request, response) => {
      response.setHeader('content-type', 'text/html');
      const timer = setInterval(() => response.write('<p>more</p>'), 20);
      response.once('close', () => clearInterval(timer));
    };
    for (const path of ['/hang', '/endless']) {
      const started = performance.now();
      await expect(get(site.origin + path, { timeoutMs: 3_000 })).rejects.toMatchObject({ code: 'SCRAPE_TIMEOUT' });
      expect(performance.now() - started).toBeLessThan(20_000);
    }
    page('/fine', 'fine');
    expect(text(await get(`${site.origin}/fine`))).toContain('fine');
  });

  it('refuses a DOM above the cap', async () => {
    page('/big', `<script>document.write('x'.repeat(300000))</script>`);
    await expect(get(`${site.origin}/big`, { maxBytes: 100_000 })).rejects.toMatchObject({
      code: 'SCRAPE_BODY_TOO_LARGE',
    });
  });
});

withBrowser('a page that attacks from inside the browser', () => {
  const target = (): string => `127.0.0.1:${forbidden.port}`;

  /** Tries everything a page can do to reach `port`, under each of these origins. */
  const attack = (port: number, origins: string[], udpPort: number): string => `<body><script>
    const t = '127.0.0.1:${port}';
    const add = (parent, tag, fields) => parent.append(Object.assign(document.createElement(tag), fields));
    for (const origin of ${JSON.stringify(origins)}) {
      fetch(origin + '/fetch', { mode: 'no-cors' }).catch(() => 0);
      navigator.sendBeacon(origin + '/beacon', 'x');
      for (const tag of ['iframe', 'img', 'script', 'embed', 'video']) add(document.body, tag, { src: origin + '/' + tag });
      add(document.body, 'object', { data: origin + '/object' });
      add(document.body, 'link', { rel: 'stylesheet', href: origin + '/style' });
      for (const rel of ['prefetch', 'preconnect', 'dns-prefetch', 'preload', 'modulepreload', 'icon', 'manifest']) {
        add(document.head, 'link', { rel, as: 'script', href: origin + '/' + rel });
      }
    }
    new WebSocket('ws://' + t + '/ws');
    new EventSource('http://' + t + '/sse');
    try { new WebTransport('https://' + t + '/wt').ready.catch(() => 0) } catch {}
    const code = "fetch('http://" + t + "/worker', { mode: 'no-cors' }).catch(() => 0); try { importScripts('http://" + t + "/import') } catch {}";
    new Worker(URL.createObjectURL(new Blob([code])));
    const pc = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:${udpPort}' },
      { urls: ['turn:' + t + '?transport=tcp', 'turn:127.0.0.1:${udpPort}?transport=udp'], username: 'u', credential: 'c' }] });
    pc.createDataChannel('x');
    pc.createOffer().then((offer) => pc.setLocalDescription(offer));
    add(document.body, 'iframe', { src: '/hop' });
    add(document.body, 'img', { src: '/hop' });
    window.open('http://' + t + '/open');
    window.open('file:///etc/passwd');
    window.open('chrome://version');
    add(document.body, 'iframe', { src: 'file:///etc/passwd' });
    const form = Object.assign(document.createElement('form'), { method: 'post', action: 'http://' + t + '/form', target: 'pop' });
    document.body.append(form, 'attacked');
    form.submit();
  </script>`;

  async function attackOn(port: number, origins: string[]): Promise<{ html: string; packets: number }> {
    const udp = await startUdpCounter();
    page('/attack', attack(port, origins, udp.port));
    routes['/hop'] = (_request, response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${port}/hopped` }).end();
    const answer = await get(`http://site.test:${site.port}/attack`, { waitForMs: 2_000, view: ALL_SEEN });
    udp.close();
    return { html: text(answer), packets: udp.packets };
  }

  it('would be seen if it reached an address: the same page against an allowed one', async () => {
    await attackOn(site.port, [site.origin]);
    const seen = new Set(site.log.map((line) => line.split(' ')[1]));
    const tried = [
      'fetch',
      'beacon',
      'iframe',
      'img',
      'script',
      'video',
      'style',
      'object',
      'ws',
      'sse',
      'worker',
      'import',
      'hopped',
      'form',
    ];
    expect(tried.filter((path) => !seen.has(`/${path}`))).toEqual([]);
  });

  it('cannot reach a forbidden address by any kind of request', async () => {
    const hosts = ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0x7f.1', '2130706433'];
    const origins = hosts.map((host) => `http://${host}:${forbidden.port}`);
    const { html, packets } = await attackOn(forbidden.port, [...origins, `http://elsewhere.test:${site.port}`]);
    expect(html).toContain('attacked');
    expect(html).not.toMatch(/root:|secret/);
    expect(site.log).toContain('GET /hop');
    expect([forbidden.connections, packets]).toEqual([0, 0]);
  });

  it('cannot navigate to a forbidden address by redirect or script', async () => {
    routes['/moved'] = (_request, response) => response.writeHead(302, { location: `http://${target()}/` }).end();
    page('/script', `<script>location.href = 'http://${target()}/'</script>`);
    page('/refresh', `<meta http-equiv=refresh content="0;url=http://elsewhere.test:${site.port}/">`);
    for (const path of ['/moved', '/script', '/refresh']) {
      await expect(get(site.origin + path)).rejects.toMatchObject({ code: 'SCRAPE_TARGET_FORBIDDEN' });
    }
    expect(forbidden.connections).toBe(0);
  });
});

describe('without a browser', () => {
  it('says how to get one', async () => {
    const allow = parseAllowList('true');
    const resolver = new Resolver({ servers: [dns.address], allow });
    const pool = new BrowserPool({ browsers: null, concurrency: 1, proxy, userAgent: 'T' });
    const none = new BrowserEngine({ pool, resolver, allow });
    expect(none.isAvailable).toBe(false);
    const failed = get('http://site.test/', {}, none);
    await expect(failed).rejects.toMatchObject({ code: 'SCRAPE_ALL_ENGINES_FAILED', retryable: false });
    await expect(failed).rejects.toThrow(/CHROMIUM_PATH/);
  });
});

withBrowser('the life of the browser', () => {
  /** The profiles of all browsers on this machine. Browsers of other processes come and go. */
  const profiles = (): string[] => readdirSync(os.tmpdir()).filter((name) => name.startsWith('troupe-browser-'));

  it('ends after a while without pages, and starts again when needed', async () => {
    const allow = parseAllowList(`127.0.0.1:${site.port}`);
    const resolver = new Resolver({ servers: [dns.address], allow });
    const pool = new BrowserPool({ browsers: browsersHere, concurrency: 1, proxy, userAgent: 'T', idleMs: 200 });
    const short = new BrowserEngine({ pool, resolver, allow });
    page('/', 'hello');
    const before = profiles();
    await get(`${site.origin}/`, {}, short);
    const made = profiles().filter((name) => !before.includes(name));
    expect(made).not.toEqual([]);
    const isGone = () => !made.every((name) => profiles().includes(name));
    for (let i = 0; i < 200 && !isGone(); i++) await new Promise((resolve) => setTimeout(resolve, 100));
    expect(isGone()).toBe(true);
    expect(text(await get(`${site.origin}/`, {}, short))).toContain('hello');
    await short.close();
  });
});
