import { describe, expect, it } from '@jest/globals';
import type { PageData } from '@troupe/formats';
import { readJsonLd } from '../metadata/json-ld.js';
import { parseHtml } from '@troupe/html';
import { UrlResolver } from '../url-resolver.js';
import { readPageData } from './page-data.js';

const url = 'http://site.test/dir/page.html';

function dataOf(html: string): PageData {
  const tree = parseHtml(html);
  return readPageData(tree, { url, urls: new UrlResolver(url, null), graph: readJsonLd(tree), title: null });
}

describe('data of a page', () => {
  it('are items of microdata with their properties, inner items by their role', () => {
    const items = dataOf(
      `<div itemscope itemtype="https://schema.org/Product"><h1 itemprop=name>Sock <b>one</b></h1>
       <img itemprop=image src=a.png><img itemprop=image src=b.png>
       <p itemprop=offers itemscope itemtype="http://schema.org/Offer"><meta itemprop=price content=12.5></p></div>
       <p itemprop=name>nobody's</p>`,
    ).microdata();
    expect(items.map(({ types, role }) => [types, role])).toEqual([
      [['product'], ''],
      [['offer'], 'offers'],
    ]);
    const [product, offer] = items.map(({ object }) => object);
    expect({ ...product }).toEqual({
      '@type': ['product'],
      name: 'Sock one',
      image: ['http://site.test/dir/a.png', 'http://site.test/dir/b.png'],
      offers: offer,
    });
    expect(offer).toMatchObject({ price: '12.5' });
  });

  it('are items of RDFa Lite, without the properties of other vocabularies', () => {
    const items = dataOf(
      `<div vocab="https://schema.org/" typeof=Product><span property="schema:name og:title">Sock</span>
       <a property=url href=/sock>more</a></div>`,
    ).rdfa();
    expect(items).toHaveLength(1);
    expect({ ...items[0]!.object }).toEqual({ '@type': ['product'], name: 'Sock', url: 'http://site.test/sock' });
  });

  it('are state of applications and what was pushed', () => {
    const data = dataOf(
      `<script id=__NEXT_DATA__ type="application/json">{"a":1}</script>
       <script>window.dataLayer = window.dataLayer || []; dataLayer.push({"event":"x"}); dataLayer = [{"b":2}];</script>`,
    );
    expect(data.states()).toEqual([{ a: 1 }]);
    expect(data.dataLayer()).toEqual([{ event: 'x' }, [{ b: 2 }]]);
  });

  it('are metas by name, and numbers as the language of the page writes them', () => {
    const html = `<meta property="OG:price:amount" content="1.299"><meta property="og:price:amount" content="2">`;
    expect(dataOf(html).metas().get('og:price:amount')).toEqual(['1.299', '2']);
    expect(dataOf(`<html lang=de>${html}`).numberIn('1.299 €')).toBe(1299);
    expect(dataOf(`<html lang=en>${html}`).numberIn('1.299')).toBe(1.299);
  });

  it('cost a bounded time when they are hostile', () => {
    const deep = '<div itemscope itemprop=a>'.repeat(400);
    const wide = '<p itemprop=a><b></b></p>'.repeat(100_000);
    const start = performance.now();
    const data = dataOf(`<div itemscope>${deep}${wide}`);
    expect(data.microdata().length).toBeLessThanOrEqual(500);
    dataOf(`<script>${'dataLayer.push({'.repeat(50_000)}</script>`).dataLayer();
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});
