/** Patterns and schemas that take long to compile are their author's trouble: neither the API nor other crawls wait for them. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startDns, type DnsServer } from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';

const GAP_MS = 250;
const ATTACK_MS = 8_000;
/** Seconds of compiling in a pattern of 1,500 characters, some of it for a program of a few instructions. */
const COUNTED = '(\\pL|\\pN){0,60}'.repeat(100);
const FOLDED = `(?i)[${'b-\u{10ffff}'.repeat(300)}]`;
/** Cheap to compile, as dear to match as patterns get: 100 ms and more for an address of `RANDOM`. Nearly all of the budget. */
const DEAR = Array.from({ length: 13 }, (_, i) => `${i}z|(?:a|ab|b)(?:[ab]{1,250}){1,3}[cd]$`);
const RANDOM = randomText(1_900);

/** Of two letters, so that patterns of both never know where they are. */
function randomText(chars: number): string {
  let text = '';
  for (let i = 0, x = 12345; i < chars; i++) {
    x = (x * 1103515245 + 12345) % 2 ** 31;
    text += (x >> 16) & 1 ? 'a' : 'b';
  }
  return text;
}

const longPath = (i: number): string => RANDOM.slice(i) + RANDOM.slice(0, i);

let cluster: TestCluster;
let api: ApiClient;
let server: Server;
let names: DnsServer;
let origin: string;
/** `performance.now()` of each page of the modest crawl. */
const served: number[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.url === '/robots.txt') return void response.writeHead(404).end();
    if (request.url!.startsWith('/modest')) served.push(performance.now());
    const section = `/${request.url!.split('/')[1]}`;
    const name = (i: number) => (section === '/dear' ? longPath(i) : i);
    const links = Array.from({ length: 200 }, (_, i) => `<a href="${section}/${name(i)}">${i}</a>`).join(' ');
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<title>x</title><main><p>A page.</p>${links}</main>`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  names = await startDns({ 'elsewhere.test': ['127.0.0.1'], 'dear.test': ['127.0.0.1'] });
  cluster = await startCluster({ env: { ALLOW_PRIVATE_TARGETS: '127.0.0.0/8', DNS_SERVERS: names.address } });
  api = new ApiClient(cluster.url, cluster.apiKey);
}, 180_000);

afterAll(async () => {
  await cluster?.stop();
  names?.close();
  server?.closeAllConnections();
  server?.close();
}, 60_000);

/** The dearest list that every version would take from a client, and longer ones. */
function bodies(): [path: string, body: object][] {
  const elsewhere = origin.replace('127.0.0.1', 'elsewhere.test');
  const url = `${elsewhere}/attack`;
  const dear = { url: `${elsewhere}/dear`, limit: 20, crawlEntireDomain: true, sitemap: 'skip', excludePaths: DEAR };
  const numbered = (pattern: string, count: number) => Array.from({ length: count }, (_, i) => `${pattern}${i}`);
  const properties = Object.fromEntries(
    Array.from({ length: 400 }, (_, i) => [
      `p${i}`,
      { type: 'object', properties: { a: { enum: [i, `${i}`] }, b: { anyOf: [{ type: 'string' }, { minimum: i }] } } },
    ]),
  );
  const facts = { type: 'json', selectors: { title: 'title' }, schema: { type: 'object', properties } };
  const slow = { type: 'object', properties: { a: { type: 'string', pattern: FOLDED } } };
  return [
    ['/v2/crawl', { url, includePaths: numbered(COUNTED, 20) }],
    ['/v2/crawl', { url, includePaths: numbered(FOLDED, 5) }],
    ['/v2/crawl', { url, excludePaths: numbered('x'.repeat(1_900), 10) }],
    ['/v2/crawl', dear],
    ['/v2/crawl/explain', { ...dear, urls: Array.from({ length: 100 }, (_, i) => `${dear.url}/${longPath(i)}`) }],
    ['/v2/scrape', { url, formats: [facts] }],
    ['/v2/scrape', { url, formats: [{ ...facts, schema: slow }] }],
  ];
}

/** Posts them one after the other until it is over; ids of the crawls that were accepted. */
async function attack(signal: AbortSignal): Promise<{ posts: number; jobs: string[] }> {
  const jobs: string[] = [];
  let posts = 0;
  const one = async (first: number): Promise<void> => {
    for (let at = first; !signal.aborted; at++) {
      const [path, body] = bodies()[at % bodies().length]!;
      const answer = await api.post(path, body);
      posts++;
      if (path === '/v2/crawl' && answer.status === 200) jobs.push(answer.body.id as string);
    }
  };
  await Promise.all([one(0), one(2), one(4)]);
  return { posts, jobs };
}

async function timesOfRoot(forMs: number): Promise<number[]> {
  const times: number[] = [];
  for (const endsAt = performance.now() + forMs; performance.now() < endsAt;) {
    const startedAt = performance.now();
    await (await fetch(`${cluster.url}/`)).arrayBuffer();
    times.push(performance.now() - startedAt);
    await sleep(20);
  }
  return times.sort((a, b) => a - b);
}

const p99 = (times: readonly number[]): number => times[Math.floor(times.length * 0.99)] ?? times.at(-1)!;

/** Pages per second of the modest crawl. */
function rateIn(from: number, to: number): number {
  return (served.filter((at) => at >= from && at < to).length * 1000) / (to - from);
}

async function cancelled(id: string): Promise<void> {
  const startedAt = performance.now();
  const { status } = await api.call(`/v2/crawl/${id}`, { method: 'DELETE' });
  // 409: it was over before.
  expect([200, 409]).toContain(status);
  await api.finished(`/v2/crawl/${id}`, 10_000);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
}

describe('patterns and schemas that are costly to compile', () => {
  it('are refused with their place and the number when there are too many', async () => {
    const includePaths = Array.from({ length: 70 }, (_, i) => `${i}`.padEnd(1_990, 'x'));
    const answer = await api.post('/v2/crawl', { url: `${origin}/seventy`, includePaths });
    expect(answer.status).toBe(400);
    expect(answer.body.details).toMatchObject([{ path: ['includePaths', 10] }]);
    expect(answer.text).toMatch(/cost 2\d{4} to compile, at most 20000 are allowed/);
  });

  it('hold up neither the API nor other crawls, posted again and again', async () => {
    const modest = await api.post('/v2/crawl', { url: `${origin}/modest`, delay: GAP_MS / 1000, sitemap: 'skip' });
    expect(modest.status).toBe(200);
    for (const until = performance.now() + 20_000; served.length < 4 && performance.now() < until;) await sleep(50);
    const quietFrom = performance.now();
    const quiet = p99(await timesOfRoot(5_000));
    const attackFrom = performance.now();
    const ends = new AbortController();
    const attacking = attack(ends.signal);
    const busy = p99(await timesOfRoot(ATTACK_MS));
    const attackTo = performance.now();
    ends.abort();
    const { posts, jobs } = await attacking;
    const rates = { quiet: rateIn(quietFrom, attackFrom), busy: rateIn(attackFrom, attackTo) };
    const shown = (n: number): string => n.toFixed(1);
    process.stderr.write(
      `    GET / p99 ${shown(busy)} ms under attack, ${shown(quiet)} ms before; another crawl ${shown(rates.busy)} pages/s, ${shown(rates.quiet)} before; ${posts} posts, ${jobs.length} crawls taken\n`,
    );
    expect(posts).toBeGreaterThan(0);
    expect(jobs.length).toBeGreaterThan(0);
    // A machine that is busy with other things is slow on its own.
    expect(busy).toBeLessThan(Math.max(50, 3 * quiet));
    expect(rates.busy).toBeGreaterThanOrEqual(0.9 * rates.quiet);
    for (const id of [modest.body.id as string, ...jobs.slice(-3)]) await cancelled(id);
  }, 120_000);

  it('leave out the links that they have no time for, and say so', async () => {
    const { status, body } = await api.post('/v2/crawl', {
      url: `${origin.replace('127.0.0.1', 'dear.test')}/dear`,
      limit: 5,
      crawlEntireDomain: true,
      sitemap: 'skip',
      excludePaths: DEAR,
    });
    expect(status).toBe(200);
    const path = `/v2/crawl/${body.id as string}`;
    const end = await api.finished<{ status: string; warning?: string }>(path, 60_000);
    expect(end).toMatchObject({ status: 'completed', warning: expect.stringContaining('took too long to match') });
    const { body: ledger } = await api.call(`${path}/ledger`);
    expect(ledger).toMatchObject({ excluded: { 'pattern-budget': expect.any(Number) } });
  }, 90_000);

  it('end with their crawl when it is cancelled', async () => {
    const excludePaths = Array.from({ length: 10 }, (_, i) => `${i}`.padEnd(1_990, 'y'));
    const { status, body } = await api.post('/v2/crawl', { url: `${origin}/large`, excludePaths, delay: 1 });
    expect(status).toBe(200);
    await sleep(2_000);
    await cancelled(body.id as string);
  }, 60_000);
});
