import { describe, expect, it } from '@jest/globals';
import * as frontier from '@troupe/frontier';
import { pageFixture } from '../page-fixture.js';

const { markdownOf } = pageFixture(frontier);

const ld = (value: unknown): string => `<script type="application/ld+json">${JSON.stringify(value)}</script>`;
const state = (value: unknown): string =>
  `<script id=__NEXT_DATA__ type="application/json">${JSON.stringify(value)}</script>`;
const mainOf = (html: string): string => markdownOf(html, { onlyMainContent: true });
const words = (n: number): string => Array.from({ length: n }, (_, i) => `word${i}`).join(' ');

const DESCRIPTION = 'A warm sock of soft merino wool for long walks in cold and windy places.';
const SOCK = {
  '@type': 'Product',
  name: 'Merino Sock',
  description: DESCRIPTION,
  brand: { '@type': 'Brand', name: 'Fjell' },
  offers: { '@type': 'Offer', price: 12.5, priceCurrency: 'EUR' },
  aggregateRating: { ratingValue: '4.5', reviewCount: 12 },
  additionalProperty: [{ '@type': 'PropertyValue', name: 'Height', value: 20, unitText: 'cm' }],
};
const BARE_PAGE = '<h1>Merino Sock</h1><p>Choose a size to see what is in stock.</p>';

describe('embedded content', () => {
  it('of a product is added where the page lacks it', () => {
    const markdown = mainOf(`${ld(SOCK)}${BARE_PAGE}`);
    for (const part of [DESCRIPTION, '- Height: 20 cm', ' Brand: Fjell', ' Price: 12.5 EUR', ' Rating: 4.5 (12)']) {
      expect(markdown).toContain(part);
    }
  });

  it('is not added where the page shows it', () => {
    const markdown = mainOf(`${ld(SOCK)}${BARE_PAGE}<p>${DESCRIPTION}</p>`);
    expect(markdown.split('merino wool')).toHaveLength(2);
  });

  it('is not added to a whole page, to named tags, or to a page that has plenty without it', () => {
    const html = `${ld(SOCK)}${BARE_PAGE}`;
    expect(markdownOf(html)).not.toContain('merino');
    expect(markdownOf(html, { onlyMainContent: true, includeTags: ['h1'] })).toBe('# Merino Sock');
    expect(mainOf(`${html}<p>${words(600)}</p>`)).not.toContain('merino');
  });

  it('of a list of products is left alone', () => {
    expect(mainOf(`${ld([SOCK, { ...SOCK, name: 'Wool Hat' }])}${BARE_PAGE}`)).not.toContain('merino');
  });

  it('that is HTML becomes markdown', () => {
    const description =
      '<p>Made of <b>soft</b> merino wool:</p><ul><li>warm in winter</li><li>cool in summer</li></ul>';
    expect(mainOf(`${ld({ ...SOCK, description })}${BARE_PAGE}`)).toContain(
      '**soft** merino wool:\n\n- warm in winter\n',
    );
    const escaped = description.replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    expect(mainOf(`${ld({ ...SOCK, description: escaped })}${BARE_PAGE}`)).toContain('- cool in summer');
  });

  it('in the state of an application is added when it is about the subject of the page', () => {
    const about = {
      title: 'Toe without seam',
      description: 'The toe is knitted without a seam, so that nothing rubs.',
    };
    const other = { title: 'Wool Hat', description: 'A hat of thick wool for those who like their ears warm.' };
    const data = { props: { product: { name: 'Merino Sock', features: [about], related: [other] }, footer: [other] } };
    const markdown = mainOf(`${BARE_PAGE}${state(data)}`);
    expect(markdown).toContain('**Toe without seam**\n\nThe toe is knitted without a seam');
    expect(markdown).not.toContain('thick wool');
  });

  it('in an assignment is read as well, code is not', () => {
    const text = 'The toe is knitted without a seam, so that nothing rubs.';
    const script = (value: string): string =>
      `<script>window.__STATE__ = {"a":{"name":"Merino Sock","body":"${value}"}};</script>`;
    expect(mainOf(`${BARE_PAGE}${script(text)}`)).toContain(text);
    expect(
      mainOf(`${BARE_PAGE}${script('function a(b) { return b ? {c: d} : {e: f}; } var g = h; var i = j;')}`),
    ).not.toContain('var');
  });

  it('of an article is its text when the page shows little of it', () => {
    const articleBody = `${words(200)}.`;
    const html = `${ld({ '@type': 'NewsArticle', headline: 'Fish', articleBody })}<h1>Fish</h1><p>Read on after the break.</p>`;
    expect(mainOf(html)).toContain('word199');
    expect(mainOf(`${html}<p>${articleBody}</p>`).split('word199')).toHaveLength(2);
  });

  it('costs a bounded time when it is hostile', () => {
    const deep = `${'['.repeat(100_000)}`;
    const wide = state({
      name: 'Merino Sock',
      body: `<${'a'.repeat(150_000)}`,
      text: `${'a b c d e f '.repeat(20_000)}`,
    });
    const start = performance.now();
    mainOf(`${BARE_PAGE}${wide}<script type="application/json">${deep}</script>`);
    expect(performance.now() - start).toBeLessThan(15_000);
  });
});
