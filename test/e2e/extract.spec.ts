/** Acceptance of extract jobs: pages of a known shop, read by a scripted model, as a client of the interface sees it. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { FirecrawlClient } from 'firecrawl';
import { setTimeout as sleep } from 'node:timers/promises';
import { findPythonSdk } from '../clients/packages.js';
import { PythonClient } from '../clients/python-client.js';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import {
  byPurpose,
  modelEnv,
  readingBrain,
  startModelServer,
  type Brain,
  type ModelServer,
} from '../support/model-server/index.js';
import { startSearxng, type Indexed, type SearxngServer } from '../support/searxng-server.js';
import { PRODUCTS_SCHEMA, ShopSite, type Product } from '../support/shop-site.js';
import { WebhookReceiver } from './webhook-receiver.fixture.js';

const SETUP_TIMEOUT_MS = 120_000;
const LISTS = 6;
const UNKNOWN = '00000000-0000-4000-8000-000000000000';
const python = await findPythonSdk();

interface Status {
  success: boolean;
  status: string;
  data: unknown;
  error?: string;
  warning?: string;
  expiresAt: string;
  sources?: Record<string, string[]>;
  tokensUsed: number;
  creditsUsed: number;
}

let shop: ShopSite;
let model: ModelServer;
let searxng: SearxngServer;
let receiver: WebhookReceiver;
let cluster: TestCluster;
let api: ApiClient;

function corpus(): Indexed[] {
  return [0, 1].map((i) => ({
    url: shop.list('found', i),
    title: `Lamps ${i}`,
    content: 'lamps on offer',
    category: 'general' as const,
  }));
}

beforeAll(async () => {
  shop = await ShopSite.start(LISTS);
  model = await startModelServer();
  searxng = await startSearxng(corpus);
  receiver = await WebhookReceiver.start();
  cluster = await startCluster({
    env: {
      ...modelEnv(model),
      ALLOW_PRIVATE_TARGETS: '127.0.0.1',
      ALLOW_PRIVATE_WEBHOOKS: '127.0.0.1',
      HOST_GAP_MS: '0',
      SEARXNG_ENDPOINT: searxng.url,
    },
  });
  api = new ApiClient(cluster.url, cluster.apiKey);
}, SETUP_TIMEOUT_MS);

afterEach(() => {
  model.setBrain(readingBrain);
  shop.latencyMs = 0;
});

afterAll(async () => {
  await cluster?.stop();
  await Promise.all([receiver?.down(), searxng?.close(), model?.close(), shop?.close()]);
}, SETUP_TIMEOUT_MS);

async function start(body: object): Promise<string> {
  const answer = await api.post('/v2/extract', body);
  expect(answer).toMatchObject({ status: 200, body: { success: true, urlTrace: [] } });
  return answer.body.id as string;
}

async function ended(id: string, path = '/v2/extract'): Promise<Status> {
  const deadlineMs = performance.now() + 30_000;
  for (;;) {
    const { body } = await api.call(`${path}/${id}`);
    if (body.status !== 'processing') return body as unknown as Status;
    if (performance.now() > deadlineMs) throw new Error(`${id} did not end: ${JSON.stringify(body)}`);
    await sleep(100);
  }
}

const extract = async (body: object): Promise<Status> => ended(await start(body));
const productsOf = ({ data }: Pick<Status, 'data'>): Product[] => (data as { products: Product[] }).products;
const inOrder = (products: Product[]): Product[] => [...products].sort((a, b) => a.price - b.price);

/** Tokens of all model calls since there were `from` of them. */
function tokensSince(from: number): number {
  return model.requests.slice(from).reduce((sum, request) => {
    const prompt = Math.ceil(request.messages.map(({ content }) => content).join('').length / 4);
    return sum + prompt;
  }, 0);
}

describe('an extract job', () => {
  it('makes one object of named pages, with the pages that told each fact, and costs a credit for 15 tokens', async () => {
    const before = model.requests.length;
    const urls = [0, 1, 2].map((i) => shop.list('named', i));
    const status = await extract({ urls, schema: PRODUCTS_SCHEMA, prompt: 'All products', showSources: true });
    expect(status).toMatchObject({ success: true, status: 'completed' });
    expect(productsOf(status)).toEqual(shop.products([0, 1, 2]));
    expect(status.sources!['products[0].name']).toEqual([urls[0]]);
    expect(status.sources!['products[2].name']).toEqual([urls[0], urls[1]]);
    expect(model.requests.length - before).toBe(3);
    expect(status.tokensUsed).toBeGreaterThan(tokensSince(before));
    expect(status.creditsUsed).toBe(Math.ceil(status.tokensUsed / 15));
    expect(Date.parse(status.expiresAt)).toBeGreaterThan(Date.now() + 23 * 3_600_000);
    expect(shop.hits('named')).toHaveLength(3);
  });

  it('reads all that lies below a wildcard and lists every product once', async () => {
    const before = model.requests.length;
    const status = await extract({ urls: [`${shop.url('/wild')}/*`], schema: PRODUCTS_SCHEMA, showSources: true });
    expect(status).toMatchObject({ status: 'completed' });
    expect(inOrder(productsOf(status))).toEqual(shop.products());
    const pages = shop.pages('wild');
    for (const [path, urls] of Object.entries(status.sources!)) {
      expect([path, urls.every((url) => pages.includes(url))]).toEqual([path, true]);
    }
    expect(model.requests.length - before).toBe(pages.length);
  });

  it('reads the pages that fit best when a wildcard has more than may be read', async () => {
    const before = model.requests.length;
    const status = await extract({
      urls: [`${shop.url('/few')}/*`],
      prompt: 'about',
      schema: PRODUCTS_SCHEMA,
      limit: 1,
    });
    expect(status).toMatchObject({
      status: 'completed',
      data: { products: [] },
      warning: expect.stringContaining('No page'),
    });
    const urls = model.requests
      .slice(before)
      .map(({ messages }) => /http:[^"]+\/few[^"]*/.exec(JSON.stringify(messages))?.[0]);
    expect(urls.map((url) => url?.replace(/\\$/, ''))).toEqual([shop.url('/few/about')]);
  });

  it('finds pages for a prompt alone by search', async () => {
    const status = await extract({ prompt: 'lamps', schema: PRODUCTS_SCHEMA });
    expect(status).toMatchObject({ status: 'completed' });
    expect(productsOf(status)).toEqual(shop.products([0, 1]));
    expect(searxng.queries.at(-1)!.get('q')).toBe('lamps');
  });

  it('has the model propose pages when the search finds none, and says so', async () => {
    const propose: Brain = () => ({ value: { urls: [shop.list('proposed', 3), 'no address'] } });
    model.setBrain(byPurpose({ plan: propose }));
    const status = await extract({ prompt: 'Things nobody has heard of', schema: PRODUCTS_SCHEMA });
    expect(status).toMatchObject({ status: 'completed', warning: expect.stringContaining('the model proposed') });
    expect(productsOf(status)).toEqual(shop.products([3]));
  });

  it('follows links outside when asked', async () => {
    const status = await extract({ urls: [shop.url('/linked')], schema: PRODUCTS_SCHEMA, enableWebSearch: true });
    expect(inOrder(productsOf(status))).toEqual(shop.products());
  });

  it('goes on without a page that cannot be had, and says so', async () => {
    const urls = [shop.list('part', 0), shop.url('/part/missing')];
    const status = await extract({ urls, schema: PRODUCTS_SCHEMA });
    expect(status).toMatchObject({ success: true, status: 'completed', warning: expect.stringContaining('404') });
    expect(productsOf(status)).toEqual(shop.products([0]));
  });

  it('fails, and says why, when the model refuses every page', async () => {
    model.setBrain(() => ({ status: 401, error: { message: 'Incorrect API key provided: test' } }));
    const status = await extract({ urls: [shop.list('denied', 0)], schema: PRODUCTS_SCHEMA });
    expect(status).toMatchObject({
      success: false,
      status: 'failed',
      data: [],
      error: expect.stringMatching(/No page could be read/),
    });
    expect(status.creditsUsed).toBe(Math.ceil(status.tokensUsed / 15));
  });

  it('fails when its time is up', async () => {
    model.setBrain((request) => ({ ...readingBrain(request), delayMs: 20_000 }));
    const status = await extract({ urls: [shop.list('late', 0)], schema: PRODUCTS_SCHEMA, timeout: 2_000 });
    expect(status).toMatchObject({ success: false, status: 'failed', data: [], error: expect.stringMatching(/tim/) });
  });

  it('ends when it is cancelled, and asks the model for nothing more', async () => {
    model.setBrain((request) => ({ ...readingBrain(request), delayMs: 1_500 }));
    const id = await start({ urls: [`${shop.url('/cancelled')}/*`], schema: PRODUCTS_SCHEMA });
    const before = model.requests.length;
    while (model.requests.length === before) await sleep(50);
    expect((await api.call(`/v2/extract/${id}`)).body).toMatchObject({ success: true, status: 'processing', data: [] });
    const gone = await api.call(`/v1/extract/${id}`, { method: 'DELETE' });
    expect({ status: gone.status, body: gone.body }).toEqual({
      status: 200,
      body: { success: true, status: 'cancelled' },
    });
    expect(await ended(id)).toMatchObject({ success: true, status: 'cancelled', data: [] });
    const asked = model.requests.length;
    await sleep(2_000);
    expect(model.requests.length).toBe(asked);
    expect((await api.call(`/v2/extract/${id}`, { method: 'DELETE' })).status).toBe(200);
  });

  it('answers under both versions, and is no job of pages', async () => {
    const id = await start({ urls: [shop.list('both', 0)], schema: PRODUCTS_SCHEMA });
    const status = await ended(id);
    expect(await ended(id, '/v1/extract')).toEqual(status);
    expect(await api.call(`/v2/extract/${id}`, { method: 'DELETE' })).toMatchObject({ status: 409 });
    for (const path of [`/v2/crawl/${id}`, `/v2/batch/scrape/${id}`]) expect((await api.call(path)).status).toBe(404);
    for (const method of ['GET', 'DELETE']) {
      const unknown = await api.call(`/v2/extract/${UNKNOWN}`, { method });
      expect({ status: unknown.status, body: unknown.body }).toEqual({
        status: 404,
        body: { success: false, error: 'Extract job not found' },
      });
    }
  });

  it('tells its webhook of its start and its result, or of its failure', async () => {
    const webhook = { url: receiver.url('/good'), metadata: { run: '42' } };
    const urls = [shop.list('hooked', 0)];
    const id = await start({ urls, schema: PRODUCTS_SCHEMA, showSources: true, webhook });
    const status = await ended(id);
    const events = await eventsOf(id, 2);
    expect(events).toMatchObject([
      { type: 'extract.started', success: true, data: [], metadata: { run: '42' }, error: null },
      { type: 'extract.completed', success: true, error: null },
    ]);
    expect(events[1]!.data).toEqual([{ success: true, data: status.data, extractId: id, sources: status.sources }]);
    model.setBrain(() => ({ status: 401, error: { message: 'no' } }));
    const failing = await start({ urls, schema: PRODUCTS_SCHEMA, webhook: receiver.url('/bad') });
    const { error } = await ended(failing);
    expect(await eventsOf(failing, 2)).toMatchObject([
      { type: 'extract.started' },
      { type: 'extract.failed', success: false, data: [], error },
    ]);
  });
});

async function eventsOf(id: string, count: number) {
  const of = () => receiver.received.filter(({ event }) => event.id === id).map(({ event }) => event);
  for (let tries = 0; of().length < count && tries < 100; tries++) await sleep(100);
  return of();
}

describe('an extract request', () => {
  const schema = PRODUCTS_SCHEMA;

  it.each([
    ['neither prompt nor schema', { urls: ['https://a.example/'] }, 400],
    ['neither urls nor prompt', { schema }, 400],
    ['only bad urls', { urls: ['mailto:x@y.example'], schema }, 400],
    ['a schema that is none', { urls: ['https://a.example/'], schema: { type: 'thing' } }, 400],
    ['a private address alone', { urls: ['http://10.1.2.3/'], schema }, 400],
    [
      'zero data retention without permission',
      { urls: ['https://a.example/'], schema, scrapeOptions: { zeroDataRetention: true } },
      403,
    ],
  ])('with %s is refused', async (_, body, status) => {
    expect(await api.post('/v2/extract', body)).toMatchObject({ status, body: { success: false } });
  });

  it('lists the addresses that it left out; v1 refuses them all unless it is told not to', async () => {
    const urls = [shop.list('mixed', 0), 'mailto:x@y.example', 'http://10.1.2.3/'];
    const body = { urls, schema, agent: { model: 'FIRE-1' } };
    const v2 = await api.post('/v2/extract', body);
    expect(v2).toMatchObject({
      status: 200,
      body: { invalidURLs: urls.slice(1), warning: expect.stringContaining('agent') },
    });
    const done = await ended(v2.body.id as string);
    expect(done).toMatchObject({ status: 'completed', warning: expect.stringContaining('agent') });
    expect(await api.post('/v1/extract', { ...body, agent: undefined })).toMatchObject({
      status: 400,
      body: { details: [{ path: ['urls', 1] }] },
    });
    const told = await api.post('/v1/extract', { urls, schema, ignoreInvalidURLs: true });
    expect(told).toMatchObject({ status: 200, body: { invalidURLs: urls.slice(1) } });
  });

  it('is taken once under an idempotency key', async () => {
    const body = { urls: [shop.list('once', 0)], schema };
    const headers = { 'x-idempotency-key': 'extract-once' };
    expect((await api.post('/v2/extract', body, headers)).status).toBe(200);
    expect((await api.post('/v2/extract', body, headers)).status).toBe(409);
  });
});

describe('extract by the SDKs', () => {
  it('of JavaScript waits for the result, or starts and asks', async () => {
    const client = new FirecrawlClient({ apiKey: cluster.apiKey, apiUrl: cluster.url });
    const urls = [shop.list('js', 0)];
    const result = await client.extract({ urls, schema: PRODUCTS_SCHEMA, prompt: 'All products', pollInterval: 1 });
    expect(result).toMatchObject({ success: true, status: 'completed', data: { products: shop.products([0]) } });
    const { id } = await client.startExtract({ urls, schema: PRODUCTS_SCHEMA });
    let status = await client.getExtractStatus(id!);
    while (status.status === 'processing') {
      await sleep(100);
      status = await client.getExtractStatus(id!);
    }
    expect(status.data).toEqual({ products: shop.products([0]) });
  });

  (python === null ? it.skip : it)('of Python waits for the result', async () => {
    const client = new PythonClient(python!, cluster);
    try {
      const urls = [shop.list('python', 0)];
      const options = { urls, prompt: 'All products', schema: PRODUCTS_SCHEMA, poll_interval: 1, timeout: 30 };
      const result = await client.v2<{ status: string; data: unknown }>('extract', [], options);
      expect(result).toMatchObject({ status: 'completed', data: { products: shop.products([0]) } });
    } finally {
      client.stop();
    }
  });
});
