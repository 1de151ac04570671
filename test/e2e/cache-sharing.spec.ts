/** Scrapes of one page at one time, through three fetchers: what reaches the site, and who is given what. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { BUCKETS } from '@troupe/contracts';
import { NatsLink } from '@troupe/messaging';
import { startSite, type Site } from '@troupe/testing';
import { ApiClient, type Answer } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';

const SETUP_TIMEOUT_MS = 180_000;
const TEST_TIMEOUT_MS = 120_000;
const SLOW_MS = 2_000;

interface Page {
  markdown: string;
  metadata: { statusCode: number; cacheState?: string; cachedAt?: string; creditsUsed: number };
}

let site: Site;
let cluster: TestCluster;
let api: ApiClient;
let other: ApiClient;
let link: NatsLink;
/** Answers that were given up by their client, by path. */
let dropped: string[];
let edition: number;

beforeAll(async () => {
  dropped = [];
  edition = 1;
  site = await startSite((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site.test');
    response.on('close', () => !response.writableFinished && dropped.push(pathname));
    if (pathname === '/robots.txt') return void response.writeHead(404).end();
    setTimeout(() => answer(pathname, response), Number(searchParams.get('ms') ?? 0));
  });
  cluster = await startCluster({
    args: ['--fetchers', '3'],
    env: {
      ALLOW_PRIVATE_TARGETS: '127.0.0.1',
      HOST_GAP_MS: '0',
      TEAM_CONCURRENCY: '100',
      CACHE_MAX_MB: '64',
      TROUPE_BOOTSTRAP_KEYS: 'first:key-of-the-first-team,second:key-of-the-second-team',
    },
  });
  api = new ApiClient(cluster.url, 'key-of-the-first-team');
  other = new ApiClient(cluster.url, 'key-of-the-second-team');
  link = await NatsLink.open({ server: { natsUrl: (await cluster.record()).nats }, name: 'spec' });
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await link?.close();
  await cluster?.stop();
  await site?.close();
}, SETUP_TIMEOUT_MS);

beforeEach(() => void (site.log.length = 0));

function answer(pathname: string, response: ServerResponse): void {
  const headers: Record<string, string> = { 'content-type': 'text/html' };
  if (pathname.startsWith('/no-store')) headers['cache-control'] = 'no-store';
  if (pathname.startsWith('/private')) headers['cache-control'] = 'private, max-age=0';
  const status = pathname.startsWith('/missing') ? 404 : 200;
  const text = `Page ${pathname}, edition ${pathname.startsWith('/news') ? edition++ : 1}`;
  response.writeHead(status, headers);
  response.end(`<!doctype html><title>${text}</title><main><h1>${text}</h1><p>Enough words for a page.</p></main>`);
}

const asked = (path: string) => site.log.filter((line) => line.startsWith(`GET ${path}`)).length;

async function scrape(path: string, options: object = {}, client = api): Promise<Page> {
  return pageOf(await client.post('/v2/scrape', { url: site.origin + path, ...options }));
}

function pageOf({ status, body, text }: Answer): Page {
  if (status !== 200) throw new Error(`answered ${status}: ${text}`);
  return body.data as Page;
}

function atOnce(count: number, path: string, options: object = {}, client = api): Promise<Page[]> {
  return Promise.all(Array.from({ length: count }, () => scrape(path, options, client)));
}

const statesOf = (pages: Page[]) => pages.map(({ metadata }) => metadata.cacheState ?? 'none').sort();
const times = (count: number, what: string): string[] => Array.from({ length: count }, () => what);

async function keysUnderWay(): Promise<{ key: string; fetcher: string }[]> {
  const bucket = await link.kv(BUCKETS.flight);
  const held: { key: string; fetcher: string }[] = [];
  for await (const key of await bucket.keys()) {
    const fetcher = (await bucket.get(key))?.string() ?? '';
    if (fetcher !== '') held.push({ key, fetcher });
  }
  return held;
}

async function eventually(condition: () => boolean | Promise<boolean>, withinMs = 10_000): Promise<void> {
  const untilMs = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > untilMs) throw new Error('it did not happen in time');
    await sleep(20);
  }
}

describe('a page that is scraped again the moment its answer is there', () => {
  it(
    'comes from the cache each of 200 times, whichever fetcher is asked',
    async () => {
      const seconds: Page[] = [];
      for (let i = 0; i < 200; i++) {
        const first = await scrape(`/again/${i}`);
        const second = await scrape(`/again/${i}`);
        expect(first.metadata.cacheState).toBe('miss');
        expect(second.markdown).toBe(first.markdown);
        seconds.push(second);
      }
      expect(statesOf(seconds)).toEqual(times(200, 'hit'));
      expect(asked('/again/')).toBe(200);
      expect(seconds.every(({ metadata }) => metadata.creditsUsed === 1)).toBe(true);
      expect(seconds.every(({ metadata }) => Math.abs(Date.parse(metadata.cachedAt!) - Date.now()) < 60_000)).toBe(
        true,
      );
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'comes from the cache in the words of v1, too',
    async () => {
      const v1 = async () => {
        const { body } = await api.post('/v1/scrape', { url: `${site.origin}/v1`, maxAge: 60_000 });
        return (body.data as Page).metadata.cacheState;
      };
      expect([await v1(), await v1()]).toEqual(['miss', 'hit']);
      expect(asked('/v1')).toBe(1);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'is the newest one, when it was fetched anew in between',
    async () => {
      const texts: string[] = [];
      for (const options of [{}, { maxAge: 0 }, {}, {}, { maxAge: 1 }, {}]) {
        const { markdown } = await scrape('/news', options);
        texts.push(/edition \d+/.exec(markdown)![0]);
      }
      expect(texts).toEqual(['1', '2', '2', '2', '3', '3'].map((n) => `edition ${n}`));
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'is fetched again when its site does not let it be kept, and is not when it is private',
    async () => {
      await scrape('/no-store');
      await scrape('/private');
      await sleep(1_000);
      expect((await scrape('/no-store')).metadata.cacheState).toBe('miss');
      expect((await scrape('/private')).metadata.cacheState).toBe('hit');
    },
    TEST_TIMEOUT_MS,
  );
});

describe('many scrapes of one slow page', () => {
  it(
    'are one request, and hits but for one',
    async () => {
      const startedMs = performance.now();
      const pages = await atOnce(50, `/slow?ms=${SLOW_MS}`);
      expect(asked('/slow')).toBe(1);
      expect(statesOf(pages)).toEqual([...times(49, 'hit'), 'miss']);
      expect(new Set(pages.map(({ markdown }) => markdown)).size).toBe(1);
      expect(performance.now() - startedMs).toBeLessThan(SLOW_MS + 4_000);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'each get the formats that they asked for',
    async () => {
      const [asMarkdown, asLinks, asHtml] = await Promise.all(
        ['markdown', 'links', 'rawHtml'].map((format) => scrape('/formats?ms=500', { formats: [format] })),
      );
      expect(asked('/formats')).toBe(1);
      expect(asMarkdown).toHaveProperty('markdown');
      expect(asLinks).toMatchObject({ links: [] });
      expect(asHtml).toHaveProperty('rawHtml', expect.stringContaining('<h1>'));
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'are another one for each team, and for each that has headers of its own',
    async () => {
      const mine = atOnce(5, '/apart?ms=1000');
      const theirs = atOnce(5, '/apart?ms=1000', {}, other);
      const personal = atOnce(3, '/apart?ms=1000', { headers: { 'x-a': 'b' } });
      const pages = await Promise.all([mine, theirs, personal]);
      expect(asked('/apart')).toBe(1 + 1 + 3);
      expect(pages.map(statesOf)).toEqual([
        [...times(4, 'hit'), 'miss'],
        [...times(4, 'hit'), 'miss'],
        times(3, 'none'),
      ]);
      expect((await scrape('/apart?ms=1000', { headers: { 'x-a': 'b' } })).metadata.cacheState).toBeUndefined();
      expect(asked('/apart')).toBe(6);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'are as many requests when none of them wants what others have',
    async () => {
      expect(statesOf(await atOnce(4, '/alone?ms=500', { maxAge: 0 }))).toEqual(times(4, 'none'));
      expect(asked('/alone')).toBe(4);
      expect(statesOf(await atOnce(4, '/unstored?ms=500', { storeInCache: false }))).toEqual(times(4, 'miss'));
      expect(asked('/unstored')).toBe(4);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'do not share an error page',
    async () => {
      const pages = await atOnce(4, '/missing?ms=300');
      expect(pages.map(({ metadata }) => [metadata.statusCode, metadata.cacheState])).toEqual(
        times(4, '').map(() => [404, 'miss']),
      );
      expect(asked('/missing')).toBe(4);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'go on when the first caller leaves, and end when the last one does',
    async () => {
      const caller = (path: string) => {
        const leaving = new AbortController();
        const headers = { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' };
        const body = JSON.stringify({ url: site.origin + path });
        const init = { method: 'POST', headers, body, signal: leaving.signal };
        void fetch(`${cluster.url}/v2/scrape`, init).catch(() => undefined);
        return leaving;
      };
      const first = caller('/left?ms=5000');
      await eventually(() => asked('/left') === 1);
      const rest = atOnce(6, '/left?ms=5000');
      await sleep(1_000);
      first.abort();
      expect(statesOf(await rest)).toEqual(times(6, 'hit'));
      expect(asked('/left')).toBe(1);
      expect(dropped).not.toContain('/left');
      const deserters = [caller('/deserted?ms=20000'), caller('/deserted?ms=20000')];
      await eventually(() => asked('/deserted') === 1);
      await sleep(1_000);
      for (const leaving of deserters) {
        expect(dropped).not.toContain('/deserted');
        leaving.abort();
        await sleep(300);
      }
      await eventually(() => dropped.includes('/deserted'));
      expect(asked('/deserted')).toBe(1);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'leave no key when nothing may be kept, and one for some seconds else',
    async () => {
      await eventually(async () => (await keysUnderWay()).length === 0, 20_000);
      const personal = scrape('/untold?ms=500', { headers: { 'x-a': 'b' } });
      await eventually(() => asked('/untold') === 1);
      expect(await keysUnderWay()).toEqual([]);
      await personal;
      expect(await keysUnderWay()).toEqual([]);
      await scrape('/told');
      const [{ key } = { key: '' }] = await keysUnderWay();
      expect(key).toMatch(/^[\w-]{22}$/);
      await eventually(async () => (await keysUnderWay()).length === 0, 20_000);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'are two requests at most when their fetcher is killed, and all of them are answered',
    async () => {
      await eventually(async () => (await keysUnderWay()).length === 0, 20_000);
      const startedMs = performance.now();
      const scrapes = Array.from({ length: 50 }, () =>
        api.post('/v2/scrape', { url: `${site.origin}/killed?ms=${SLOW_MS}` }),
      );
      await eventually(() => asked('/killed') === 1);
      await sleep(500);
      const [{ fetcher } = { fetcher: '' }] = await keysUnderWay();
      const victim = await nameOf(fetcher);
      const pid = await cluster.signal(victim, 'SIGKILL');
      const answers = await Promise.all(scrapes);
      const tookMs = performance.now() - startedMs;
      await cluster.waitForRestart(victim, pid);
      expect(answers.filter(({ status, body }) => status !== 200 && typeof body.code !== 'string')).toEqual([]);
      expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(45);
      expect(asked('/killed')).toBeLessThanOrEqual(2);
      expect(tookMs).toBeLessThan(15_000);
    },
    TEST_TIMEOUT_MS,
  );
});

/** Name of the process with this id. */
async function nameOf(instance: string): Promise<string> {
  for (const { name, health } of await cluster.processes()) {
    if (health === null) continue;
    const report = (await (await fetch(`${health}/health/ready`)).json()) as { instance?: string };
    if (report.instance === instance) return name;
  }
  throw new Error(`no process ${instance}`);
}
