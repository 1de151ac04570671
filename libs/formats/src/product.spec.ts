import { describe, expect, it } from '@jest/globals';
import { convertPage } from '@troupe/content';
import { PLAIN_PAGE, type ConvertRequest } from '@troupe/contracts';
import * as frontier from '@troupe/frontier';

const URL = 'http://shop.test/socks/merino';

interface Page {
  product?: Record<string, unknown>;
  warning?: string;
}

function pageOf(html: string, changes: Partial<ConvertRequest> = {}): Page {
  const request: ConvertRequest = {
    body: new TextEncoder().encode(html),
    url: URL,
    statusCode: 200,
    contentType: 'text/html; charset=utf-8',
    robotsTag: null,
    rendered: false,
    spec: {
      formats: [{ type: 'product' }],
      onlyMainContent: true,
      includeTags: [],
      excludeTags: [],
      removeBase64Images: true,
      parsers: PLAIN_PAGE.parsers,
    },
    captured: null,
    timeoutMs: 30_000,
    metadata: {},
    discover: null,
    encoding: 'json',
    ...changes,
  };
  return JSON.parse(Buffer.from(convertPage(request, frontier).document).toString()) as Page;
}

const ld = (value: unknown): string => `<script type="application/ld+json">${JSON.stringify(value)}</script>`;
const json = (value: unknown): string =>
  `<script id=__NEXT_DATA__ type="application/json">${JSON.stringify(value)}</script>`;
const offer = (price: unknown, more: object = {}): object => ({
  '@type': 'Offer',
  price,
  priceCurrency: 'EUR',
  availability: 'https://schema.org/InStock',
  ...more,
});
const SOCK = {
  '@type': 'Product',
  name: 'Merino Sock',
  sku: 'S-1',
  brand: { '@type': 'Brand', name: 'Fjell' },
  category: 'Clothing > Socks',
  description: '<p>A warm <b>sock</b>.</p>',
  image: ['/a.jpg', { '@type': 'ImageObject', contentUrl: '/b.jpg', caption: 'sole' }],
  color: 'Grey',
  offers: offer('12.50'),
};
const WARNING = 'No product was found in the data of the page.';

describe('the product of a page', () => {
  it('is a single article with one variant (JSON-LD)', () => {
    expect(pageOf(ld(SOCK))).toMatchObject({
      product: {
        title: 'Merino Sock',
        url: URL,
        brand: 'Fjell',
        category: 'Clothing > Socks',
        description: 'A warm sock .',
        variants: [
          {
            sku: 'S-1',
            title: 'Merino Sock',
            values: { color: 'Grey' },
            price: { amount: 12.5, currency: 'EUR' },
            availability: { inStock: true, text: 'InStock' },
            images: [{ url: 'http://shop.test/a.jpg' }, { url: 'http://shop.test/b.jpg', alt: 'sole' }],
          },
        ],
      },
    });
    expect(pageOf(ld(SOCK)).warning).toBeUndefined();
  });

  it('is a group with its variants, those beside it included', () => {
    const variant = (size: string, more: object): object => ({
      '@type': 'Product',
      name: `Sock ${size}`,
      size,
      ...more,
    });
    const graph = [
      {
        '@type': 'ProductGroup',
        productGroupID: 'G',
        name: 'Merino Sock',
        hasVariant: [variant('M', { sku: 'm', offers: offer(10) }), { '@id': '#l' }],
      },
      variant('L', { '@id': '#l', sku: 'l', offers: offer(11, { availability: 'OutOfStock' }) }),
      variant('XL', { sku: 'xl', inProductGroupWithID: 'G', offers: offer(12) }),
      variant('foreign', { sku: 'f', inProductGroupWithID: 'other', offers: offer(1) }),
    ];
    const { product } = pageOf(ld({ '@graph': graph }));
    expect(product).toMatchObject({
      title: 'Merino Sock',
      variants: [
        { sku: 'm', values: { size: 'M' }, price: { amount: 10 }, availability: { inStock: true } },
        { sku: 'l', values: { size: 'L' }, price: { amount: 11 }, availability: { inStock: false } },
        { sku: 'xl', values: { size: 'XL' }, price: { amount: 12 }, availability: { inStock: true } },
      ],
    });
    expect(product?.['variants']).toHaveLength(3);
  });

  it('has the original price of a sale, in one currency and only when it is higher', () => {
    const reduced = (listPrice: number, priceCurrency = 'EUR'): object =>
      offer(undefined, {
        priceSpecification: [
          { '@type': 'UnitPriceSpecification', price: 8, priceCurrency: 'EUR' },
          { priceType: 'https://schema.org/StrikethroughPrice', price: listPrice, priceCurrency },
        ],
      });
    const variantOf = (offers: object): unknown =>
      (pageOf(ld({ ...SOCK, offers })).product?.['variants'] as Record<string, unknown>[])[0];
    expect(variantOf(reduced(12))).toMatchObject({
      price: { amount: 8, currency: 'EUR' },
      sale: { originalPrice: { amount: 12, currency: 'EUR' } },
    });
    expect(variantOf(reduced(8))).not.toHaveProperty('sale');
    expect(variantOf(reduced(12, 'USD'))).not.toHaveProperty('sale');
  });

  it('has prices as the language of the page writes them, and a currency only where the page says it', () => {
    const html = (lang: string, price: string): string =>
      `<html lang=${lang}><div itemscope itemtype="https://schema.org/Product"><h1 itemprop=name>Sofa</h1>
       <div itemprop=offers itemscope itemtype="https://schema.org/Offer"><b itemprop=price>${price}</b>
       <link itemprop=availability href="https://schema.org/LimitedAvailability"></div></div>`;
    const priceOf = (lang: string, price: string): unknown =>
      (pageOf(html(lang, price)).product?.['variants'] as { price?: unknown }[])[0]?.price;
    expect(priceOf('de', '1.299,50 €')).toEqual({ amount: 1299.5, formatted: '1.299,50 €' });
    expect(priceOf('de', 'ab 1.299 €')).toEqual({ amount: 1299, formatted: 'ab 1.299 €' });
    expect(priceOf('en', '$1,299.00')).toEqual({ amount: 1299, formatted: '$1,299.00' });
    expect(priceOf('fr', '1 299,00')).toEqual({ amount: 1299, formatted: '1 299,00' });
    expect(priceOf('en', 'on request')).toBeUndefined();
  });

  it('is read from RDFa', () => {
    const html = `<div vocab="https://schema.org/" typeof=Product><h1 property=name>Hat</h1><i property=brand>Fjell</i>
      <p property=offers typeof=Offer><span property=price content="20">20 kr</span>
      <meta property=priceCurrency content=NOK><link property=availability href="http://schema.org/SoldOut"></p></div>`;
    expect(pageOf(html).product).toEqual({
      title: 'Hat',
      url: URL,
      brand: 'Fjell',
      variants: [
        { title: 'Hat', price: { amount: 20, currency: 'NOK' }, availability: { inStock: false, text: 'SoldOut' } },
      ],
    });
  });

  it('is read from the state of an application when it bears the name of the page', () => {
    const related = { title: 'Wool Hat', price: 1, availableForSale: true };
    const sock = {
      title: 'Merino Sock',
      vendor: 'Fjell',
      related: [related],
      variants: [
        {
          id: 7,
          sku: 's',
          title: 'M / Grey',
          availableForSale: true,
          price: { amount: '9.0', currencyCode: 'EUR' },
          compareAtPrice: { amount: '12.0', currencyCode: 'EUR' },
          selectedOptions: [{ name: 'Size', value: 'M' }],
        },
        { id: 8, title: 'L / Grey' },
      ],
    };
    const html = `<title>Merino Sock – Shop</title>${json({ props: { pageProps: { related, product: sock } } })}`;
    expect(pageOf(html).product).toEqual({
      title: 'Merino Sock',
      url: URL,
      brand: 'Fjell',
      variants: [
        {
          id: '7',
          sku: 's',
          title: 'M / Grey',
          values: { Size: 'M' },
          price: { amount: 9, currency: 'EUR' },
          sale: { originalPrice: { amount: 12, currency: 'EUR' } },
          availability: { inStock: true },
        },
      ],
    });
    expect(pageOf(`<title>About us</title>${json({ product: sock })}`).product).toBeUndefined();
  });

  it('is read from the dataLayer when one item is viewed: without stock there is no variant', () => {
    const push = (...items: object[]): string =>
      `<script>dataLayer.push(${JSON.stringify({ event: 'view_item', ecommerce: { items } })})</script>`;
    const item = { item_name: 'Hat', item_brand: 'Fjell', price: 3 };
    expect(pageOf(push(item)).product).toEqual({ title: 'Hat', url: URL, brand: 'Fjell', variants: [] });
    expect(pageOf(push(item, { item_name: 'Sock' })).product).toBeUndefined();
  });

  it('is read from OpenGraph, with a price', () => {
    const head = `<meta property="og:title" content="Hat"><meta property="og:image" content="/hat.jpg">`;
    const price = `<meta property="product:price:amount" content="30"><meta property="product:price:currency" content="EUR">
      <meta property="product:sale_price:amount" content="24"><meta property="product:availability" content="in stock">`;
    expect(pageOf(head + price).product).toEqual({
      title: 'Hat',
      url: URL,
      variants: [
        {
          title: 'Hat',
          price: { amount: 24, currency: 'EUR' },
          sale: { originalPrice: { amount: 30, currency: 'EUR' } },
          availability: { inStock: true, text: 'in stock' },
          images: [{ url: 'http://shop.test/hat.jpg' }],
        },
      ],
    });
    expect(pageOf(head).product).toBeUndefined();
  });

  it('is not there on other pages, on lists of products, and in what is no HTML: a warning says so', () => {
    for (const html of ['<h1>News</h1>', ld([SOCK, { ...SOCK, name: 'Wool Hat' }])]) {
      expect(pageOf(html)).not.toHaveProperty('product');
      expect(pageOf(html).warning).toContain(WARNING);
    }
    expect(pageOf('a text', { contentType: 'text/plain' }).warning).toBe(WARNING);
  });

  it('does not mix the sources, and does not guess whether something is in stock', () => {
    const unknown = { ...SOCK, offers: { price: 5, availability: 'https://schema.org/Perhaps' } };
    const og = `<meta property="product:price:amount" content="30"><meta property="product:availability" content="in stock">`;
    expect(pageOf(og + ld(unknown)).product).toMatchObject({ title: 'Merino Sock', variants: [] });
  });

  it('is bounded in variants, depth and size', () => {
    const hasVariant = Array.from({ length: 1000 }, (_, i) => ({ '@type': 'Product', sku: `${i}`, offers: offer(i) }));
    const many = pageOf(ld({ '@type': 'ProductGroup', name: 'x'.repeat(5000), hasVariant })).product;
    expect(many?.['variants']).toHaveLength(200);
    expect(String(many?.['title'])).toHaveLength(500);
    const started = performance.now();
    const deep = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`;
    pageOf(`<title>Sock</title><script type="application/json">${deep}</script>`);
    pageOf(`<title>Sock</title>${json(Array.from({ length: 100_000 }, (_, i) => ({ name: `Sock${i}`, price: i })))}`);
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});
