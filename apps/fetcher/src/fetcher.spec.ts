/** A whole fetcher against a real nats-server (TEST_NATS_SERVER) and a real site on loopback; Postgres is down all the time. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { readConfig } from '@troupe/config';
import {
  NO_TRACES,
  plainScrape,
  RPC,
  type ActorMessage,
  type FetchReply,
  type FetchRequest,
  type HostFeedback,
  type Lane,
  type LaneEnd,
  type MapLink,
  type MapReply,
  type MapSpec,
  type PageDocument,
  type PageResult,
  type ScopeSpec,
  type ScrapeSpec,
} from '@troupe/contracts';
import { ActorBus, CancelBoard, NatsLink, Rpc } from '@troupe/messaging';
import { createLogger, Metrics, type RunningService } from '@troupe/observability';
import { startFetcher } from './start.js';
import { testDatabase, type TestDatabase } from '../../../test/adapters/persistence/database.js';

const natsServer = process.env.TEST_NATS_SERVER ?? '';
const suite = natsServer === '' ? describe.skip : describe;
if (natsServer === '') console.warn('SKIPPED: TEST_NATS_SERVER names no nats-server');

const JOB = '0a6c8c1e-0000-4000-8000-000000000001';
const SPEC: ScrapeSpec = plainScrape({ formats: [{ type: 'markdown' }], timeoutMs: 5000 });

function page(title: string, body: string): string {
  return `<!doctype html><html><head><title>${title}</title></head><body><main><h1>${title}</h1><p>Enough words to be read by people who visit ${title}.</p>${body}</main></body></html>`;
}

const PAGES: Record<string, string> = {
  '/': page(
    'Start',
    '<a href="/a">A</a> <a href="/b">B</a> <a href="/private/x">P</a> <a href="https://elsewhere.test/">E</a>',
  ),
  '/a': page('Page A', '<a href="/c">C</a>'),
  '/b': page('Page B', ''),
  '/c': page('Page C', ''),
  '/refresh': '<html><head><meta http-equiv="refresh" content="0; url=/b"></head><body></body></html>',
};
const REDIRECTS: Record<string, string> = { '/moved': '/b', '/trap': '/private/x', '/away': 'http://elsewhere.test/' };

class Site {
  readonly requests: { path: string; at: number }[] = [];
  server!: Server;
  origin = '';

  async start(): Promise<void> {
    this.server = createServer((request, response) => {
      const url = request.url ?? '/';
      this.requests.push({ path: url, at: performance.now() });
      const target = REDIRECTS[url];
      const body = PAGES[url];
      if (url === '/robots.txt') response.end(`User-agent: *\nDisallow: /private/\nSitemap: ${this.origin}/map.xml\n`);
      else if (url === '/map.xml')
        response.end(
          `<urlset><url><loc>${this.origin}/c</loc></url><url><loc>${this.origin}/a?x=1</loc></url></urlset>`,
        );
      else if (target !== undefined) response.writeHead(302, { location: target }).end();
      else if (url === '/slow') return;
      else if (url === '/busy') response.writeHead(429, { 'retry-after': '2' }).end('slow down');
      else if (body !== undefined) response.writeHead(200, { 'content-type': 'text/html' }).end(body);
      else response.writeHead(404, { 'content-type': 'text/html' }).end(page('Lost', '<a href="/a">A</a>'));
    });
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    this.origin = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  paths(): string[] {
    return this.requests.map(({ path: asked }) => asked);
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

async function startNats(dir: string, port: number): Promise<ChildProcess> {
  writeFileSync(
    path.join(dir, 'nats.conf'),
    `listen: "127.0.0.1:${port}"\nmax_payload: 8MB\njetstream { store_dir: "${dir}/js" }\n`,
  );
  const child = spawn(natsServer, ['-c', path.join(dir, 'nats.conf')], { stdio: 'ignore' });
  for (let tries = 0; tries < 200; tries++) {
    const socket = connect(port, '127.0.0.1');
    const ok = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (ok) return child;
    await sleep(25);
  }
  throw new Error('nats-server did not start');
}

suite('a fetcher on a real bus', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'troupe-fetcher-'));
  const site = new Site();
  const heard: { to: string; body: ActorMessage }[] = [];
  let database: TestDatabase;
  let nats: ChildProcess;
  let link: NatsLink;
  let bus: ActorBus;
  let rpc: Rpc;
  let fetcher: RunningService;
  let lanes = 0;

  const reports = (): HostFeedback[] => heard.flatMap(({ body }) => (body.type === 'HostFeedback' ? [body] : []));
  async function until(condition: () => boolean): Promise<void> {
    for (let tries = 0; tries < 400 && !condition(); tries++) await sleep(25);
  }

  beforeAll(async () => {
    const port = await freePort();
    nats = await startNats(dir, port);
    await site.start();
    database = await testDatabase();
    const config = readConfig({
      NATS_URL: `nats://127.0.0.1:${port}`,
      DATABASE_URL: database.url,
      TROUPE_DATA_DIR: dir,
      ALLOW_PRIVATE_TARGETS: '127.0.0.1',
      CHROMIUM_PATH: '/nowhere',
      HOST_GAP_MS: '10',
      LOG_LEVEL: 'error',
    });
    const log = createLogger('fetcher', { level: 'error' });
    const process = { log, metrics: new Metrics('fetcher'), tracer: NO_TRACES, instance: 'fetcher-one' };
    fetcher = await startFetcher({ config, ...process });
    link = await NatsLink.open({ server: config, name: 'test' });
    bus = new ActorBus(link);
    rpc = new Rpc(link);
    link.nc.subscribe('act.>', {
      callback: (_error, msg) => {
        heard.push({ to: msg.subject, body: JSON.parse(Buffer.from(msg.data).toString()) as ActorMessage });
      },
    });
  });

  afterAll(async () => {
    await fetcher.drain();
    await link.close();
    await database.drop();
    nats.kill('SIGKILL');
    site.server.closeAllConnections();
    site.server.close();
    rmSync(dir, { recursive: true, force: true });
  });

  beforeEach(() => {
    heard.length = 0;
    site.requests.length = 0;
  });

  function scope(): ScopeSpec {
    return {
      base: `${site.origin}/`,
      version: 0,
      includePaths: [],
      excludePaths: [],
      regexOnFullUrl: false,
      maxDepth: null,
      maxPathDepth: null,
      entireDomain: false,
      allowExternalLinks: false,
      allowSubdomains: false,
      ignoreQueryParameters: false,
      deduplicateSimilarUrls: true,
      sitemap: 'include',
    };
  }

  function lane(paths: string[], more: Partial<Lane> = {}): Lane {
    const number = ++lanes;
    return {
      type: 'Lane',
      lane: number,
      actor: `crawl/${JOB}`,
      job: JOB,
      jobNo: '1',
      team: JOB,
      host: new URL(site.origin).host,
      slot: { i: 0, gen: number },
      notBeforeMs: 0,
      gapMs: 0,
      items: paths.map((item, index) => ({
        item: index + 10 * number,
        attempt: 1,
        url: site.origin + item,
        depth: 1,
        sourceUrl: site.origin + item,
      })),
      scope: scope(),
      robotsAgent: 'Troupe',
      spec: SPEC,
      ...more,
    };
  }

  async function run(message: Lane): Promise<{ end: LaneEnd; pages: Map<string, PageResult> }> {
    await bus.publishWork('http', 'lo', `${JOB}.${message.lane}.${Math.random()}`, message);
    for (let tries = 0; tries < 400; tries++) {
      const end = heard
        .map(({ body }) => body)
        .find((body): body is LaneEnd => body.type === 'LaneEnd' && body.lane === message.lane);
      if (end !== undefined) return { end, pages: pagesOf(message.lane) };
      await sleep(25);
    }
    throw new Error(`no LaneEnd; heard ${JSON.stringify(heard)}`);
  }

  function pagesOf(laneNumber: number): Map<string, PageResult> {
    const results = heard.flatMap(({ body }) =>
      (body.type === 'PagesDone' || body.type === 'LaneEnd') && body.lane === laneNumber ? body.pages : [],
    );
    return new Map(results.map((result) => [new URL(result.url).pathname, result]));
  }

  it('runs a lane to its end and tells each page its outcome', async () => {
    const { end, pages } = await run(lane(['/', '/moved', '/trap', '/away', '/missing', '/refresh', '/private/x']));
    expect(end).toMatchObject({ reason: 'done', unrun: [] });
    expect(pages.get('/')).toMatchObject({ outcome: 'ok', statusCode: 200, engine: 'http', finalH: null, credits: 1 });
    expect(pages.get('/')?.outlinks.map(({ url }) => new URL(url).pathname)).toEqual(['/a', '/b', '/private/x']);
    expect(pages.get('/')?.excluded?.byRule).toEqual({ external: 1 });
    expect(pages.get('/moved')).toMatchObject({ outcome: 'ok', finalUrl: `${site.origin}/b` });
    expect(pages.get('/moved')?.finalH).toMatch(/^[0-9a-f]{16}$/);
    expect(pages.get('/refresh')).toMatchObject({ outcome: 'ok', finalUrl: `${site.origin}/b` });
    expect(pages.get('/trap')).toMatchObject({ outcome: 'robots', rule: `${site.origin}/private/x` });
    expect(pages.get('/away')).toMatchObject({ outcome: 'redirected', rule: 'http://elsewhere.test/' });
    expect(pages.get('/private/x')).toMatchObject({ outcome: 'robots' });
    expect(pages.get('/missing')).toMatchObject({ outcome: 'ok', statusCode: 404, outlinks: [] });
    expect(site.paths().filter((asked) => asked.startsWith('/private/'))).toEqual([]);
    expect(heard[0]?.body).toMatchObject({ type: 'LaneStarted' });
  });

  it('stores the document as the client will see it', async () => {
    const { pages } = await run(lane(['/a']));
    const document = JSON.parse(
      gunzipSync(Buffer.from(pages.get('/a')?.inline ?? '', 'base64')).toString(),
    ) as PageDocument;
    expect(document.markdown).toContain('# Page A');
    expect(document.metadata).toMatchObject({
      title: 'Page A',
      url: `${site.origin}/a`,
      sourceURL: `${site.origin}/a`,
      statusCode: 200,
      proxyUsed: 'basic',
    });
    expect(document.metadata.scrapeId).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('refuses a lane that is older than the last one of its slot', async () => {
    const stale = lane(['/a'], { slot: { i: 0, gen: 0 } });
    await bus.publishWork('http', 'lo', `stale.${Math.random()}`, stale);
    for (let tries = 0; tries < 400 && !heard.some(({ body }) => 'lane' in body); tries++) await sleep(25);
    expect(site.paths()).toEqual([]);
    expect(heard.filter(({ body }) => 'lane' in body).map(({ body }) => body)).toMatchObject([
      { type: 'LaneEnd', reason: 'refused' },
    ]);
  });

  it('goes on after a 429, and tells the actor of the host at once', async () => {
    const { end, pages } = await run(lane(['/busy', '/a']));
    expect(end).toMatchObject({ reason: 'done' });
    expect(pages.get('/a')).toMatchObject({ outcome: 'ok' });
    expect(pages.get('/busy')).toMatchObject({
      outcome: 'failed',
      retryable: true,
      retryAfterMs: 2000,
      statusCode: 429,
    });
    const url = `${site.origin}/busy`;
    const trouble = { kind: 'rateLimited', status: 429, url, retryMs: 2000 };
    await until(() => reports().some(({ troubles }) => troubles.length > 0));
    expect(reports().flatMap(({ troubles }) => troubles)).toMatchObject([trouble]);
  });

  it('asks nothing of a host that its actor has paused', async () => {
    const host = new URL(site.origin).host;
    bus.tell(host, { v: 1, state: 'paused', restMs: 60_000, gapMs: 0, share: 1 });
    await sleep(300);
    const paused = await run(lane(['/b']));
    expect(paused.end).toMatchObject({ reason: 'penalty', unrun: [expect.any(Number)] });
    expect(paused.end.retryMs).toBeGreaterThan(50_000);
    expect(site.paths()).not.toContain('/b');
    bus.tell(host, { v: 2, state: 'open', restMs: 0, gapMs: 0, share: 1 });
    await sleep(300);
    expect((await run(lane(['/b']))).end).toMatchObject({ reason: 'done' });
  });

  it('sends one probe to a host that is down, and says how it was answered', async () => {
    const host = new URL(site.origin).host;
    bus.tell(host, { v: 3, state: 'down', restMs: 60_000, gapMs: 0, share: 0 });
    const probe = { type: 'Kick' as const, task: 'probe' as const, actor: `domain/${host}` as const, host };
    await bus.publishWork('kick', 'hi', `probe.${Math.random()}`, { ...probe, url: `${site.origin}/a` });
    await until(() => reports().some((report) => report.probe !== undefined));
    expect(reports().filter((report) => report.probe !== undefined)).toMatchObject([{ host, probe: { clean: true } }]);
    expect(site.paths()).toEqual(['/a']);
    bus.tell(host, { v: 4, state: 'open', restMs: 0, gapMs: 0, share: 1 });
    await sleep(300);
  });

  it('starts no page of a cancelled job', async () => {
    const cancels = new CancelBoard(link);
    const slow = lane(['/a', '/b', '/c'], { gapMs: 3_000, job: '0a6c8c1e-0000-4000-8000-000000000002' });
    const ended = run(slow);
    for (let tries = 0; tries < 400 && site.paths().length === 0; tries++) await sleep(25);
    await cancels.cancel(slow.job);
    expect((await ended).end.reason).toBe('cancel');
    expect(site.paths()).toEqual(['/a']);
  });

  it('answers a sync scrape with the document', async () => {
    const request: FetchRequest = {
      id: '0a6c8c1e-0000-4000-8000-000000000003',
      team: JOB,
      url: `${site.origin}/a`,
      sourceUrl: 'a page',
      spec: SPEC,
      deadlineMs: 5000,
      metadata: { concurrencyLimited: false },
    };
    const { head, body } = await rpc.call<FetchReply>(RPC.fetchHttp, request, null, { timeoutMs: 5000 });
    expect(head).toMatchObject({ ok: true, statusCode: 200, finalUrl: request.url });
    const document = JSON.parse(Buffer.from(body).toString()) as PageDocument;
    expect(document.metadata).toMatchObject({ sourceURL: 'a page', scrapeId: request.id, concurrencyLimited: false });
  });

  it('refuses a forbidden address of a sync scrape with its code', async () => {
    const request = {
      id: JOB,
      team: JOB,
      url: 'http://10.0.0.1/',
      sourceUrl: 'x',
      spec: SPEC,
      deadlineMs: 5000,
      metadata: {},
    };
    const { head } = await rpc.call<FetchReply>(RPC.fetchHttp, request, null, { timeoutMs: 5000 });
    expect(head).toMatchObject({ ok: false, error: { code: 'SCRAPE_TARGET_FORBIDDEN' } });
  });

  interface MappedSite {
    head: MapReply;
    links: MapLink[];
  }

  async function map(url: string, more: Partial<MapSpec> = {}): Promise<MappedSite> {
    const spec: MapSpec = {
      url,
      search: null,
      limit: 100,
      sitemap: 'include',
      includeSubdomains: true,
      ignoreQueryParameters: true,
      allowExternalLinks: false,
      includePaths: [],
      excludePaths: [],
      regexOnFullUrl: false,
      filterByPath: true,
      headers: {},
      location: null,
      timeoutMs: 10_000,
      ...more,
    };
    const request = { id: JOB, team: JOB, spec, deadlineMs: spec.timeoutMs };
    const { head, body } = await rpc.call<MapReply>(RPC.map, request, null, { timeoutMs: 11_000 });
    const lines = Buffer.from(body).toString('utf8').split('\n').slice(0, -1);
    return { head, links: lines.map((line) => JSON.parse(line) as MapLink) };
  }

  const pathsOf = ({ head, links }: MappedSite) =>
    head.ok ? links.map(({ url }) => new URL(url).pathname) : [head.error.code];

  it('maps a site from its sitemap, its start page and a short walk', async () => {
    const reply = await map(site.origin);
    expect(reply.head).toMatchObject({ ok: true });
    expect(reply.links[0]).toEqual({ url: `${site.origin}/`, title: 'Start' });
    expect(pathsOf(reply).sort()).toEqual(['/', '/a', '/b', '/c', '/private/x']);
    expect(site.paths()).not.toContain('/private/x');
  });

  it('maps only what the sitemap names, only what was searched for, and no more than was asked for', async () => {
    expect(pathsOf(await map(site.origin, { sitemap: 'only' })).sort()).toEqual(['/', '/a', '/c']);
    expect(pathsOf(await map(site.origin, { search: 'page b' }))).toEqual(['/b']);
    expect(pathsOf(await map(site.origin, { limit: 1 }))).toEqual(['/']);
  });

  it('says why a site cannot be mapped', async () => {
    expect(pathsOf(await map(`http://127.0.0.1:${await freePort()}`))).toEqual(['MAP_FAILED']);
    expect(pathsOf(await map(`${site.origin}/slow`, { timeoutMs: 300 }))).toEqual(['MAP_TIMEOUT']);
    expect(pathsOf(await map('http://192.168.0.1/'))).toEqual(['SCRAPE_TARGET_FORBIDDEN']);
  });

  it('answers kicks with the rules and the sitemap of a site', async () => {
    const actor = `crawl/${JOB}` as const;
    await bus.publishWork('kick', 'hi', `kick.${Math.random()}`, {
      type: 'Kick',
      task: 'robots',
      actor,
      host: 'h',
      url: `${site.origin}/`,
      agent: 'Troupe',
    });
    await bus.publishWork('kick', 'hi', `kick.${Math.random()}`, {
      type: 'Kick',
      task: 'sitemap',
      actor,
      job: JOB,
      file: 3,
      url: `${site.origin}/map.xml`,
      level: 0,
      fromChunk: 0,
      maxChunks: 20,
      scope: scope(),
      headers: {},
      agent: 'Troupe',
    });
    const wanted = () =>
      heard.map(({ body }) => body).filter(({ type }) => type === 'RobotsDone' || type === 'SitemapChunk');
    for (let tries = 0; tries < 100 && wanted().length < 2; tries++) await sleep(25);
    expect(wanted()).toContainEqual(
      expect.objectContaining({ type: 'RobotsDone', status: 200, sitemaps: [`${site.origin}/map.xml`], error: null }),
    );
    expect(wanted()).toContainEqual(
      expect.objectContaining({ type: 'SitemapChunk', file: 3, chunk: 0, last: true, more: false, error: null }),
    );
  });

  it('reports what it saw of the host', async () => {
    await run(lane(['/a', '/b']));
    await until(() => reports().some(({ ok }) => ok > 0));
    expect(heard.map(({ body }) => body)).toContainEqual(
      expect.objectContaining({ type: 'HostFeedback', host: new URL(site.origin).host }),
    );
  });
});
