import http2, { type Http2SecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseAllowList, Resolver } from '@troupe/egress';
import { EgressProxy } from '../proxies/egress-proxy.js';
import { type EngineRequest, type EngineResponse } from './engine.js';
import { GotEngine } from './got.engine.js';
import { engineRequest } from './engine-request.fixture.js';
import {
  startDns,
  startRaw,
  startSite,
  TEST_CERT,
  TEST_KEY,
  type DnsServer,
  type RawServer,
  type Site,
} from '@troupe/testing';

let site: Site;
let forbidden: Site;
let modern: Http2SecureServer;
let odd: RawServer;
let dns: DnsServer;
let proxy: EgressProxy;
let engine: GotEngine;
let modernPort = 0;
const modernHits: string[] = [];

const text = (response: EngineResponse): string => Buffer.from(response.body).toString();

function get(url: string, changes: Partial<EngineRequest> = {}): Promise<EngineResponse> {
  const request = engineRequest(url, { timeoutMs: 10_000, maxBytes: 1024 * 1024, ...changes });
  return engine.fetch(request, new AbortController().signal);
}

beforeAll(async () => {
  site = await startSite((request, response) => {
    if (request.url === '/redirect') return response.writeHead(302, { location: '/page' }).end();
    if (request.url === '/out')
      return response.writeHead(302, { location: `http://127.0.0.1:${forbidden.port}/` }).end();
    if (request.url === '/bomb')
      return response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(4 << 20)));
    if (request.url === '/never') return;
    response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' }).end(gzipSync('<p>hello</p>'));
  });
  forbidden = await startSite((_request, response) => response.end('secret'));
  odd = await startRaw((socket) =>
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nx-odd: a\x01b\r\n\r\nforgiven')),
  );
  modern = http2.createSecureServer({ key: TEST_KEY, cert: TEST_CERT, allowHTTP1: true }, (request, response) => {
    modernHits.push(request.httpVersion);
    response.end('modern');
  });
  await new Promise<void>((resolve) => modern.listen(0, '127.0.0.1', resolve));
  modernPort = (modern.address() as AddressInfo).port;
  dns = await startDns({ 'site.test': ['127.0.0.1'], 'elsewhere.test': ['127.0.0.7'] });
  const allow = parseAllowList([site.port, odd.port, modernPort].map((port) => `127.0.0.1:${port}`).join(','));
  const resolver = new Resolver({ servers: [dns.address], allow });
  proxy = new EgressProxy(resolver);
  engine = new GotEngine({ resolver, allow, proxy });
});

afterAll(async () => {
  await proxy.close();
  await Promise.all([site.close(), forbidden.close(), odd.close()]);
  modern.close();
  dns.close();
});

describe('the got engine', () => {
  it('fetches a page by a name that only our resolver knows, looking like a browser', async () => {
    const answer = await get(`http://site.test:${site.port}/redirect`);
    expect(answer).toMatchObject({ statusCode: 200, engine: 'got', redirects: [`http://site.test:${site.port}/page`] });
    expect(text(answer)).toBe('<p>hello</p>');
    expect(site.headers.at(-1)?.['user-agent']).toMatch(/^Mozilla\/5\.0/);
  });

  it('speaks HTTP/2 where the server does, through the proxy', async () => {
    const answer = await get(`https://localhost:${modernPort}/`, { skipTlsVerification: true });
    expect([answer.statusCode, text(answer), modernHits.at(-1)]).toEqual([200, 'modern', '2.0']);
  });

  it('falls back to HTTP/1.1 for a certificate of another name, reached by a name that only our resolver knows', async () => {
    const answer = await get(`https://site.test:${modernPort}/`, { skipTlsVerification: true });
    expect([answer.statusCode, text(answer), modernHits.at(-1)]).toEqual([200, 'modern', '1.1']);
  });

  it('verifies certificates unless told otherwise', async () => {
    await expect(get(`https://127.0.0.1:${modernPort}/`)).rejects.toMatchObject({
      code: 'SCRAPE_SSL_ERROR',
      retryable: false,
    });
  });

  it('never connects to a forbidden address, directly, by name or by redirect', async () => {
    const urls = [
      `http://127.0.0.1:${forbidden.port}/`,
      `https://127.0.0.1:${forbidden.port}/`,
      `http://elsewhere.test:${site.port}/`,
      `${site.origin}/out`,
    ];
    for (const url of urls) await expect(get(url)).rejects.toMatchObject({ code: 'SCRAPE_TARGET_FORBIDDEN' });
    expect(forbidden.connections).toBe(0);
  });

  it('forgives headers that the plain client refuses', async () => {
    expect(text(await get(`http://127.0.0.1:${odd.port}/`))).toBe('forgiven');
  });

  it('holds the caps and the deadline', async () => {
    await expect(get(`${site.origin}/bomb`)).rejects.toMatchObject({ code: 'SCRAPE_BODY_TOO_LARGE' });
    const slow = get(`${site.origin}/never`, { timeoutMs: 300 });
    await expect(slow).rejects.toMatchObject({ code: 'SCRAPE_TIMEOUT', retryable: true });
  });

  it('says in one line that a site refuses connections', async () => {
    const gone = await startSite(() => undefined);
    await gone.close();
    const allow = parseAllowList(`127.0.0.1:${gone.port}`);
    const resolver = new Resolver({ servers: [], allow });
    const other = new EgressProxy(resolver);
    const lonely = new GotEngine({ resolver, allow, proxy: other });
    const request = engineRequest(`${gone.origin}/`, { timeoutMs: 5_000, maxBytes: 1 });
    const refused = lonely.fetch(request, new AbortController().signal);
    await expect(refused).rejects.toMatchObject({ code: 'SCRAPE_SITE_ERROR', retryable: true });
    await other.close();
  });
});
