/**
 * The codes of a failed page (docs/api/errors.md), each produced by its cause, through v1 and v2 and in jobs. A cluster that is
 * named must allow loopback targets.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { startSite, type Handler, type Site } from '@troupe/testing';
import { type Answer } from '../support/api-client.js';
import { api, call, post, useGateway } from './api.js';

useGateway();

const VERSIONS = ['v1', 'v2'] as const;
const MB = 1024 * 1024;
/** Pages of a team that are fetched at the same time, by default. */
const TEAM_CONCURRENCY = 10;
/** The browser's first start on a busy machine takes this long. */
const PATIENT_MS = 60_000;
/** More than a body may have, in a few KB: many gzip members, which decoders read as one. */
const bomb = (): Buffer => Buffer.concat(Array<Buffer>(7).fill(gzipSync(Buffer.alloc(16 * MB))));
const HTML = { 'content-type': 'text/html' };
const text = (what: string): string =>
  `<html><body><main><h1>${what}</h1><p>Some words about ${what}.</p></main></body></html>`;

const challenge: Handler = (_request, response) =>
  response
    .writeHead(403, { ...HTML, server: 'cloudflare', 'cf-mitigated': 'challenge' })
    .end(
      '<html><head><title>Just a moment...</title></head><body><script>window._cf_chl_opt={}</script></body></html>',
    );

const PAGES: Record<string, Handler> = {
  '/fine': (_request, response) => response.writeHead(200, HTML).end(text('fine')),
  '/missing': (_request, response) => response.writeHead(404, HTML).end(text('missing')),
  '/broken': (_request, response) => response.writeHead(500, HTML).end(text('broken')),
  '/slow': () => undefined,
  '/loop': (_request, response) => response.writeHead(302, { location: '/loop' }).end(),
  '/to-private': (_request, response) => response.writeHead(302, { location: 'http://10.1.2.3/' }).end(),
  '/binary': (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(Buffer.alloc(5000, 7)),
  '/bomb': (_request, response) => response.writeHead(200, { ...HTML, 'content-encoding': 'gzip' }).end(bomb()),
  '/cut': (request, response) => {
    response.writeHead(200, { ...HTML, 'content-length': '1000' }).write('<html>');
    request.socket.destroy();
  },
  '/empty': (_request, response) => response.writeHead(200, HTML).end('<html><body> </body></html>'),
  '/challenge': challenge,
  '/challenge.pdf': challenge,
};

let site: Site;
let tlsSite: Site;
let closedPort = 0;

const serve: Handler = (request, response) => {
  const page = PAGES[request.url ?? ''];
  if (page === undefined) return void response.writeHead(404).end();
  page(request, response);
};

beforeAll(async () => {
  site = await startSite(serve);
  tlsSite = await startSite(serve, { tls: true });
  const closed = await startSite(serve);
  closedPort = closed.port;
  await closed.close();
});
afterAll(async () => {
  await Promise.all([site.close(), tlsSite.close()]);
});

interface Failure {
  code: string;
  status: number;
  url: () => string;
  options?: object;
  /** Found in the message. */
  says?: string;
}

const page = (path: string) => () => site.origin + path;
const FAILURES: Failure[] = [
  { code: 'SCRAPE_TIMEOUT', status: 408, url: page('/slow'), options: { timeout: 1000 }, says: '1000' },
  { code: 'SCRAPE_DNS_RESOLUTION_ERROR', status: 200, url: () => 'http://no-such-host.invalid/' },
  {
    code: 'SCRAPE_SSL_ERROR',
    status: 500,
    url: () => `${tlsSite.origin}/fine`,
    options: { skipTlsVerification: false },
  },
  { code: 'SCRAPE_SITE_ERROR', status: 500, url: () => `http://127.0.0.1:${closedPort}/` },
  { code: 'SCRAPE_SITE_ERROR', status: 500, url: page('/cut') },
  { code: 'SCRAPE_TOO_MANY_REDIRECTS', status: 500, url: page('/loop') },
  { code: 'SCRAPE_TARGET_FORBIDDEN', status: 403, url: () => 'http://10.1.2.3/' },
  { code: 'SCRAPE_TARGET_FORBIDDEN', status: 403, url: () => 'http://[::1]:1/' },
  { code: 'SCRAPE_TARGET_FORBIDDEN', status: 403, url: page('/to-private') },
  { code: 'SCRAPE_UNSUPPORTED_FILE_ERROR', status: 500, url: page('/binary') },
  { code: 'SCRAPE_BODY_TOO_LARGE', status: 500, url: page('/bomb') },
  { code: 'SCRAPE_EMPTY', status: 500, url: page('/empty') },
  { code: 'SCRAPE_BLOCKED', status: 500, url: page('/challenge') },
  { code: 'SCRAPE_PDF_ANTIBOT_ERROR', status: 500, url: page('/challenge.pdf') },
];

/** Nothing but what docs/api/errors.md shows, and no secret of the machine. */
function expectErrorBody({ body, text: raw }: Answer, code: string): void {
  expect(body).toEqual({ success: false, code, error: expect.any(String) });
  expect(raw).not.toMatch(/node_modules|\.js:\d|postgres:|nats:/);
}

describe.each(VERSIONS)('a %s scrape', (version) => {
  const scrape = (url: string, options: object = {}) => post(`/${version}/scrape`, { url, ...options });

  it.each(FAILURES)(
    'that ends in $code answers $status',
    async ({ code, status, url, options, says }) => {
      const answer = await scrape(url(), options);
      expect({ status: answer.status, code: answer.body.code }).toEqual({ status, code });
      expectErrorBody(answer, code);
      if (says !== undefined) expect(answer.body.error).toContain(says);
    },
    PATIENT_MS,
  );

  it.each([
    ['/missing', 404],
    ['/broken', 500],
  ])('of %s is a success with the status of the page', async (path, statusCode) => {
    const { status, body } = await scrape(site.origin + path);
    expect(status).toBe(200);
    expect(body).toMatchObject({ success: true, data: { metadata: { statusCode, error: expect.any(String) } } });
  });

  it('waits for a place no longer than two thirds of its timeout', async () => {
    const busy = Array.from({ length: TEAM_CONCURRENCY }, () => scrape(`${site.origin}/slow`, { timeout: 2500 }));
    await new Promise((resolve) => setTimeout(resolve, 300));
    const answer = await scrape(`${site.origin}/fine`, { timeout: 1500 });
    expect(answer.status).toBe(408);
    expectErrorBody(answer, 'CONCURRENCY_QUEUE_TIMEOUT');
    for (const { status } of await Promise.all(busy)) expect(status).toBe(408);
  });
});

describe('an untrusted certificate', () => {
  it('is accepted by default in v2 and refused by default in v1', async () => {
    const url = `${tlsSite.origin}/fine`;
    expect(await post('/v2/scrape', { url })).toMatchObject({ status: 200, body: { success: true } });
    expect(await post('/v1/scrape', { url })).toMatchObject({ status: 500, body: { code: 'SCRAPE_SSL_ERROR' } });
    expect(await post('/v1/scrape', { url, skipTlsVerification: true })).toMatchObject({ status: 200 });
  });
});

describe.each(VERSIONS)('a %s map', (version) => {
  it('that takes too long answers 408', async () => {
    const answer = await post(`/${version}/map`, { url: `${site.origin}/slow`, timeout: 1000 });
    expect(answer.status).toBe(408);
    expectErrorBody(answer, 'MAP_TIMEOUT');
  });

  it('of a site that cannot be reached answers 500', async () => {
    const answer = await post(`/${version}/map`, { url: `http://127.0.0.1:${closedPort}/` });
    expect(answer.status).toBe(500);
    expectErrorBody(answer, 'MAP_FAILED');
  });

  it('of a forbidden address answers 403', async () => {
    const answer = await post(`/${version}/map`, { url: 'http://192.168.1.1/' });
    expect(answer.status).toBe(403);
    expectErrorBody(answer, 'SCRAPE_TARGET_FORBIDDEN');
  });
});

interface Problem {
  id: string;
  timestamp: string;
  url: string;
  code: string;
  error: string;
}

describe.each(VERSIONS)('a %s job', (version) => {
  it(
    'lists its failed pages with their codes and ends completed',
    async () => {
      const wanted: Record<string, string> = {
        [`${site.origin}/binary`]: 'SCRAPE_UNSUPPORTED_FILE_ERROR',
        [`${site.origin}/loop`]: 'SCRAPE_TOO_MANY_REDIRECTS',
        [`${site.origin}/to-private`]: 'SCRAPE_TARGET_FORBIDDEN',
        'http://no-such-host.invalid/': 'SCRAPE_DNS_RESOLUTION_ERROR',
      };
      const started = await post(`/${version}/batch/scrape`, { urls: Object.keys(wanted) });
      const path = `/${version}/batch/scrape/${started.body.id as string}`;
      expect(await api().finished(path)).toMatchObject({ status: 'completed', total: 4, completed: 4, data: [] });
      const { body } = await call(`${path}/errors`);
      const errors = body.errors as Problem[];
      expect(Object.fromEntries(errors.map(({ url, code }) => [url, code]))).toEqual(wanted);
      for (const { id, timestamp, error } of errors) {
        expect(id).toMatch(/^[0-9a-f-]{36}$/);
        expect(new Date(timestamp).toISOString()).toBe(timestamp);
        expect(error).toEqual(expect.any(String));
      }
      expect(body.robotsBlocked).toEqual([]);
    },
    PATIENT_MS,
  );

  it(
    'whose start page cannot be had is failed, and says why, in a successful answer',
    async () => {
      const started = await post(`/${version}/crawl`, { url: 'http://no-such-host.invalid/' });
      const status = await api().finished(`/${version}/crawl/${started.body.id as string}`);
      expect(status).toMatchObject({ success: true, status: 'failed', error: expect.any(String), data: [] });
      expect(status).not.toHaveProperty('next');
    },
    PATIENT_MS,
  );

  it.each(['crawl', 'batch/scrape'])('of a forbidden address is not started: %s', async (kind) => {
    const url = 'http://10.1.2.3/';
    const body = kind === 'crawl' ? { url } : { urls: [url], ignoreInvalidURLs: false };
    const answer = await post(`/${version}/${kind}`, body);
    expect(answer.status).toBe(403);
    expectErrorBody(answer, 'SCRAPE_TARGET_FORBIDDEN');
  });

  it('may not ignore robots.txt or leave no traces without permission', async () => {
    const url = `${site.origin}/fine`;
    for (const options of [{ ignoreRobotsTxt: true }, { zeroDataRetention: true }]) {
      const { status, body } = await post(`/${version}/crawl`, { url, ...options });
      expect({ status, body }).toEqual({ status: 403, body: { success: false, error: expect.any(String) } });
    }
  });
});
