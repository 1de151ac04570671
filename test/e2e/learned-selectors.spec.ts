/** A model in front of which selectors are learned, and the labelled pages through a scripted model, in a whole cluster. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startDns, startSite, type DnsServer, type Site } from '@troupe/testing';
import { bytesOf, families, labelledPages } from '../labelled/labelled-pages.js';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import {
  blocksOf,
  byPurpose,
  modelEnv,
  startModelServer,
  type Brain,
  type ModelServer,
} from '../support/model-server/index.js';

const SETUP_TIMEOUT_MS = 120_000;

let site: Site;
let dns: DnsServer;
let model: ModelServer;
let cluster: TestCluster;
let api: ApiClient;
/** Class of the element that holds a price: a new design changes it. */
let priceClass = 'price';

interface Document {
  json?: unknown;
  warning?: string;
  metadata: { sourceURL: string; creditsUsed: number };
}

interface Job {
  status: string;
  completed: number;
  creditsUsed: number;
  data: Document[];
}

const SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    price: { type: 'number' },
    parts: { type: 'array', items: { type: 'object', properties: { label: { type: 'string' } }, required: ['label'] } },
  },
  required: ['name', 'price'],
};

const at = (host: string, path: string) => `http://${host}:${site.port}${path}`;
const factsOf = (n: number) => ({
  name: `Lamp ${n}`,
  price: 10.5 + n,
  parts: [{ label: 'Foot' }, { label: `Bulb ${n}` }],
});

function itemPage(n: number): string {
  const { name, price, parts } = factsOf(n);
  const rows = parts.map(({ label }) => `<li class="part">${label}</li>`).join('');
  return `<html><head><title>${name}</title></head><body><main><h1>${name}</h1><p>Only <b class="${priceClass}">${price} EUR</b> today.</p>
    <p>A lamp gives light, and this one gives more of it than any other.</p><ul>${rows}</ul></main></body></html>`;
}

/** Reads pages without a mistake: it knows what they are made from. */
const reader: Brain = ({ messages }) => {
  const url = blocksOf(messages)[0]?.url ?? '';
  const labelled = labelledPages.find((page) => withPort(page.url) === url);
  return { value: labelled === undefined ? factsOf(Number(url.split('/').at(-1))) : withPorts(labelled.expected) };
};

const writer: Brain = () => ({
  value: {
    fields: [
      { path: 'name', selector: 'h1', attribute: null },
      { path: 'price', selector: 'b.price', attribute: null },
      { path: 'parts[]', selector: 'li.part', attribute: null },
      { path: 'parts[].label', selector: '.', attribute: null },
    ],
  },
});

beforeAll(async () => {
  const labelled = new Map(labelledPages.map((page) => [page.url, page]));
  site = await startSite((request, response) => {
    const host = request.headers.host?.split(':')[0];
    const page = labelled.get(`http://${host}${request.url}`);
    const n = /^\/item\/(\d+)$/.exec(request.url ?? '')?.[1];
    response.writeHead(page !== undefined || n !== undefined ? 200 : 404, {
      'content-type': 'text/html; charset=utf-8',
    });
    response.end(page !== undefined ? bytesOf(page) : n !== undefined ? itemPage(Number(n)) : '');
  });
  const hosts = ['lamps.test', 'other.test', ...labelledPages.map(({ url }) => new URL(url).hostname)];
  dns = await startDns(Object.fromEntries(hosts.map((host) => [host, ['127.0.0.1']])));
  model = await startModelServer();
  cluster = await startCluster({
    env: {
      ALLOW_PRIVATE_TARGETS: `127.0.0.1:${site.port}`,
      DNS_SERVERS: dns.address,
      HOST_GAP_MS: '0',
      HOST_EXPRESS_CONN: '16',
      ...modelEnv(model),
    },
  });
  api = new ApiClient(cluster.url, cluster.apiKey);
}, SETUP_TIMEOUT_MS);

beforeEach(() => {
  model.setBrain(byPurpose({ selectors: writer }, reader));
  model.requests.length = 0;
  priceClass = 'price';
});

afterAll(async () => {
  await cluster?.stop();
  await model?.close();
  await site?.close();
  dns?.close();
}, SETUP_TIMEOUT_MS);

function withPort(url: string): string {
  return url.replace('.test/', `.test:${site.port}/`);
}

function withPorts(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll('.test/', `.test:${site.port}/`));
}

async function learned(n: number, host = 'lamps.test') {
  const formats = [{ type: 'json', schema: SCHEMA, learn: true }];
  const { status, body } = await api.post('/v2/scrape', { url: at(host, `/item/${n}`), formats, maxAge: 0 });
  expect([status, body.error]).toEqual([200, undefined]);
  return body.data as Document;
}

/** Calls of each purpose. */
const calls = () => ({ read: model.count('json'), wrote: model.count('selectors') });

describe('learned selectors', () => {
  it('answer for a host without a model once they have held on three pages', async () => {
    for (let n = 1; n <= 3; n++) {
      const { json, metadata } = await learned(n);
      expect(json).toEqual(factsOf(n));
      expect(metadata.creditsUsed).toBeGreaterThan(1);
    }
    expect(calls()).toEqual({ read: 3, wrote: 1 });
    for (let n = 4; n <= 6; n++) {
      const { json, warning, metadata } = await learned(n);
      expect([json, warning, metadata.creditsUsed]).toEqual([factsOf(n), undefined, 1]);
    }
    expect(calls()).toEqual({ read: 3, wrote: 1 });
  });

  it('give way to the model where a page has changed, and answer again when it has not', async () => {
    priceClass = 'cost';
    expect((await learned(7)).json).toEqual(factsOf(7));
    expect(calls()).toEqual({ read: 1, wrote: 0 });
    priceClass = 'price';
    expect((await learned(8)).json).toEqual(factsOf(8));
    expect(calls()).toEqual({ read: 1, wrote: 0 });
  });

  it('are no use for another host or another wish', async () => {
    expect((await learned(9, 'other.test')).json).toEqual(factsOf(9));
    expect(calls()).toEqual({ read: 1, wrote: 1 });
    const formats = [{ type: 'json', schema: SCHEMA, prompt: 'The lamp', learn: true }];
    const { body } = await api.post('/v2/scrape', { url: at('lamps.test', '/item/9'), formats });
    expect((body.data as Document).json).toEqual(factsOf(9));
    expect(calls()).toEqual({ read: 2, wrote: 2 });
  });

  it('are not asked for unless a format says so', async () => {
    const formats = [{ type: 'json', schema: SCHEMA }];
    const { body } = await api.post('/v2/scrape', { url: at('lamps.test', '/item/10'), formats });
    expect((body.data as Document).json).toEqual(factsOf(10));
    expect(calls()).toEqual({ read: 1, wrote: 0 });
  });

  it('that are wrong are mended once, and then left alone', async () => {
    const wrong = { path: 'price', selector: 'h1', attribute: null };
    const priceOf = (url: string | null | undefined) => factsOf(Number((url ?? '').split('/').at(-1))).price;
    const priceReader: Brain = ({ messages }) => ({ value: { price: priceOf(blocksOf(messages)[0]?.url) } });
    model.setBrain(byPurpose({ selectors: () => ({ value: { fields: [wrong] } }) }, priceReader));
    const schema = { type: 'object', properties: { price: { type: 'number' } }, required: ['price'] };
    for (const n of [11, 12]) {
      const formats = [{ type: 'json', schema, learn: true }];
      const { body } = await api.post('/v2/scrape', { url: at('lamps.test', `/item/${n}`), formats });
      expect((body.data as Document).json).toEqual({ price: factsOf(n).price });
    }
    expect(calls()).toEqual({ read: 2, wrote: 2 });
  });
});

describe('labelled pages through a model', () => {
  it.each(Object.keys(families))('the values of %s come through unchanged', async (family) => {
    const pages = labelledPages.filter((page) => page.family === family);
    const started = await api.post('/v2/batch/scrape', {
      urls: pages.map(({ url }) => withPort(url)),
      formats: [{ type: 'json', schema: families[family]!.schema }],
    });
    const job = await api.finished<Job>(`/v2/batch/scrape/${started.body.id as string}`);
    const found = new Map(job.data.map((document) => [document.metadata.sourceURL, document.json]));
    expect([job.status, job.completed]).toEqual(['completed', pages.length]);
    for (const page of pages) expect(found.get(withPort(page.url))).toEqual(withPorts(page.expected));
  });
});
