import { describe, expect, it } from '@jest/globals';
import { mergeSteps, mergeValues } from './merge-values.js';

const SHOP = {
  type: 'object',
  properties: {
    shop: { type: 'string' },
    products: { type: 'array', items: { $ref: '#/$defs/product' } },
  },
  $defs: {
    product: {
      type: 'object',
      properties: { name: { type: 'string' }, sku: { type: ['string', 'null'] }, price: { type: ['number', 'null'] } },
    },
  },
};
const from = (...values: unknown[]) =>
  values.map((value, index) => ({ value, source: `http://site.test/${index + 1}` }));
const merged = (...values: unknown[]): unknown => mergeValues(null, from(...values)).value;
const onePage = (...values: unknown[]): unknown =>
  mergeValues(
    null,
    values.map((value) => ({ value, source: 'http://site.test/' })),
  ).value;

describe('mergeValues', () => {
  it('joins lists in the order of the texts and lists a thing once, with all that is told of it', () => {
    const { value, sources } = mergeValues(
      SHOP,
      from(
        {
          shop: 'Corner',
          products: [
            { name: 'Lamp', sku: 'L-1', price: null },
            { name: 'Desk', sku: null, price: 90 },
          ],
        },
        {
          shop: null,
          products: [
            { name: 'Chair', sku: 'C-1', price: 40 },
            { name: 'LAMP', sku: 'l-1', price: 12.5 },
          ],
        },
      ),
    );
    expect(value).toEqual({
      shop: 'Corner',
      products: [
        { name: 'Lamp', sku: 'L-1', price: 12.5 },
        { name: 'Desk', sku: null, price: 90 },
        { name: 'Chair', sku: 'C-1', price: 40 },
      ],
    });
    expect(sources).toMatchObject({
      shop: ['http://site.test/1'],
      'products[0].sku': ['http://site.test/1'],
      'products[0].price': ['http://site.test/2'],
      'products[2].name': ['http://site.test/2'],
    });
  });

  it('names every source that tells the same fact, and none that tells another', () => {
    const { value, sources } = mergeValues(null, from({ city: 'Rome' }, { city: 'Oslo' }, { city: ' Rome ' }));
    expect(value).toEqual({ city: 'Rome' });
    expect(sources).toEqual({ city: ['http://site.test/1', 'http://site.test/3'] });
  });

  it('takes the first of facts told equally often, the most frequent otherwise', () => {
    expect(merged({ a: 'x' }, { a: 'y' })).toEqual({ a: 'x' });
    expect(merged({ a: 'x' }, { a: 'y' }, { a: 'y' })).toEqual({ a: 'y' });
    expect(merged({ n: null }, { n: 0 }, { n: 7 })).toEqual({ n: 0 });
  });

  it('believes a text that says yes over those that do not speak of it', () => {
    expect(merged({ sso: false }, { sso: false }, { sso: true })).toEqual({ sso: true });
    expect(merged({ sso: false }, { sso: null })).toEqual({ sso: false });
  });

  it('keeps things of one name apart when a short fact of theirs disagrees', () => {
    const engineers = [
      { title: 'Engineer', city: 'Rome' },
      { title: 'Engineer', city: 'Oslo' },
    ];
    expect(merged({ jobs: [engineers[0]] }, { jobs: [engineers[1]] })).toEqual({ jobs: engineers });
    expect(merged({ jobs: [engineers[0]] }, { jobs: [{ title: 'engineer', pay: 5 }] })).toEqual({
      jobs: [{ ...engineers[0], pay: 5 }],
    });
  });

  it('lets a more specific identifier tell apart what shares a less specific one', () => {
    const items = [
      { sku: 'a', url: 'http://site.test/p' },
      { sku: 'b', url: 'http://site.test/p' },
    ];
    expect(merged({ items: [items[0]] }, { items: [items[1]] })).toEqual({ items });
    expect(merged([{ url: 'http://site.test/p/' }], [{ url: 'http://site.test/p#top', n: 1 }])).toEqual([
      { url: 'http://site.test/p/', n: 1 },
    ]);
  });

  it('lists nameless things once when they tell the same', () => {
    const fact = { question: 'Why?', answer: 'So.' };
    expect(merged([fact], [{ answer: 'So. ', question: 'Why?', note: null }], [{ ...fact, answer: 'No.' }])).toEqual([
      { ...fact, note: null },
      { ...fact, answer: 'No.' },
    ]);
  });

  it('lists a text once, and numbers as often as one source has them', () => {
    expect(merged(['a', 'b'], ['b ', 'c', ''])).toEqual(['a', 'b', 'c']);
    expect(onePage([1, 2, 2], [2, 3])).toEqual([1, 2, 2, 2, 3]);
    expect(merged([1, 2, 2], [2, 3])).toEqual([1, 2, 2, 3]);
    const unique = { type: 'array', items: { type: 'integer' }, uniqueItems: true };
    expect(mergeValues(unique, from([1, 2, 2], [2, 3])).value).toEqual([1, 2, 3]);
  });

  it('merges nested objects, with the schema’s fields first', () => {
    const schema = { type: 'object', properties: { a: {}, b: { type: 'object', properties: { c: {}, d: {} } } } };
    const { value, sources } = mergeValues(schema, from({ z: 1, b: { d: 2 } }, { b: { c: 3, d: null }, a: 4 }));
    expect(JSON.stringify(value)).toBe('{"a":4,"b":{"c":3,"d":2},"z":1}');
    expect(Object.keys(sources).sort()).toEqual(['a', 'b.c', 'b.d', 'z']);
  });

  it('keeps the form of values that no source tells', () => {
    expect(merged({ list: [], text: '', none: null, deep: { x: null } }, { list: [] })).toEqual({
      list: [],
      text: '',
      none: null,
      deep: { x: null },
    });
    expect(merged()).toBeNull();
  });

  it('cuts a list to the length that its schema allows', () => {
    expect(mergeValues({ type: 'array', maxItems: 2 }, from(['a'], ['b', 'c'])).value).toEqual(['a', 'b']);
  });

  it('drops values of another kind than the first that tells something', () => {
    expect(merged({ a: ['x'] }, { a: 'y' })).toEqual({ a: ['x'] });
  });

  it('treats the names of fields as plain data', () => {
    const hostile = JSON.parse('{"__proto__": {"polluted": true}, "a b": 1}') as unknown;
    const { value, sources } = mergeValues(null, from(hostile, hostile));
    expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":true},"a b":1}');
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(Object.keys(sources)).toEqual(['__proto__.polluted', '["a b"]']);
  });

  it('can be done in small steps', () => {
    const values = from({ products: [{ name: 'a' }, { name: 'b' }] }, { products: [{ name: 'a', price: 1 }] });
    const steps = mergeSteps(null, values);
    let count = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) count++;
    expect(step.value).toEqual(mergeValues(null, values));
    expect(count).toBeGreaterThanOrEqual(3);
  });

  it('merges ten thousand things without comparing all with all', () => {
    const page = (k: number): unknown => Array.from({ length: 5000 }, (_, i) => ({ name: `thing ${k + i}`, n: k + i }));
    const startedMs = performance.now();
    expect(merged(page(0), page(2500), page(5000))).toHaveLength(10_000);
    expect(performance.now() - startedMs).toBeLessThan(25_000);
  });
});
