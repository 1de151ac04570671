/** Jobs watched while they run: the official JavaScript watchers, bare WebSockets, and streams of lines. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import Firecrawl, { type Document } from 'firecrawl';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { page, startKnownSite, type HostResources, type KnownSite } from '../sites/known-graph/index.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { CrawlClient, type JobStatus } from './crawl-client.js';
import { openWatch, type SeenWatch } from './watch-client.js';

const TIMEOUT_MS = 60_000;
const LEAVES = 24;
const LEAF_MS = 100;
const PAGES = LEAVES + 1;

let cluster: TestCluster;
let site: KnownSite;
let jobs: CrawlClient;
let client: Firecrawl;

const leaves = (folder: string): string[] => Array.from({ length: LEAVES }, (_, i) => `/${folder}/${i}`);

function build(): HostResources[] {
  const folder = (name: string, delayMs: number): HostResources => ({
    [`/${name}`]: page(leaves(name), { delayMs }),
    ...Object.fromEntries(leaves(name).map((path) => [path, page([], { delayMs })])),
  });
  return [{ ...folder('quick', 0), ...folder('slow', LEAF_MS), ...folder('slower', 4 * LEAF_MS) }];
}

beforeEach(() => site.reset());

beforeAll(async () => {
  site = await startKnownSite(build);
  cluster = await startCluster({
    env: { ALLOW_PRIVATE_TARGETS: '127.0.0.0/8', HOST_GAP_MS: '0', TEAM_CONCURRENCY: '64' },
  });
  jobs = new CrawlClient(cluster);
  client = new Firecrawl({ apiKey: cluster.apiKey, apiUrl: cluster.url });
  // The watcher of version 1 is written for browsers, which have one of their own.
  (globalThis as { WebSocket?: unknown }).WebSocket ??= WebSocket;
}, 120_000);

afterAll(async () => {
  await cluster?.stop();
  await site?.stop();
}, 120_000);

const startCrawl = (folder: string) => jobs.startCrawl({ url: site.url(`/${folder}`), sitemap: 'skip' });

async function startBatch(folder: string): Promise<string> {
  const urls = leaves(folder).map((path) => site.url(path));
  return (await jobs.call<{ id: string }>('POST', '/v2/batch/scrape', { urls })).id;
}

function watch(path: string, options: { key?: string; authorization?: string } = { key: cluster.apiKey }) {
  return openWatch(cluster.url + path, options);
}

const addresses = (documents: readonly { metadata?: { sourceURL?: string } }[]) =>
  documents.map(({ metadata }) => metadata?.sourceURL ?? '?').sort();

const crawlOf = (folder: string) => [`/${folder}`, ...leaves(folder)].map((path) => site.url(path)).sort();
const batchOf = (folder: string) =>
  leaves(folder)
    .map((path) => site.url(path))
    .sort();

/** One catchup first, nothing but documents behind it, each of them once. */
function expectWhole(seen: SeenWatch, wanted: string[]): void {
  expect(seen.frames.map(({ type }) => type)).toEqual(['catchup', ...seen.documents.map(() => 'document')]);
  expect(addresses([...seen.catchup!.data, ...seen.documents])).toEqual(wanted);
}

describe('a bare WebSocket', () => {
  it(
    'gets the key echoed, what there is, every further document within a second, and one end in the reason',
    async () => {
      const id = await startCrawl('slow');
      const seen = await watch(`/v2/crawl/${id}`).ended;
      expect(seen.protocol).toBe(cluster.apiKey);
      expect(seen.catchup).toMatchObject({ success: true, status: 'scraping', creditsUsed: expect.any(Number) });
      expect(seen.catchup).not.toHaveProperty('next');
      expectWhole(seen, crawlOf('slow'));
      expect(seen.documents.length).toBeGreaterThan(0);
      expect(seen).toMatchObject({ code: 1000, reason: '{"type":"done"}' });
      const status = await jobs.readAll(id);
      expect([...seen.catchup!.data, ...seen.documents]).toEqual(status.data);
      seen.documents.forEach(({ metadata: { sourceURL } }, i) => {
        const [served] = site.requests(({ path }) => site.url(path) === sourceURL);
        expect(seen.arrivedT[i]! - served!.doneT!).toBeLessThan(1000);
      });
    },
    TIMEOUT_MS,
  );

  it(
    'finds a job that is over complete in the catchup, on any path for any kind',
    async () => {
      const [crawl, batch] = await Promise.all([startCrawl('quick'), startBatch('quick')]);
      await Promise.all([jobs.waitForEnd(crawl), jobs.waitForEnd(batch)]);
      for (const version of ['v1', 'v2'])
        for (const kind of ['crawl', 'batch/scrape']) {
          const ofCrawl = await watch(`/${version}/${kind}/${crawl}`).ended;
          expectWhole(ofCrawl, crawlOf('quick'));
          expect(ofCrawl).toMatchObject({ code: 1000, documents: [], catchup: { status: 'completed', total: PAGES } });
          expectWhole(await watch(`/${version}/${kind}/${batch}`).ended, batchOf('quick'));
        }
    },
    TIMEOUT_MS,
  );

  it(
    'of version 1 with a header learns of the end by a frame, and of a cancellation only by the close',
    async () => {
      const authorization = `Bearer ${cluster.apiKey}`;
      const [done, cancelled] = await Promise.all([startCrawl('slow'), startCrawl('slower')]);
      const seen = [watch(`/v1/crawl/${done}`, { authorization }), watch(`/v1/crawl/${cancelled}`, { authorization })];
      await seen[1]!.opened;
      await jobs.call('DELETE', `/v2/crawl/${cancelled}`);
      expect((await seen[1]!.ended).frames.map(({ type }) => type)).not.toContain('done');
      expect(await seen[1]!.ended).toMatchObject({ code: 1000, reason: '{"type":"done"}' });
      expect((await seen[0]!.ended).frames.filter(({ type }) => type === 'done')).toEqual([{ type: 'done' }]);
    },
    TIMEOUT_MS,
  );

  it(
    'is told by the close code what is wrong',
    async () => {
      const id = await startBatch('quick');
      const unknown = '6f0c0000-0000-4000-8000-000000000000';
      const says = async (path: string, options?: { key?: string; authorization?: string }) => {
        const { code, reason, frames, protocol } = await watch(path, options).ended;
        return { code, reason: JSON.parse(reason) as object, frames: frames.length, protocol };
      };
      const unauthorized = { code: 3000, reason: { type: 'error', error: 'Unauthorized' } };
      const notFound = { code: 1008, reason: { type: 'error', error: 'Job not found' } };
      expect(await says(`/v2/crawl/${id}`, { key: 'fc-wrong' })).toEqual({
        ...unauthorized,
        frames: 1,
        protocol: 'fc-wrong',
      });
      expect(await says(`/v1/crawl/${id}`, { key: 'fc-wrong' })).toMatchObject({ ...unauthorized, frames: 0 });
      expect(await says(`/v2/crawl/${id}`, {})).toMatchObject({ ...unauthorized, frames: 1, protocol: '' });
      expect(await says(`/v2/crawl/${unknown}`)).toMatchObject({ ...notFound, frames: 1 });
      expect(await says('/v1/batch/scrape/nonsense')).toMatchObject({ ...notFound, frames: 0 });
    },
    TIMEOUT_MS,
  );

  it(
    'hears why a job failed',
    async () => {
      const id = await jobs.startCrawl({ url: 'http://host.invalid/' });
      await jobs.waitForEnd(id);
      const v2 = await watch(`/v2/crawl/${id}`).ended;
      expect(v2.frames.map(({ type }) => type)).toEqual(['catchup', 'error']);
      expect(v2).toMatchObject({ code: 1000, reason: '{"type":"done"}', catchup: { status: 'failed' } });
      const v1 = await watch(`/v1/crawl/${id}`).ended;
      expect(v1.frames.map(({ type }) => type)).toEqual(['catchup']);
      expect(v1.code).toBe(1011);
      expect(JSON.parse(v1.reason)).toMatchObject({ type: 'error', error: expect.any(String) });
    },
    TIMEOUT_MS,
  );

  it(
    'is one of two hundred on the same job',
    async () => {
      const id = await startCrawl('slow');
      const all = await Promise.all(Array.from({ length: 200 }, () => watch(`/v2/crawl/${id}`).ended));
      for (const seen of all) expectWhole(seen, crawlOf('slow'));
      expect(new Set(all.map(({ code, reason }) => `${code} ${reason}`))).toEqual(new Set(['1000 {"type":"done"}']));
    },
    TIMEOUT_MS,
  );
});

describe('the official watchers', () => {
  interface Watched {
    documents: Document[];
    ends: string[];
  }

  async function followV2(id: string, kind: 'crawl' | 'batch'): Promise<Watched> {
    const watched: Watched = { documents: [], ends: [] };
    const watcher = client.watcher(id, { kind, pollInterval: 1 });
    watcher.on('document', (document: Document) => watched.documents.push(document));
    watcher.on('error', () => watched.ends.push('error'));
    const done = new Promise<void>((resolve) =>
      watcher.on('done', ({ status }: { status: string }) => {
        watched.ends.push(status);
        resolve();
      }),
    );
    await watcher.start();
    await done;
    await sleep(300);
    return watched;
  }

  it(
    'of version 2 see every document and one end, for crawls and batches',
    async () => {
      const [crawl, batch] = await Promise.all([startCrawl('slow'), startBatch('slow')]);
      const [ofCrawl, ofBatch] = await Promise.all([followV2(crawl, 'crawl'), followV2(batch, 'batch')]);
      expect(addresses(ofCrawl.documents)).toEqual(crawlOf('slow'));
      expect(addresses(ofBatch.documents)).toEqual(batchOf('slow'));
      expect([ofCrawl.ends, ofBatch.ends]).toEqual([['completed'], ['completed']]);
    },
    TIMEOUT_MS,
  );

  it(
    'of version 2 report a cancellation by its name',
    async () => {
      const id = await startCrawl('slower');
      const watched = followV2(id, 'crawl');
      await sleep(1000);
      await jobs.call('DELETE', `/v2/crawl/${id}`);
      expect((await watched).ends).toEqual(['cancelled']);
    },
    TIMEOUT_MS,
  );

  it(
    'of version 1 see every document and one end, for crawls and batches',
    async () => {
      // How version 1 starts jobs is another suite's business.
      const v1 = client.v1 as unknown as V1Client;
      for (const [id, wanted] of [
        [await startCrawl('slow'), crawlOf('slow')],
        [await startBatch('slow'), batchOf('slow')],
      ] as const) {
        v1.asyncCrawlUrl = () => Promise.resolve({ success: true, id });
        const watcher = await v1.crawlUrlAndWatch('');
        const documents: Document[] = [];
        let ends = 0;
        watcher.addEventListener('document', ({ detail }) => documents.push(detail as Document));
        await new Promise<void>((resolve) =>
          watcher.addEventListener('done', () => {
            ends++;
            resolve();
          }),
        );
        await sleep(300);
        expect(addresses(documents)).toEqual(wanted);
        expect(ends).toBe(1);
      }
    },
    TIMEOUT_MS,
  );

  interface V1Client {
    asyncCrawlUrl(): Promise<{ success: boolean; id: string }>;
    crawlUrlAndWatch(url: string): Promise<{
      addEventListener(type: string, listener: (event: { detail: unknown }) => void): void;
    }>;
  }

  it(
    'of version 2 get everything although the gateway restarts meanwhile',
    async () => {
      const id = await startCrawl('slower');
      const bare = watch(`/v2/crawl/${id}`);
      await bare.opened;
      const watched = followV2(id, 'crawl');
      await sleep(700);
      const pid = await cluster.signal('gateway', 'SIGTERM');
      const { code, reason } = await bare.ended;
      expect(code).toBe(1001);
      expect(JSON.parse(reason)).toMatchObject({ type: 'error' });
      await cluster.waitForRestart('gateway', pid);
      const { documents, ends } = await watched;
      expect(new Set(addresses(documents))).toEqual(new Set(crawlOf('slower')));
      expect(ends.at(-1)).toBe('completed');
    },
    TIMEOUT_MS,
  );
});

describe('a stream of lines', () => {
  const headers = () => ({ authorization: `Bearer ${cluster.apiKey}`, accept: 'application/x-ndjson' });
  type Line = JobStatus['data'][number] & Partial<JobStatus>;

  async function readLines(path: string, stopAfter = Infinity): Promise<Line[]> {
    const cut = new AbortController();
    const response = await fetch(cluster.url + path, { headers: headers(), signal: cut.signal });
    expect(response.headers.get('content-type')).toBe('application/x-ndjson');
    const lines: Line[] = [];
    let text = '';
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const parts = (text + chunk).split('\n');
      text = parts.pop()!;
      lines.push(...parts.map((part) => JSON.parse(part) as Line));
      if (lines.length < stopAfter) continue;
      cut.abort();
      break;
    }
    return lines.slice(0, stopAfter);
  }

  it(
    'goes on with the job to its end, and resumes where it was cut',
    async () => {
      const id = await startCrawl('slow');
      const first = await readLines(`/v2/crawl/${id}`, 5);
      const rest = await readLines(`/v2/crawl/${id}?skip=5`);
      expect(rest.at(-1)).toEqual({ status: 'completed', total: PAGES, completed: PAGES });
      const { data } = await jobs.readAll(id);
      expect([...first, ...rest.slice(0, -1)]).toEqual(data);
    },
    TIMEOUT_MS,
  );

  it(
    'has what is there when it must not follow',
    async () => {
      const id = await startBatch('slower');
      const lines = await readLines(`/v2/batch/scrape/${id}?follow=false`);
      expect(lines.length).toBeLessThan(LEAVES);
      expect(lines.at(-1)).toMatchObject({ status: 'scraping', total: LEAVES });
      await jobs.call('DELETE', `/v2/batch/scrape/${id}`);
      expect((await readLines(`/v2/batch/scrape/${id}`)).at(-1)).toMatchObject({ status: 'cancelled' });
    },
    TIMEOUT_MS,
  );
});

describe('an upgrade to something else', () => {
  it('is answered as the plain request that it is too', async () => {
    const { hostname, port } = new URL(cluster.url);
    const body = '{"url":"http://[broken"}';
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /v2/crawl HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${cluster.apiKey}\r\n` +
        'Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n' +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    let text = '';
    for await (const chunk of socket.setEncoding('utf8')) {
      text += String(chunk);
      if (text.includes('"success":false')) break;
    }
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
  });
});
