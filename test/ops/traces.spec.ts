/**
 * One trace from the call to the page and on to the webhook, over all services: what OTLP brings to a receiver, by way of a real
 * collector where one is to be had.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSite, type Site } from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { readingBrain, startModelServer, type ModelServer } from '../support/model-server/index.js';
import { startOtlpReceiver, type OtlpReceiver, type SeenSpan } from '../support/otlp-receiver.js';
import { startCollector, type Collector } from './collector.js';

const SETUP_MS = 240_000;
const TEST_MS = 90_000;
const PAGE_MS = 120;
const LINKS = 5;
const QUIET_MS = 3_500;
/** Two clocks of one machine, each read to the millisecond. */
const SKEW_NS = 5_000_000n;
const SCHEMA = { type: 'object', properties: { name: { type: 'string' } } };

let site: Site;
let receiver: OtlpReceiver;
let collector: Collector | null;
let model: ModelServer;
let webhooks: Site;
let cluster: TestCluster;
let api: ApiClient;

/** Long enough, packed, for the blob store. */
const filler = randomBytes(30_000)
  .toString('hex')
  .replaceAll(/(.{7})/g, '$1 ');

function startSlowSite(): Promise<Site> {
  return startSite((request, response) => {
    const [place = '/', , branches = String(LINKS)] = (request.url ?? '/').split(/([?])/);
    if (place === '/robots.txt') return void response.writeHead(404).end();
    const links = place === '/' ? Number(new URLSearchParams(branches).get('links') ?? LINKS) : 0;
    const list = Array.from({ length: links }, (_, i) => `<li><a href="/page/${i}">${i}</a></li>`).join('');
    const html = `<main><h1>${place}</h1><p>Name: thing ${place}</p><p>${filler}</p><ul>${list}</ul></main>`;
    setTimeout(() => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(`<html><body>${html}</body></html>`);
    }, PAGE_MS);
  });
}

/** A caller's own trace, and the header that says so. */
function newCaller(isRecorded = true) {
  const traceId = randomBytes(16).toString('hex');
  const spanId = randomBytes(8).toString('hex');
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-${isRecorded ? '01' : '00'}` } };
}

async function crawl(body: object, headers: Record<string, string>): Promise<{ status: unknown; completed: unknown }> {
  const started = await api.post('/v2/crawl', body, headers);
  expect(started.body).toMatchObject({ success: true });
  for (let tries = 0; tries < 300; tries++) {
    const { body: state } = await api.call(`/v2/crawl/${String(started.body.id)}`);
    if (state.status !== 'scraping') return { status: state.status, completed: state.completed };
    await sleep(200);
  }
  throw new Error('the crawl did not end');
}

async function extractEnd(id: string): Promise<unknown> {
  for (let tries = 0; tries < 300; tries++) {
    const { status } = (await api.call(`/v2/extract/${id}`)).body;
    if (status !== 'processing') return status;
    await sleep(100);
  }
  throw new Error('the extract job did not end');
}

class Trace {
  private readonly byId: Map<string, SeenSpan>;

  constructor(readonly spans: SeenSpan[]) {
    this.byId = new Map(spans.map((span) => [span.spanId, span]));
  }

  named(name: string): SeenSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  parentOf(span: SeenSpan): SeenSpan | undefined {
    return this.byId.get(span.parentId);
  }

  below(span: SeenSpan): SeenSpan[] {
    const own = this.spans.filter(({ parentId }) => parentId === span.spanId);
    return own.flatMap((child) => [child, ...this.below(child)]);
  }

  /** From its parent up to the first of the trace. */
  above(span: SeenSpan): string[] {
    const parent = this.parentOf(span);
    return parent === undefined ? [] : [parent.name, ...this.above(parent)];
  }
}

/** Every process sends what it has every two seconds; when nothing came for longer, nothing more is on its way. */
async function wholeTrace(traceId: string): Promise<Trace> {
  for (let before = -1; ;) {
    const spans = await receiver.trace(traceId, () => true);
    if (spans.length === before) return new Trace(spans);
    before = spans.length;
    await sleep(QUIET_MS);
  }
}

const ms = ({ startNs, endNs }: SeenSpan) => Number(endNs - startNs) / 1e6;
const hop = ({ service, name }: SeenSpan) => `${service} ${name}`;

describe('traces of a cluster at work', () => {
  beforeAll(async () => {
    receiver = await startOtlpReceiver();
    collector = await startCollector(receiver.url);
    site = await startSlowSite();
    webhooks = await startSite((request, response) => void request.resume().on('end', () => response.end()));
    model = await startModelServer({ brain: readingBrain });
    cluster = await startCluster({
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector?.url ?? receiver.url,
        // Only what a caller wants to see.
        OTEL_TRACES_SAMPLER_ARG: '0',
        CONVERTER: 'service',
        LLM_PROVIDER: 'openai',
        LLM_BASE_URL: `${model.url}/v1`,
        LLM_API_KEY: 'model-secret',
        LLM_MODEL: 'scripted',
        ALLOW_PRIVATE_TARGETS: '127.0.0.1',
        ALLOW_PRIVATE_WEBHOOKS: '127.0.0.1',
        HOST_GAP_MS: '10',
        LOG_FORMAT: 'json',
      },
    });
    api = new ApiClient(cluster.url, cluster.apiKey);
  }, SETUP_MS);

  afterAll(async () => {
    await cluster?.stop();
    await collector?.stop();
    await Promise.all([model?.close(), site?.close(), webhooks?.close(), receiver?.close()]);
  }, 60_000);

  describe('of a crawl', () => {
    let trace: Trace;
    const caller = newCaller();

    beforeAll(async () => {
      const scrapeOptions = { formats: ['markdown', { type: 'json', schema: SCHEMA }] };
      const body = {
        url: `${site.origin}/?token=url-secret`,
        sitemap: 'skip',
        webhook: webhooks.origin,
        scrapeOptions,
      };
      expect(await crawl(body, caller.headers)).toMatchObject({ status: 'completed', completed: LINKS + 1 });
      const events = LINKS + 3;
      const isWhole = (spans: SeenSpan[]) =>
        spans.filter(({ name }) => name === 'post webhook').length >= events &&
        spans.some(({ name }) => name === 'POST /v2/crawl');
      await receiver.trace(caller.traceId, isWhole, 30_000);
      trace = await wholeTrace(caller.traceId);
    }, TEST_MS);

    it('hang together: one first span below the caller’s, and every other below one that is there', () => {
      const strays = trace.spans.filter((span) => trace.parentOf(span) === undefined);
      expect(strays.map(({ name, parentId }) => [name, parentId])).toEqual([['POST /v2/crawl', caller.spanId]]);
    });

    it('show every page with all that was done for it', () => {
      const pages = trace.named('page');
      expect(pages.map(({ attributes }) => attributes['url.full']).sort()).toEqual(
        ['/', ...Array.from({ length: LINKS }, (_, i) => `/page/${i}`)].map((place) => site.origin + place).sort(),
      );
      for (const page of pages) {
        expect(page.attributes).toMatchObject({ 'troupe.outcome': 'ok', 'http.response.status_code': 200 });
        expect(trace.below(page).map(hop)).toEqual(
          expect.arrayContaining([
            'troupe-fetcher check robots',
            'troupe-fetcher wait for host',
            'troupe-fetcher fetch http',
            'troupe-fetcher convert',
            'troupe-fetcher request rpc.convert',
            'troupe-converter answer rpc.convert',
            'troupe-converter convert',
            'troupe-fetcher request rpc.model.page',
            'troupe-extractor answer rpc.model.page',
            'troupe-extractor ask model',
            'troupe-fetcher store document',
          ]),
        );
      }
    });

    it('lead from every page back to the call, by lane, turn and message', () => {
      for (const page of trace.named('page')) {
        const above = trace.above(page);
        expect(above.slice(0, 3)).toEqual(['process work.http.lo', 'publish work.http.lo', 'turn crawl']);
        expect(above.slice(-3)).toEqual(['turn crawl', 'publish act.crawl', 'POST /v2/crawl']);
      }
      const names = new Set(trace.spans.map(hop));
      for (const wanted of [
        'troupe-gateway create job',
        'troupe-scheduler turn domain',
        'troupe-scheduler turn team',
        'troupe-scheduler commit turn',
        'troupe-fetcher claim slot',
      ])
        expect([...names]).toContain(wanted);
    });

    it('go on to the webhooks of its pages', () => {
      const posts = trace.named('post webhook');
      expect(posts.length).toBe(LINKS + 3);
      for (const post of posts) {
        expect(post).toMatchObject({ service: 'troupe-dispatcher', attributes: { 'http.response.status_code': 200 } });
        const above = trace.above(post);
        expect(above.slice(0, 3)).toEqual(['process work.post.hi', 'publish work.post.hi', 'turn delivery']);
        expect(above).toContain('turn crawl');
        expect(above.at(-1)).toBe('POST /v2/crawl');
      }
    });

    it('tell when things happened and how long they took', () => {
      for (const span of trace.spans) {
        const parent = trace.parentOf(span);
        expect(span.endNs).toBeGreaterThanOrEqual(span.startNs);
        if (parent !== undefined) expect(span.startNs).toBeGreaterThanOrEqual(parent.startNs - SKEW_NS);
      }
      const fetches = trace.named('fetch http').filter((span) => trace.parentOf(span)?.name === 'page');
      expect(fetches.length).toBe(LINKS + 1);
      for (const fetch of fetches) {
        expect(ms(fetch)).toBeGreaterThanOrEqual(PAGE_MS - 5);
        expect(ms(trace.parentOf(fetch)!)).toBeGreaterThanOrEqual(ms(fetch));
      }
      for (const answer of trace.named('answer rpc.convert'))
        expect(answer.endNs).toBeLessThanOrEqual(trace.parentOf(answer)!.endNs + SKEW_NS);
    });

    it('hold no secret, and no site or model hears of them', () => {
      const told = JSON.stringify(trace.spans.map(({ name, attributes }) => ({ name, attributes })));
      for (const secret of ['url-secret', 'model-secret', cluster.apiKey]) expect(told).not.toContain(secret);
      for (const headers of site.headers) expect(headers).not.toHaveProperty('traceparent');
    });
  });

  it(
    'of a single page go through the browser, and answer in the caller’s trace',
    async () => {
      const caller = newCaller();
      const { status } = await api.post('/v2/scrape', { url: `${site.origin}/page/1`, waitFor: 50 }, caller.headers);
      expect(status).toBe(200);
      await receiver.trace(caller.traceId, (seen) => seen.some(({ name }) => name === 'POST /v2/scrape'));
      const trace = await wholeTrace(caller.traceId);
      const names = trace.spans.map(hop);
      expect(names).toEqual(
        expect.arrayContaining([
          'troupe-gateway POST /v2/scrape',
          'troupe-gateway wait for team',
          'troupe-gateway request rpc.fetch.http',
          'troupe-fetcher answer rpc.fetch.http',
          'troupe-fetcher page',
          'troupe-gateway publish act.team',
        ]),
      );
      const [browser] = trace.named('fetch browser');
      if (process.env.CHROMIUM_PATH === undefined) return;
      expect(trace.below(browser!).map(({ name }) => name)).toEqual(
        expect.arrayContaining(['wait for a tab', 'load in the browser', 'capture in the browser']),
      );
    },
    TEST_MS,
  );

  it(
    'of an extract job hold the crawl of its pages, and what the model was asked',
    async () => {
      const caller = newCaller();
      const body = { urls: [`${site.origin}/page/1`, `${site.origin}/page/2`], schema: SCHEMA };
      const started = await api.post('/v2/extract', body, caller.headers);
      expect(await extractEnd(String(started.body.id))).toBe('completed');
      const trace = await wholeTrace(caller.traceId);
      const pages = trace.named('page');
      expect(pages).toHaveLength(2);
      for (const page of pages) {
        const above = trace.above(page);
        for (const wanted of ['turn batch', 'process work.llm.hi', 'turn extract', 'POST /v2/extract'])
          expect(above).toContain(wanted);
      }
      const models = trace.named('ask model');
      expect(models.length).toBeGreaterThanOrEqual(2);
      for (const asked of models) {
        expect(trace.above(asked)[0]).toMatch(/^process work\.llm\./);
        expect(asked.attributes).toMatchObject({ 'gen_ai.request.model': 'scripted' });
        expect(asked.attributes['gen_ai.usage.input_tokens']).toBeGreaterThan(0);
      }
    },
    TEST_MS,
  );

  it(
    'outlive a scheduler that is killed: what its successor does belongs to the same call',
    async () => {
      const caller = newCaller();
      const pages = 60;
      const body = { url: `${site.origin}/?links=${pages - 1}`, sitemap: 'skip', maxConcurrency: 2 };
      const running = crawl(body, caller.headers);
      await sleep(1_500);
      const pid = await cluster.signal('scheduler', 'SIGKILL');
      await cluster.waitForRestart('scheduler', pid);
      expect(await running).toMatchObject({ status: 'completed', completed: pages });
      const isWhole = (spans: SeenSpan[]) => spans.filter(({ name }) => name === 'page').length >= pages;
      const spans = await receiver.trace(caller.traceId, isWhole, 20_000);
      const seen = new Set(spans.filter(({ name }) => name === 'page').map(({ attributes }) => attributes['url.full']));
      expect(seen.size).toBe(pages);
      const turns = spans.filter(({ name }) => name === 'turn crawl');
      expect(turns.length).toBeGreaterThan(1);
      // Those of the first one that had not been sent died with it.
      const { instance } = turns.at(-1)!;
      expect(instance).toMatch(/^scheduler-/);
    },
    TEST_MS,
  );

  it(
    'are not recorded when the caller, or the share of recorded calls, says no',
    async () => {
      const before = new Set(receiver.spans.map(({ traceId }) => traceId));
      const silent = newCaller(false);
      expect((await api.post('/v2/scrape', { url: `${site.origin}/page/2` }, silent.headers)).status).toBe(200);
      expect((await api.post('/v2/scrape', { url: `${site.origin}/page/3` })).status).toBe(200);
      await sleep(4_000);
      expect(receiver.spans.filter(({ traceId }) => !before.has(traceId))).toEqual([]);
    },
    TEST_MS,
  );
});
