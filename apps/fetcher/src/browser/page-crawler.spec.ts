import { execFile } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { parseAllowList, Resolver } from '@troupe/egress';
import { BrowserEngine } from './browser.engine.js';
import { BrowserPool } from './browser-pool.js';
import { browsersHere } from '@troupe/testing';
import { EgressProxy } from '../proxies/egress-proxy.js';
import { engineRequest } from '../http/engine-request.fixture.js';
import { startSite, type Site } from '@troupe/testing';

const withBrowser = browsersHere === null ? describe.skip : describe;

const BUSY = 0.99;
const IDLE = 0.5;

let site: Site;
let proxy: EgressProxy;
let pool: BrowserPool;
let engine: BrowserEngine;
let load: number;
/** Pages that the site has been asked for, in order, and those that it has not answered. */
let asked: string[] = [];
let held: ServerResponse[] = [];
let showing: Promise<unknown>[] = [];
const resolver = new Resolver({ servers: [], allow: parseAllowList('127.0.0.1') });

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function until(condition: () => boolean, limitMs = 15_000): Promise<void> {
  for (const endsAt = performance.now() + limitMs; !condition() && performance.now() < endsAt;) await pause(20);
}

function start(places: { least: number; most: number }): void {
  const { least, most: concurrency } = places;
  const readLoad = (): number => load;
  pool = new BrowserPool({
    browsers: browsersHere,
    least,
    concurrency,
    proxy,
    userAgent: 'T',
    warmTabs: 0,
    readLoad,
  });
  engine = new BrowserEngine({ pool, resolver, allow: parseAllowList('127.0.0.1') });
}

function show(name: string, timeoutMs = 60_000): Promise<unknown> {
  const request = engineRequest(`${site.origin}/${name}`, { timeoutMs, contextKey: 'job' });
  const shown = engine.fetch(request, new AbortController().signal);
  shown.catch(() => undefined);
  showing.push(shown);
  return shown;
}

function crowd(size: number): void {
  for (let name = 1; name <= size; name++) void show(String(name));
}

const answerOne = (): void => void held.shift()?.end('<p>x</p>');

beforeAll(async () => {
  site = await startSite((request, response) => {
    if (!/^\/\w+$/.test(request.url ?? '')) return response.writeHead(404).end();
    asked.push(request.url ?? '');
    response.setHeader('content-type', 'text/html');
    if (request.url === '/fast') response.end('<p>x</p>');
    else held.push(response);
  });
  proxy = new EgressProxy(resolver);
});

beforeEach(() => {
  load = IDLE;
  asked = [];
  held = [];
  showing = [];
});

afterEach(async () => {
  while ((await Promise.race([Promise.allSettled(showing), pause(20)])) === undefined) answerOne();
  await engine.close();
});

afterAll(async () => {
  await proxy.close();
  await site.close();
});

withBrowser('pages in the crawler', () => {
  it('are shown as many at once as there are places, first in, first out', async () => {
    start({ least: 2, most: 2 });
    crowd(4);
    await until(() => asked.length === 2);
    await pause(1_500);
    expect(asked.slice().sort()).toEqual(['/1', '/2']);
    expect(pool.counts().busy).toBe(2);
    answerOne();
    await until(() => asked.length === 3);
    expect(asked[2]).toBe('/3');
    answerOne();
    await until(() => asked.length === 4);
    expect(asked[3]).toBe('/4');
  }, 60_000);

  it('get one place after the other while processors are idle and a page waits', async () => {
    start({ least: 1, most: 3 });
    crowd(5);
    await until(() => asked.length === 1);
    await until(() => asked.length === 3);
    await pause(2_500);
    expect([asked, pool.counts().busy]).toEqual([['/1', '/2', '/3'], 3]);
  }, 60_000);

  it('get no more while processors are busy', async () => {
    start({ least: 1, most: 3 });
    load = BUSY;
    crowd(2);
    await until(() => asked.length === 1);
    await pause(4_000);
    expect([asked, pool.counts().busy]).toEqual([['/1'], 1]);
  }, 60_000);

  it('lose places that are left while processors are busy', async () => {
    start({ least: 1, most: 3 });
    crowd(6);
    await until(() => asked.length === 3);
    load = BUSY;
    await pause(5_000);
    expect(pool.counts().busy).toBe(3);
    answerOne();
    answerOne();
    await until(() => pool.counts().busy === 1);
    await pause(1_500);
    expect([asked.length, pool.counts().busy]).toEqual([3, 1]);
    answerOne();
    await until(() => asked.length === 4);
    expect(asked[3]).toBe('/4');
  }, 60_000);

  it('begin with the least again after all pages have left', async () => {
    start({ least: 1, most: 2 });
    crowd(2);
    await until(() => asked.length === 2);
    answerOne();
    answerOne();
    await Promise.all(showing);
    await until(() => pool.counts().busy === 0);
    await pause(2_500);
    load = BUSY;
    await pause(1_500);
    crowd(2);
    await until(() => asked.length === 3);
    await pause(1_500);
    expect(pool.counts().busy).toBe(1);
  }, 60_000);

  it('are forgotten when their time is up before their turn has come', async () => {
    start({ least: 1, most: 1 });
    crowd(1);
    await until(() => asked.length === 1);
    const late = show('late', 300);
    void show('next');
    await expect(late).rejects.toMatchObject({ code: 'SCRAPE_TIMEOUT' });
    answerOne();
    await until(() => asked.length === 2);
    expect(asked).toEqual(['/1', '/next']);
  }, 60_000);
});

withBrowser('the crawler', () => {
  it('heeds no variable and no file of its surroundings, and leaves nothing in them', async () => {
    start({ least: 1, most: 1 });
    const folder = mkdtempSync(path.join(tmpdir(), 'troupe-crawler-'));
    writeFileSync(
      path.join(folder, 'crawlee.json'),
      '{ "persistStorage": true, "memoryMbytes": 1, "logLevel": "DEBUG" }',
    );
    const surprises = {
      CRAWLEE_PERSIST_STORAGE: '1',
      CRAWLEE_LOG_LEVEL: 'DEBUG',
      CRAWLEE_MEMORY_MBYTES: '1',
      CRAWLEE_STORAGE_DIR: path.join(folder, 'storage'),
      CRAWLEE_HEADLESS: '0',
      CRAWLEE_DEFAULT_BROWSER_PATH: '/nonexistent',
    };
    const program = fileURLToPath(new URL('browser-alone.fixture.js', import.meta.url));
    const run = promisify(execFile);
    const env = { ...process.env, ...surprises };
    const { stdout, stderr } = await run(process.execPath, [program, `${site.origin}/fast`], { cwd: folder, env });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual({ statusCode: 200, signals: 0, maxListeners: 10 });
    expect(readdirSync(folder)).toEqual(['crawlee.json']);
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);
});
