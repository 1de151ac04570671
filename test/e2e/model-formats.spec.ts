/** Formats that a language model writes, through the whole cluster, with a scripted model behind it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { FirecrawlClient } from 'firecrawl';
import { z } from 'zod';
import { startSite, type Site } from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import {
  blocksOf,
  modelEnv,
  readingBrain,
  requestOf,
  startModelServer,
  type Brain,
  type BrainRequest,
  type ModelServer,
} from '../support/model-server/index.js';

const SETUP_TIMEOUT_MS = 120_000;
const ITEMS = 6;
const ADMIN_KEY = 'operator-0123456789abcdef';

const SCHEMA = {
  type: 'object',
  properties: { title: { type: 'string' }, price: { type: 'number' }, colour: { type: ['string', 'null'] } },
  required: ['title', 'price'],
};
const TRACKED = ['markdown', { type: 'changeTracking', modes: ['json'], schema: SCHEMA }];
const JSON_FORMAT = { type: 'json', schema: SCHEMA };
const factsOf = (name: string, price = 9.5) => ({ title: `Widget ${name}`, price, colour: 'red' });

interface Document {
  markdown?: string;
  json?: unknown;
  extract?: unknown;
  summary?: string;
  answer?: string;
  highlights?: string;
  warning?: string;
  changeTracking?: Record<string, unknown>;
  metadata: Record<string, unknown> & { sourceURL: string; creditsUsed: number };
}

interface Job {
  status: string;
  completed: number;
  creditsUsed: number;
  data: Document[];
}

let site: Site;
let model: ModelServer;
let cluster: TestCluster;
let api: ApiClient;
/** A page that somebody will compare with: in a browser it is given seconds to settle. */
let firstTracked: ReturnType<typeof scrape>;
/** Price of each widget that is not 9.50. */
const prices = new Map<string, string>();

const at = (path: string) => `${site.origin}${path}`;

function pageOf(path: string): string {
  const name = path.split('/').at(-1) ?? '';
  const links = path === '/items' ? Array.from({ length: ITEMS }, (_, n) => `<a href="/items/${n}">${n}</a>`) : [];
  return `<html><head><title>${name}</title></head><body><main><h1>Widget ${name}</h1>
    <p>Price: ${prices.get(name) ?? '9.50'}</p><p>Colour: red</p><p>Passage: Widgets hold things together.</p>
    <p>A widget is sold by weight. It is made of iron.</p>${links.join(' ')}</main></body></html>`;
}

beforeAll(async () => {
  site = await startSite((request, response) => {
    const isThere = request.url !== '/robots.txt';
    response.writeHead(isThere ? 200 : 404, { 'content-type': 'text/html' });
    response.end(isThere ? pageOf(request.url ?? '') : '');
  });
  model = await startModelServer();
  cluster = await startCluster({
    env: {
      ALLOW_PRIVATE_TARGETS: '127.0.0.1',
      HOST_GAP_MS: '0',
      HOST_EXPRESS_CONN: '16',
      CACHE_MAX_MB: '64',
      ADMIN_KEY,
      ...modelEnv(model),
    },
  });
  api = new ApiClient(cluster.url, cluster.apiKey);
  firstTracked = scrape('/tracked', { formats: TRACKED });
}, SETUP_TIMEOUT_MS);

beforeEach(() => {
  model.setBrain(readingBrain);
  model.requests.length = 0;
});

afterAll(async () => {
  await cluster?.stop();
  await model?.close();
  await site?.close();
}, SETUP_TIMEOUT_MS);

async function scrape(path: string, body: object, version = 'v2') {
  const answer = await api.post(`/${version}/scrape`, { url: at(path), ...body });
  return { ...answer, data: (answer.body.data ?? null) as Document };
}

/** Refuses what is asked of some pages, and reads all others. */
function refusing(isRefused: (request: BrainRequest) => boolean): Brain {
  return (request) => (isRefused(request) ? { refusal: 'I would rather not.' } : readingBrain(request));
}

const purposes = () => model.requests.map(({ purpose }) => purpose);

describe('a scrape', () => {
  it('answers with the facts that a schema names, and with nothing else', async () => {
    const { status, text, data } = await scrape('/a', { formats: [JSON_FORMAT] });
    expect({ status, text }).toMatchObject({ status: 200 });
    expect(Object.keys(data).sort()).toEqual(['json', 'metadata']);
    expect(data.json).toEqual(factsOf('a'));
    expect(data.metadata.creditsUsed).toBe(5);
    expect(model.requests).toHaveLength(1);
    expect(blocksOf(model.requests[0]!.messages)).toMatchObject([
      { url: at('/a'), text: expect.stringContaining('Widget a') },
    ]);
  });

  it('answers as a prompt asks when there is no schema', async () => {
    model.setBrain(({ messages }) => ({ value: { heard: requestOf(messages) } }));
    const { data } = await scrape('/a', { formats: ['markdown', { type: 'json', prompt: 'The price, please' }] });
    expect(data.json).toEqual({ heard: expect.stringContaining('The price, please') });
    expect(data.markdown).toContain('# Widget a');
  });

  it('has all formats of a page written at once, each at its price', async () => {
    const { data } = await scrape('/a', {
      formats: [
        'markdown',
        JSON_FORMAT,
        'summary',
        { type: 'question', question: 'What is the price?' },
        { type: 'highlights', query: 'hold' },
      ],
    });
    expect(data).toMatchObject({
      json: factsOf('a'),
      summary: expect.stringContaining('sold by weight'),
      answer: expect.stringContaining('9.50'),
      highlights: expect.stringContaining('Widgets hold things together.'),
    });
    expect(data).not.toHaveProperty('warning');
    expect(data.metadata.creditsUsed).toBe(13);
    expect(purposes().sort()).toEqual(['highlights', 'json', 'question', 'summary']);
  });

  it('takes a query for the question that it is', async () => {
    const { data } = await scrape('/a', { formats: [{ type: 'query', prompt: 'What is the price?' }] });
    expect(data.answer).toContain('9.50');
    expect(data).not.toHaveProperty('query');
  });

  it('goes without a format that fails, and says so', async () => {
    model.setBrain(refusing(({ purpose }) => purpose === 'json'));
    const { status, data } = await scrape('/a', { formats: ['markdown', JSON_FORMAT] });
    expect(status).toBe(200);
    expect(data).not.toHaveProperty('json');
    expect(data.warning).toMatch(/^The format json could not be made: /);
    expect(data.metadata.creditsUsed).toBe(1);
  });

  it('fails when the one thing that was asked fails', async () => {
    model.setBrain(refusing(() => true));
    const { status, body } = await scrape('/a', { formats: [JSON_FORMAT] });
    expect(status).toBe(500);
    expect(body).toMatchObject({ success: false, code: 'SCRAPE_JSON_FAILED', error: expect.any(String) });
    const { status: without, data } = await scrape('/a', { formats: ['summary'] });
    expect([without, data.warning]).toEqual([200, expect.stringMatching(/^The format summary could not be made: /)]);
  });

  it('does not wait for a slow model beyond its time', async () => {
    model.setBrain(() => ({ text: 'late', delayMs: 20_000 }));
    const [beside, alone] = await Promise.all([
      scrape('/a', { formats: ['markdown', 'summary'], timeout: 5000 }),
      scrape('/b', { formats: [JSON_FORMAT], timeout: 5000 }),
    ]);
    expect(beside.status).toBe(200);
    expect(beside.data.warning).toMatch(/summary could not be made: .*time/);
    expect([alone.status, alone.body.code]).toEqual([408, 'SCRAPE_TIMEOUT']);
    expect(Math.max(beside.ms, alone.ms)).toBeLessThan(18_000);
  });

  it('reads a page from the cache as if it had just come', async () => {
    const first = await scrape('/cached', { formats: ['markdown'] });
    expect(first.data.metadata.cacheState).toBe('miss');
    const again = await fromCache('/cached', [JSON_FORMAT]);
    expect(again.json).toEqual(factsOf('cached'));
    expect(again).not.toHaveProperty('markdown');
    expect(again.metadata).toMatchObject({ cacheState: 'hit', creditsUsed: 5 });
  });

  it('speaks the words of the first version', async () => {
    const json = await scrape('/a', { formats: ['json'], jsonOptions: { schema: SCHEMA } }, 'v1');
    expect([json.status, json.data.json, json.data.metadata.creditsUsed]).toEqual([200, factsOf('a'), 5]);
    const extract = await scrape('/a', { formats: ['markdown', 'extract'], extract: { schema: SCHEMA } }, 'v1');
    expect(extract.data.extract).toEqual(factsOf('a'));
    expect(extract.data).not.toHaveProperty('json');
  });

  it('is refused with a schema that cannot be used', async () => {
    const schema = { type: 'object', properties: { price: { type: 'money' } } };
    const { status, body } = await scrape('/a', { formats: ['markdown', { type: 'json', schema }] });
    expect([status, body.details]).toEqual([400, [expect.objectContaining({ path: ['formats', 1, 'schema'] })]]);
    expect(model.requests).toEqual([]);
  });

  it('names the changes of a page', async () => {
    const first = await firstTracked;
    expect(first).toMatchObject({ status: 200 });
    expect(first.data.changeTracking).toMatchObject({ changeStatus: 'new' });
    expect(first.data.metadata.creditsUsed).toBe(1);
    prices.set('tracked', '12.00');
    const { data } = await scrape('/tracked', { formats: TRACKED });
    expect(data.changeTracking).toMatchObject({
      changeStatus: 'changed',
      json: { price: { previous: 9.5, current: 12 } },
    });
    expect(data.metadata.creditsUsed).toBe(5);
  }, 30_000);
});

/** The cache is written behind the back of the first scrape. */
async function fromCache(path: string, formats: unknown[]): Promise<Document> {
  for (let tries = 1; ; tries++) {
    const { data } = await scrape(path, { formats });
    if (data.metadata.cacheState === 'hit' || tries === 20) return data;
  }
}

describe('a batch', () => {
  it('has its pages read, and fails those of which nothing came', async () => {
    model.setBrain(refusing(({ messages }) => blocksOf(messages)[0]!.text.includes('Widget bad')));
    const names = ['p', 'q', 'bad', 'r'];
    const urls = names.map((name) => at(`/${name}`));
    const started = await api.post('/v2/batch/scrape', { urls, formats: [JSON_FORMAT] });
    const job = await api.finished<Job>(`/v2/batch/scrape/${started.body.id as string}`);
    expect(job).toMatchObject({ status: 'completed', completed: 4, creditsUsed: 15 });
    expect(job.data.map(({ json }) => json).sort(byTitle)).toEqual(['p', 'q', 'r'].map((name) => factsOf(name)));
    const { body } = await api.call(`/v2/batch/scrape/${started.body.id as string}/errors`);
    expect(body.errors).toMatchObject([{ url: at('/bad'), code: 'SCRAPE_JSON_FAILED' }]);
  });
});

const byTitle = (a: unknown, b: unknown) =>
  (a as { title: string }).title.localeCompare((b as { title: string }).title);

describe('a crawl', () => {
  it('has every page read once, while it follows their links', async () => {
    const { body } = await api.post('/v2/crawl', {
      url: at('/items'),
      sitemap: 'skip',
      scrapeOptions: { formats: ['links', JSON_FORMAT, 'summary'] },
    });
    const job = await api.finished<Job>(`/v2/crawl/${body.id as string}`);
    const names = ['items', ...Array.from({ length: ITEMS }, (_, n) => `${n}`)];
    expect(job).toMatchObject({ status: 'completed', completed: names.length, creditsUsed: 5 * names.length });
    expect(job.data.map(({ json }) => json).sort(byTitle)).toEqual(names.map((name) => factsOf(name)).sort(byTitle));
    for (const { summary } of job.data) expect(summary).toContain('sold by weight');
    expect(purposes().filter((purpose) => purpose === 'json')).toHaveLength(names.length);
  });

  it('is shaped by a prompt, under what the body says itself', async () => {
    model.setBrain(() => ({ value: { ...NO_WISHES, includePaths: ['^/items/[0-3]$'], limit: 2 } }));
    const { status, body } = await api.post('/v2/crawl', {
      url: at('/items'),
      prompt: 'Only the first four items, two pages at most',
      limit: 4,
      sitemap: 'skip',
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      promptGeneratedOptions: { includePaths: ['^/items/[0-3]$'], limit: 2 },
      finalCrawlerOptions: { includePaths: ['^/items/[0-3]$'], limit: 4, sitemap: 'skip' },
    });
    const job = await api.finished<Job>(`/v2/crawl/${body.id as string}`);
    expect(job).toMatchObject({ completed: 4, creditsUsed: 4 });
    const found = job.data.map(({ metadata }) => new URL(metadata.sourceURL).pathname);
    expect(found.filter((path) => !/^\/items(\/[0-3])?$/.test(path))).toEqual([]);
  });
});

/** What a model answers of what a sentence does not speak of. */
const NO_WISHES = {
  includePaths: null,
  excludePaths: null,
  maxDiscoveryDepth: null,
  crawlEntireDomain: null,
  allowExternalLinks: null,
  allowSubdomains: null,
  sitemap: null,
  ignoreQueryParameters: null,
  deduplicateSimilarURLs: null,
  delay: null,
  limit: null,
};

describe('a preview of crawl options', () => {
  it('shows what a sentence asks for, at no price', async () => {
    const before = await credits();
    model.setBrain(() => ({ value: { ...NO_WISHES, excludePaths: ['^/archive/'], maxDiscoveryDepth: 2, delay: 1 } }));
    const { status, body } = await api.post('/v2/crawl/params-preview', { url: at('/'), prompt: 'Not the archive' });
    expect([status, body]).toEqual([
      200,
      { success: true, data: { url: at('/'), excludePaths: ['^/archive/'], maxDiscoveryDepth: 2, delay: 1 } },
    ]);
    expect(await credits()).toBe(before);
  });

  it('of a sentence that no options come of is a bad request', async () => {
    model.setBrain(() => ({ value: { ...NO_WISHES, includePaths: ['('] } }));
    const { status, body } = await api.post('/v2/crawl/params-preview', { url: at('/'), prompt: 'What?' });
    expect([status, body.code, body.error]).toEqual([400, 'BAD_REQUEST', expect.stringContaining('crawl options')]);
    const crawl = await api.post('/v2/crawl', { url: at('/'), prompt: 'What?' });
    expect([crawl.status, crawl.body.code]).toEqual([400, 'BAD_REQUEST']);
  });
});

async function credits(): Promise<number> {
  const { body } = await api.call('/v2/team/credit-usage/historical');
  return (body.periods as { totalCredits: number }[]).reduce((sum, { totalCredits }) => sum + totalCredits, 0);
}

describe('the JavaScript client', () => {
  const client = () => new FirecrawlClient({ apiKey: cluster.apiKey, apiUrl: cluster.url });

  it('hands out the facts of a zod schema', async () => {
    const schema = z.object({ title: z.string(), price: z.number(), colour: z.enum(['red', 'blue']).nullable() });
    const document = await client().scrape(at('/a'), { formats: [{ type: 'json', schema }, 'summary'] });
    expect(schema.parse(document.json)).toEqual(factsOf('a'));
    expect(document.summary).toContain('sold by weight');
  });

  it('crawls by prompt and previews its options', async () => {
    model.setBrain(() => ({ value: { ...NO_WISHES, limit: 2 } }));
    expect(await client().crawlParamsPreview(at('/items'), 'two pages')).toEqual({ url: at('/items'), limit: 2 });
    const job = await client().crawl(at('/items'), { prompt: 'two pages', sitemap: 'skip', pollInterval: 1 });
    expect([job.status, job.data.length]).toEqual(['completed', 2]);
  });
});

describe('an extractor that dies', () => {
  it('is replaced while its page still has time', async () => {
    let killed = false;
    model.setBrain(async (request) => {
      if (killed) return readingBrain(request);
      killed = true;
      await cluster.signal('extractor', 'SIGKILL');
      return { ...readingBrain(request), delayMs: 500 };
    });
    const { status, data } = await scrape('/a', { formats: [JSON_FORMAT] });
    expect([status, data.json]).toEqual([200, factsOf('a')]);
    expect(model.requests).toHaveLength(2);
  }, 60_000);
});

describe('with zero data retention', () => {
  it('no model is shown the page', async () => {
    const admin = new ApiClient(cluster.url, ADMIN_KEY);
    const made = await admin.post('/admin/teams', { name: 'discreet', flags: { zeroDataRetention: true } });
    const { body } = await admin.post(`/admin/teams/${(made.body.team as { id: string }).id}/keys`, { name: 'first' });
    api = new ApiClient(cluster.url, body.key as string);
    const { status, data } = await scrape('/a', { formats: ['markdown', JSON_FORMAT], zeroDataRetention: true });
    expect([status, data.warning]).toEqual([200, expect.stringContaining('zero data retention')]);
    expect(data).not.toHaveProperty('json');
    expect(data.metadata.creditsUsed).toBe(2);
    expect(model.requests).toEqual([]);
  });
});
