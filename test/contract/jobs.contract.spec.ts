/** Scrape, batch, crawl and map on a small site of our own. A cluster that is named must allow loopback targets. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { api, call, post, useGateway } from './api.js';

useGateway();

const PAGES = 12;
let site: Server;
let origin = '';

function page(n: number): string {
  const links = Array.from({ length: PAGES }, (_, i) => `<a href="/p/${i}">page ${i}</a>`).join(' ');
  return `<html><head><title>Page ${n}</title></head><body><main><h1>Page ${n}</h1><p>Text of page ${n}.</p>${links}</main></body></html>`;
}

function startSite(): Promise<void> {
  site = createServer((request, response) => {
    const match = /^\/p\/(\d+)$/.exec(request.url ?? '');
    if (request.url !== '/' && !match)
      return void response.writeHead(404, { 'content-type': 'text/plain' }).end('not here');
    response.writeHead(200, { 'content-type': 'text/html' }).end(page(Number(match?.[1] ?? 0)));
  });
  return new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
}

interface Status {
  status: string;
  total: number;
  completed: number;
  creditsUsed: number;
  expiresAt: string;
  next?: string;
  data: { markdown?: string; metadata: { sourceURL: string; statusCode: number; scrapeId: string } }[];
}

const finished = (path: string) => api().finished<Status>(path);

describe('jobs on a real site', () => {
  beforeAll(async () => {
    await startSite();
    origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  });
  afterAll(() => void site.close());

  it('a scrape answers with the page and can be asked for again by its id', async () => {
    const { status, body } = await post('/v2/scrape', { url: `${origin}/p/3`, formats: ['markdown', 'links'] });
    expect(status).toBe(200);
    const data = body.data as Status['data'][number];
    expect(data.markdown).toContain('Text of page 3.');
    expect(data.metadata).toMatchObject({
      sourceURL: `${origin}/p/3`,
      statusCode: 200,
      proxyUsed: 'basic',
      creditsUsed: 1,
    });
    await sleep(500);
    expect((await call(`/v2/scrape/${data.metadata.scrapeId}`)).body).toEqual({ success: true, data: body.data });
  });

  it('an error page of the target is a success with its status', async () => {
    const { status, body } = await post('/v2/scrape', { url: `${origin}/missing` });
    expect(status).toBe(200);
    expect((body.data as { metadata: object }).metadata).toMatchObject({ statusCode: 404, error: expect.any(String) });
  });

  it('an unknown host is HTTP 200 with success false', async () => {
    const { status, body } = await post('/v2/scrape', { url: 'http://no-such-host.invalid/' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ success: false, code: 'SCRAPE_DNS_RESOLUTION_ERROR', error: expect.any(String) });
  });

  it('a crawl finds every page once, and pages of three give the same set', async () => {
    const { body } = await post('/v2/crawl', { url: origin, sitemap: 'skip' });
    expect(body).toMatchObject({ success: true, id: expect.any(String), url: expect.stringContaining('/v2/crawl/') });
    const whole = await finished(`/v2/crawl/${body.id as string}`);
    expect(whole).toMatchObject({
      status: 'completed',
      total: PAGES + 1,
      completed: PAGES + 1,
      creditsUsed: PAGES + 1,
    });
    expect(whole).not.toHaveProperty('next');
    const paged: string[] = [];
    let next: string | undefined = `/v2/crawl/${body.id as string}?limit=3`;
    while (next) {
      const part = (await call(next)).body as unknown as Status;
      expect(part.data.length).toBeLessThanOrEqual(3);
      paged.push(...part.data.map((document) => document.metadata.sourceURL));
      next = part.next;
    }
    expect(paged).toEqual(whole.data.map((document) => document.metadata.sourceURL));
    expect(new Set(paged).size).toBe(PAGES + 1);
  });

  it('a finished crawl cannot be cancelled, its pages can be asked for by their ids', async () => {
    const { body } = await post('/v2/crawl', { url: origin, limit: 1 });
    const { data } = await finished(`/v2/crawl/${body.id as string}`);
    expect(await call(`/v2/crawl/${body.id as string}`, { method: 'DELETE' })).toMatchObject({
      status: 409,
      body: { error: 'Job already finished' },
    });
    expect((await call(`/v2/scrape/${data[0]!.metadata.scrapeId}`)).body).toEqual({ success: true, data: data[0] });
    expect((await call(`/v2/crawl/${body.id as string}/errors`)).body).toMatchObject({ errors: [], robotsBlocked: [] });
  });

  it('a cancelled crawl says so, however often it is cancelled', async () => {
    const { body } = await post('/v2/crawl', { url: origin, delay: 5 });
    for (let times = 0; times < 2; times++) {
      const cancel = await call(`/v2/crawl/${body.id as string}`, { method: 'DELETE' });
      expect(cancel).toMatchObject({ status: 200, body: { success: true, status: 'cancelled' } });
    }
    expect((await finished(`/v2/crawl/${body.id as string}`)).status).toBe('cancelled');
  });

  it('a batch scrapes repeated URLs once per occurrence and answers under the crawl path too', async () => {
    const urls = [`${origin}/p/1`, 'nope', `${origin}/p/1`, `${origin}/p/2`];
    const { body } = await post('/v2/batch/scrape', { urls });
    expect(body).toMatchObject({ success: true, invalidURLs: ['nope'] });
    const status = await finished(`/v2/crawl/${body.id as string}`);
    expect(status).toMatchObject({ status: 'completed', total: 3, completed: 3 });
    expect(status.data.map((document) => document.metadata.sourceURL).sort()).toEqual([urls[0], urls[0], urls[3]]);
  });

  it('an idempotency key works once', async () => {
    const headers = { 'x-idempotency-key': `contract-${Date.now()}` };
    expect((await post('/v2/batch/scrape', { urls: ['nope'] }, headers)).status).toBe(400);
    expect((await post('/v2/batch/scrape', { urls: [`${origin}/p/1`] }, headers)).status).toBe(200);
    expect(await post('/v2/batch/scrape', { urls: [`${origin}/p/1`] }, headers)).toMatchObject({
      status: 409,
      body: { error: 'Idempotency key already used' },
    });
  });

  it('a map lists the links as objects', async () => {
    const { status, body } = await post('/v2/map', { url: origin, sitemap: 'skip' });
    expect(status).toBe(200);
    const links = body.links as { url: string }[];
    expect(links.map(({ url }) => url)).toEqual(expect.arrayContaining([`${origin}/p/1`]));
  });

  it('a status request that is up to date is held, and answered with the same cursor', async () => {
    const { body } = await post('/v2/crawl', { url: origin, delay: 20 });
    const path = `/v2/crawl/${body.id as string}`;
    let status = (await call(path)).body as unknown as Status;
    for (let tries = 0; tries < 50 && status.data.length < 1; tries++) {
      await sleep(100);
      status = (await call(path)).body as unknown as Status;
    }
    const startedMs = performance.now();
    const held = (await call(status.next!)).body as unknown as Status;
    expect(performance.now() - startedMs).toBeGreaterThan(1500);
    expect(held.data).toEqual([]);
    expect(held.next).toBe(status.next);
    await call(path, { method: 'DELETE' });
  });
});
