import { describe, expect, it } from '@jest/globals';
import { differences, filledPaths } from './agreement.js';

describe('agreement of selectors with a model', () => {
  it('white space, nulls, missing fields and empty lists make no difference', () => {
    expect(differences({ a: 'x  y', b: null, c: [], d: 1 }, { a: ' x y', d: 1, e: '' })).toEqual([]);
  });

  it('names what differs', () => {
    expect(differences({ a: '1', items: [{ b: 'x' }], c: [1, 2] }, { a: 1, items: [{ b: 'y' }], c: [1] })).toEqual([
      'a: "1" instead of 1',
      'items[0].b: "x" instead of "y"',
      'c: a list of 2 instead of a list of 1',
    ]);
    expect(differences(null, { a: 1 })).toEqual(['the value: null instead of {"a":1}']);
  });

  it('a field is filled when it says something on any item', () => {
    expect(filledPaths({ a: 0, b: '', c: false, items: [{ n: null }, { n: 'x', e: [] }] })).toEqual([
      'a',
      'c',
      'items',
      'items.n',
    ]);
  });
});
