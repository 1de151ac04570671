/** Facts by selectors, and products, through a whole cluster without a language model: scrape, batch, crawl, labelled pages, refusals. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FirecrawlClient } from 'firecrawl';
import { startSite, type Site } from '@troupe/testing';
import { bytesOf, families, labelledPages } from '../labelled/labelled-pages.js';
import { ApiClient } from '../support/api-client.js';
import { FORMATS_CLUSTER, startStage, type Stage } from '../support/shared-stage.js';

const SETUP_TIMEOUT_MS = 120_000;
const PRODUCTS = 4;

let site: Site;
let stage: Stage;
let api: ApiClient;

interface Document {
  product?: unknown;
  json?: unknown;
  markdown?: string;
  warning?: string;
  metadata: Record<string, unknown> & { sourceURL: string; creditsUsed: number };
}

interface Job {
  status: string;
  completed: number;
  creditsUsed: number;
  data: Document[];
}

const shop = (path: string) => `http://shop.test:${site.port}${path}`;

const SOLD = {
  '@type': 'Product',
  name: 'Lamp',
  sku: 'L-1',
  offers: { price: '1099.50', priceCurrency: 'EUR', availability: 'https://schema.org/InStock' },
};

function shopPage(path: string): string {
  if (path === '/sold') return `<h1>Lamp</h1><script type="application/ld+json">${JSON.stringify(SOLD)}</script>`;
  const n = Number(path.split('/').at(-1));
  const links = Array.from({ length: PRODUCTS }, (_, i) => `<li><a href="/item/${i}">Lamp ${i}</a></li>`).join('');
  const body = path === '/' ? `<ul class="products">${links}</ul>` : `<p class="price">1.${n}99,50 €</p>`;
  return `<html lang="de"><body><nav><h2>Menu</h2></nav><h1>${path === '/' ? 'Shop' : `Lamp ${n}`}</h1>${body}</body></html>`;
}

const ITEM = { name: 'h1', price: { selector: '.price', type: 'number' } };
const itemOf = (n: number) => ({ name: `Lamp ${n}`, price: 1099.5 + 100 * n });

beforeAll(async () => {
  const labelled = new Map(labelledPages.map((page) => [page.url, page]));
  site = await startSite((request, response) => {
    const host = request.headers.host?.split(':')[0];
    const page = labelled.get(`http://${host}${request.url}`);
    const isShop = host === 'shop.test' && request.url !== '/robots.txt';
    response.writeHead(page !== undefined || isShop ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' });
    response.end(page !== undefined ? bytesOf(page) : isShop ? shopPage(request.url ?? '/') : '');
  });
  const hosts = ['shop.test', ...labelledPages.map(({ url }) => new URL(url).hostname)];
  stage = await startStage(FORMATS_CLUSTER, Object.fromEntries(hosts.map((host) => [host, ['127.0.0.1']])));
  api = new ApiClient(stage.cluster.url, stage.cluster.apiKey);
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await stage?.stop();
  await site?.close();
}, SETUP_TIMEOUT_MS);

async function scrape(path: string, body: object) {
  const answer = await api.post('/v2/scrape', { url: shop(path), ...body });
  return { ...answer, data: (answer.body.data ?? null) as Document };
}

describe('a scrape for the product', () => {
  it('gives it as the page tells it, costs what a page costs, and needs no model', async () => {
    for (const format of ['product', { type: 'product' }]) {
      const { status, data } = await scrape('/sold', { formats: [format] });
      expect([status, data.warning, data.metadata.creditsUsed]).toEqual([200, undefined, 1]);
      expect(data.product).toEqual({
        title: 'Lamp',
        url: shop('/sold'),
        variants: [
          {
            sku: 'L-1',
            title: 'Lamp',
            price: { amount: 1099.5, currency: 'EUR' },
            availability: { inStock: true, text: 'InStock' },
          },
        ],
      });
    }
  });

  it('succeeds with a warning where there is none', async () => {
    const { status, data } = await scrape('/', { formats: ['markdown', 'product'] });
    expect(status).toBe(200);
    expect(data).not.toHaveProperty('product');
    expect(data.warning).toContain('No product was found');
    expect(data.markdown).toContain('Lamp 1');
  });
});

describe('a scrape with selectors', () => {
  it('gives the facts, costs what a page costs, and needs no model', async () => {
    const { status, data } = await scrape('/item/2', { formats: [{ type: 'json', selectors: ITEM }] });
    expect([status, data.json, data.warning, data.metadata.creditsUsed]).toEqual([200, itemOf(2), undefined, 1]);
    expect(data.markdown).toBeUndefined();
  });

  it('reads lists of objects by CSS and XPath, beside other formats', async () => {
    const selectors = {
      shop: '//h1',
      items: [{ $: 'ul.products > li', name: 'a', url: { selector: './a/@href', type: 'url' } }],
    };
    const { data } = await scrape('/', { formats: ['markdown', { type: 'json', selectors }] });
    const items = Array.from({ length: PRODUCTS }, (_, n) => ({ name: `Lamp ${n}`, url: shop(`/item/${n}`) }));
    expect(data).toMatchObject({
      json: { shop: 'Shop', items },
      markdown: expect.stringContaining('Lamp 3') as unknown,
    });
  });

  it('sees the whole page, less the tags that are excluded', async () => {
    const formats = [{ type: 'json', selectors: { menu: 'nav h2', title: 'h1' } }];
    expect((await scrape('/', { formats })).data.json).toEqual({ menu: 'Menu', title: 'Shop' });
    expect((await scrape('/', { formats, excludeTags: ['nav'] })).data.json).toEqual({ menu: null, title: 'Shop' });
    expect((await scrape('/', { formats, includeTags: ['nav'] })).data.json).toEqual({ menu: 'Menu', title: null });
  });

  it('brings values into the form of a schema beside them, and says what does not fit', async () => {
    const schema = {
      type: 'object',
      properties: {
        name: { type: 'string' },
        sizes: { type: 'array', items: { type: 'number' } },
        stock: { type: 'integer' },
      },
      required: ['name', 'stock'],
    };
    const { data } = await scrape('/item/1', {
      formats: [{ type: 'json', schema, selectors: { name: 'h1', sizes: '.price', stock: '.stock' } }],
    });
    expect(data.json).toMatchObject({ name: 'Lamp 1', sizes: [1199.5] });
    expect(data.warning).toMatch(/do not satisfy the schema: .*stock/);
  });

  it('works from the SDK', async () => {
    const client = new FirecrawlClient({ apiKey: stage.cluster.apiKey, apiUrl: stage.cluster.url });
    const formats = [{ type: 'json' as const, schema: { type: 'object' }, selectors: ITEM }];
    expect((await client.scrape(shop('/item/3'), { formats })).json).toEqual(itemOf(3));
  });
});

describe('jobs with selectors', () => {
  it('a crawl gives the facts of every page', async () => {
    const { body } = await api.post('/v2/crawl', {
      url: shop('/'),
      sitemap: 'skip',
      scrapeOptions: { formats: [{ type: 'json', selectors: ITEM }] },
    });
    const job = await api.finished<Job>(`/v2/crawl/${body.id as string}`);
    const facts = job.data.map(({ json }) => json as { name: string }).sort((a, b) => a.name.localeCompare(b.name));
    expect([job.status, job.creditsUsed]).toEqual(['completed', PRODUCTS + 1]);
    expect(facts).toEqual([...Array.from({ length: PRODUCTS }, (_, n) => itemOf(n)), { name: 'Shop', price: null }]);
  });

  it.each(Object.keys(families))('a batch over the labelled pages of %s gives every value exactly', async (family) => {
    const pages = labelledPages.filter((page) => page.family === family);
    const urls = pages.map(({ url }) => withPort(url));
    const started = await api.post('/v2/batch/scrape', {
      urls,
      formats: [{ type: 'json', selectors: families[family]!.selectors, schema: families[family]!.schema }],
    });
    const job = await api.finished<Job>(`/v2/batch/scrape/${started.body.id as string}`);
    const found = new Map(job.data.map((document) => [document.metadata.sourceURL, document]));
    for (const page of pages) {
      const document = found.get(withPort(page.url));
      expect([page.page, document?.warning]).toEqual([page.page, undefined]);
      expect(withoutPort(document?.json)).toEqual(page.expected);
    }
    expect(job.creditsUsed).toBe(pages.length);
  });
});

function withPort(url: string): string {
  return url.replace('.test/', `.test:${site.port}/`);
}

function withoutPort(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null).replaceAll(`.test:${site.port}/`, '.test/'));
}

describe('selectors that cannot be used', () => {
  it.each([
    [{ selectors: { title: 'h1[' } }, /title.*not a usable CSS selector/],
    [{ selectors: { items: [{ name: 'b' }] } }, /items.*need a selector of their own/],
    [{ selectors: { a: '//x[last(]' } }, /a.*not a usable XPath/],
    [{ selectors: ITEM, prompt: 'The price' }, /prompt has no use/],
    [{ selectors: ITEM, learn: true }, /nothing to learn/],
    [{ selectors: ITEM, schema: { type: 'nonsense' } }, /schema/],
    [{ schema: { type: 'object' }, learn: true }, /model/],
  ])('%j is a bad request that says why', async (options, message) => {
    const { status, text, body } = await scrape('/', { formats: [{ type: 'json', ...options }] });
    expect([status, body.code]).toEqual([400, 'BAD_REQUEST']);
    expect(text).toMatch(message);
  });
});
