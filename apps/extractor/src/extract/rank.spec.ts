import { describe, expect, it } from '@jest/globals';
import { mostRelevant, wordsOf } from './rank.js';

const at = (path: string, title?: string, description?: string) => ({
  url: `https://shop.example/${path}`,
  ...(title === undefined ? {} : { title }),
  ...(description === undefined ? {} : { description }),
});
const paths = (pages: { url: string }[]) => pages.map(({ url }) => url.slice('https://shop.example/'.length));

describe('wordsOf', () => {
  it('knows plurals, humps and other scripts, and leaves empty words out', () => {
    expect(wordsOf('List the unitPrices of all batteries')).toEqual(['unit', 'price', 'battery']);
    expect(wordsOf('Größe Ключи 価格 a 1')).toEqual(['größe', 'ключи', '価格']);
    expect(wordsOf('glass class')).toEqual(['glass', 'class']);
  });
});

describe('mostRelevant', () => {
  it('puts pages that match the question first and keeps the order of the others', async () => {
    const pages = [at('about'), at('imprint'), at('products/lamp', 'Lamp'), at('jobs'), at('products/desk', 'Desk')];
    expect(paths(await mostRelevant(pages, 'product names', 4))).toEqual([
      'products/lamp',
      'products/desk',
      'about',
      'imprint',
    ]);
  });

  it('finds words in addresses, titles and descriptions, an escaped address included', async () => {
    const pages = [at('1'), at('2', 'Our prices'), at('3', undefined, 'what it costs: price list'), at('%70rice')];
    expect(paths(await mostRelevant(pages, 'price', 3)).sort()).toEqual(['%70rice', '2', '3']);
  });

  it('takes a rare word for more telling than a common one', async () => {
    const pages = [at('shop/a'), at('shop/b'), at('shop/c'), at('warranty'), at('shop/d')];
    expect(paths(await mostRelevant(pages, 'shop warranty', 1))).toEqual(['warranty']);
  });

  it('takes the first pages when the question has no words', async () => {
    expect(paths(await mostRelevant([at('b'), at('a'), at('c')], '', 2))).toEqual(['b', 'a']);
    expect(await mostRelevant([], 'price', 5)).toEqual([]);
  });

  it('survives an address with a broken escape', async () => {
    expect(paths(await mostRelevant([at('a%ZZ'), at('price%E0%A4')], 'price', 1))).toEqual(['price%E0%A4']);
  });
});
