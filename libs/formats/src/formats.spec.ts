import { describe, expect, it } from '@jest/globals';
import type { Format } from '@troupe/contracts';
import { readFile } from 'node:fs/promises';
import { formatKind, FORMATS, FORMATS_NOT_OFFERED, formatsFromV2, formatsToV1, modelCredits } from './formats.js';
import type { SelectorLanguage } from './format-kind.js';

const NONE: SelectorLanguage = { read: () => null, write: () => null };

describe('the list of formats', () => {
  it('has each name once, and none that is not offered', () => {
    const names = FORMATS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => FORMATS_NOT_OFFERED.includes(name))).toEqual([]);
  });

  it.each(FORMATS.map(({ name }) => name))('%s is described in docs/api/formats.md', async (name) => {
    const page = await readFile('docs/api/formats.md', 'utf8');
    expect(page).toMatch(new RegExp(`^\\| \`${name}\` +\\|`, 'm'));
  });

  it('says of each format that a converter makes how it is written, and of each that needs options which', () => {
    const written = FORMATS.filter(({ madeBy, write }) => madeBy === 'converter' && write === undefined);
    const asked = FORMATS.filter(({ needsOptions, options }) => needsOptions && options === undefined);
    expect([...written, ...asked].map(({ name }) => name)).toEqual([]);
  });

  it('refers only to components that a format declares', () => {
    const declared = FORMATS.flatMap(({ components = {} }) => Object.keys(components));
    const text = JSON.stringify(FORMATS.map(({ answers }) => answers));
    const named = [...text.matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name!);
    expect(named.filter((name) => !declared.includes(name))).toEqual([]);
  });
});

describe('formats between words and model', () => {
  it('are there once each, several attributes as one, and old words by what they mean', () => {
    const pair = (selector: string) => ({ selector, attribute: 'x' });
    const asked = [
      'markdown',
      { type: 'attributes', selectors: [pair('a')] },
      'product',
      { type: 'attributes', selectors: [pair('b')] },
      'markdown',
      { type: 'query', prompt: 'q', mode: 'directQuote' },
      'changeTracking',
    ];
    expect(formatsFromV2(asked, NONE)).toEqual([
      { type: 'markdown' },
      { type: 'product' },
      { type: 'highlights', query: 'q' },
      { type: 'attributes', selectors: [pair('a'), pair('b')] },
    ]);
  });

  it('that v1 does not know are not shown to it', () => {
    const formats: Format[] = [
      { type: 'images' },
      { type: 'product' },
      { type: 'highlights', query: 'q' },
      { type: 'screenshot', fullPage: true, quality: null, viewport: null },
      { type: 'json', prompt: 'p', schema: null, selectors: null, learn: false, key: 'extract' },
    ];
    expect(formatsToV1(formats)).toEqual({
      formats: ['images', 'screenshot@fullPage', 'extract'],
      beside: { extract: { prompt: 'p' } },
    });
  });
});

describe('prices of what a model wrote', () => {
  it('are charged once for facts, and for each passage', () => {
    expect(modelCredits([])).toBe(0);
    expect(modelCredits(['summary'])).toBe(0);
    expect(modelCredits(['json', 'changeTracking'])).toBe(4);
    expect(modelCredits(['json', 'answer', 'highlights', 'summary'])).toBe(12);
    expect(formatKind('product')?.price).toBeUndefined();
  });
});
