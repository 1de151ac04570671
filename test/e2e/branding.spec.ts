/** The formats branding and attributes through the whole cluster, on pages whose look and attributes are known. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { browsersHere, type Site, startSite } from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import { FORMATS_CLUSTER, startStage, type Stage } from '../support/shared-stage.js';
import { brandAnswer } from './brand-pages.fixture.js';

const SETUP_TIMEOUT_MS = 120_000;
const PATIENT_MS = 60_000;
const TEST_TIMEOUT_MS = 90_000;
const withBrowser = browsersHere === null ? describe.skip : describe;

interface CrawledPage {
  metadata: { url: string };
  attributes: { values: string[] }[];
}

let site: Site;
let stage: Stage;
let api: ApiClient;

const SHOP = `<!doctype html><html><head><title>Shop</title><link rel="canonical" href="/shop"></head><body>
  <header><a data-sku="head" href="#top">Top</a></header>
  <main><p>Two things are for sale in this shop, and both of them are described here at some length for everybody.</p>
    <ul><li class="item" data-sku="A&amp;1"><a href="../a?x=1&amp;y=2">A</a></li><li class="item" data-sku="B2" hidden><a href="/b">B</a></li>
    <li class="item"><a href="/shop/more">More</a></li></ul></main></body></html>`;
const MORE =
  '<!doctype html><html><body><main><p>More of it.</p><p class="item" data-sku="C3">C</p></main></body></html>';

beforeAll(async () => {
  site = await startSite((request, response) => {
    const path = request.url ?? '/';
    const plain = { '/shop': SHOP, '/shop/more': MORE }[path];
    const { status, type, body } =
      plain === undefined ? brandAnswer(path) : { status: 200, type: 'text/html', body: plain };
    response.writeHead(status, { 'content-type': type }).end(body);
  });
  stage = await startStage(FORMATS_CLUSTER);
  api = new ApiClient(stage.cluster.url, stage.cluster.apiKey);
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await stage?.stop();
  await site?.close();
}, SETUP_TIMEOUT_MS);

const scrape = async (path: string, options: object) => {
  const { status, body } = await api.post('/v2/scrape', { url: site.origin + path, timeout: PATIENT_MS, ...options });
  return { status, body, data: body.data as Record<string, unknown> };
};
const brandingOf = async (path: string): Promise<Record<string, unknown>> => {
  const { status, data } = await scrape(path, { formats: ['branding'] });
  expect(status).toBe(200);
  expect(Object.keys(data).sort()).toEqual(['branding', 'metadata']);
  return data.branding as Record<string, unknown>;
};

withBrowser('the branding of', () => {
  it(
    'a light page has its colours, fonts, measures, controls and logo',
    async () => {
      const body = ['Source Sans 3', 'Arial', 'sans-serif'];
      expect(await brandingOf('/corporate')).toEqual({
        colorScheme: 'light',
        brandName: 'Meridian Freight',
        logo: `${site.origin}/wordmark.png`,
        fonts: [
          { family: 'Source Sans 3', role: 'body', share: expect.any(Number) },
          { family: 'Merriweather', role: 'heading', share: expect.any(Number) },
          { family: 'IBM Plex Mono', role: 'code', share: expect.any(Number) },
        ],
        colors: {
          primary: '#0B5FFF',
          secondary: '#FF7A00',
          background: '#FFFFFF',
          textPrimary: '#1F2937',
          textSecondary: '#6B7280',
          link: '#0B5FFF',
          success: '#15803D',
          error: '#B91C1C',
        },
        typography: {
          fontFamilies: { primary: 'Source Sans 3', heading: 'Merriweather', code: 'IBM Plex Mono' },
          fontStacks: { primary: body, heading: ['Merriweather', 'Georgia', 'serif'], body, paragraph: body },
          fontSizes: { h1: '48px', h2: '32px', h3: '24px', body: '16px', small: '14px' },
          lineHeights: { heading: 1.25, body: 1.6 },
          fontWeights: { regular: 400, bold: 700 },
        },
        spacing: {
          baseUnit: 8,
          padding: { button: 24, input: 16, section: 64 },
          margins: { heading: 16, paragraph: 16 },
          gridGutter: 32,
          borderRadius: '8px',
        },
        components: {
          buttonPrimary: {
            background: '#0B5FFF',
            textColor: '#FFFFFF',
            borderColor: '#0B5FFF',
            borderRadius: '8px',
          },
          buttonSecondary: {
            background: 'transparent',
            textColor: '#0B5FFF',
            borderColor: '#0B5FFF',
            borderRadius: '8px',
          },
          input: { borderColor: '#9CA3AF', focusBorderColor: '#0B5FFF', borderRadius: '8px' },
        },
        images: {
          logo: `${site.origin}/wordmark.png`,
          favicon: `${site.origin}/favicon.png`,
          ogImage: `${site.origin}/share.png`,
          logoHref: `${site.origin}/corporate`,
          logoAlt: 'Meridian Freight logo',
        },
        animations: { transitionDuration: '0.2s', easing: 'ease-in-out' },
        layout: { grid: { columns: 3, maxWidth: '1120px' }, headerHeight: '80px', footerHeight: '160px' },
      });
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'a dark page has the ground that an inner element paints, the gradient of its button and its drawn logo',
    async () => {
      const branding = await brandingOf('/dark');
      expect(branding).toMatchObject({
        colorScheme: 'dark',
        brandName: 'Nightowl',
        fonts: [{ family: 'Inter' }],
        colors: {
          primary: '#7C3AED',
          secondary: '#22D3EE',
          background: '#0B0F19',
          textPrimary: '#E5E7EB',
          textSecondary: '#94A3B8',
          link: '#22D3EE',
        },
        typography: { fontSizes: { h1: '60px', body: '15px' }, fontWeights: { regular: 400, bold: 800 } },
        spacing: { baseUnit: 10 },
        components: {
          buttonPrimary: { background: '#7C3AED', textColor: '#FFFFFF', borderRadius: '999px' },
          buttonSecondary: { background: '#1E293B', textColor: '#FFFFFF' },
        },
        images: { favicon: `${site.origin}/owl.svg`, logoAlt: 'Nightowl' },
      });
      const [type, drawing] = (branding.logo as string).split(',');
      expect(type).toBe('data:image/svg+xml;base64');
      expect(Buffer.from(drawing ?? '', 'base64').toString()).toContain('d="M0 0h120v32H0z"');
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'a page of a few words has what its custom properties call by name, and no text that is null',
    async () => {
      const branding = await brandingOf('/minimal');
      expect(branding).toMatchObject({ colorScheme: 'light', brandName: 'Folio', fonts: [{ family: 'Georgia' }] });
      expect(branding.colors).toEqual({
        primary: '#BE123C',
        secondary: '#1A334D',
        accent: '#0E7490',
        background: '#FFFFFF',
        textPrimary: '#18181B',
        warning: '#CA8A04',
      });
      for (const key of ['colors', 'icons', 'animations', 'tone', 'images']) {
        const texts = Object.values(branding[key] ?? {});
        expect({ key, types: texts.filter((text) => typeof text !== 'string') }).toEqual({ key, types: [] });
      }
      for (const key of ['tone', 'personality', 'components', 'icons']) expect(branding).not.toHaveProperty(key);
    },
    TEST_TIMEOUT_MS,
  );
});

describe('attributes', () => {
  const selectors = [
    { selector: '.item', attribute: 'data-sku' },
    { selector: 'main a, head > link', attribute: 'HREF' },
    { selector: 'h6', attribute: 'id' },
    { selector: 'header a', attribute: 'data-sku' },
  ];
  const asked = { formats: [{ type: 'attributes', selectors }] };

  it('of a page are the values as written, one entry per pair in order, from all of the page', async () => {
    const { status, data } = await scrape('/shop', asked);
    expect(status).toBe(200);
    expect(Object.keys(data).sort()).toEqual(['attributes', 'metadata']);
    expect(data.attributes).toEqual([
      { ...selectors[0], values: ['A&1', 'B2'] },
      { ...selectors[1], values: ['/shop', '../a?x=1&y=2', '/b', '/shop/more'] },
      { ...selectors[2], values: [] },
      { ...selectors[3], values: ['head'] },
    ]);
  });

  it(
    'are read of each page of a crawl',
    async () => {
      const started = await api.post('/v2/crawl', {
        url: `${site.origin}/shop`,
        sitemap: 'skip',
        includePaths: ['^/shop'],
        crawlEntireDomain: true,
        scrapeOptions: { formats: [{ type: 'attributes', selectors: [selectors[0]] }] },
      });
      const { data } = await api.finished<{ data: CrawledPage[] }>(`/v2/crawl/${started.body.id as string}`, 60_000);
      const found = data.map(({ metadata, attributes }) => [new URL(metadata.url).pathname, attributes[0]?.values]);
      expect(Object.fromEntries(found)).toEqual({ '/shop': ['A&1', 'B2'], '/shop/more': ['C3'] });
    },
    TEST_TIMEOUT_MS,
  );

  it('with a selector that cannot be used are refused before anything is fetched', async () => {
    const before = site.log.length;
    const bad = [{ selector: 'a[', attribute: 'href' }];
    const { status, body } = await scrape('/shop', { formats: [{ type: 'attributes', selectors: bad }] });
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'BAD_REQUEST' });
    expect(body.error).toContain('"a["');
    expect(body.details).toMatchObject([{ path: ['formats', 0, 'selectors', 0, 'selector'] }]);
    expect(site.log.length).toBe(before);
  });
});
