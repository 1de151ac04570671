import { describe, expect, it } from '@jest/globals';
import { fitValue } from './fit-value.js';

const SCHEMA = {
  type: 'object',
  properties: {
    shop: { type: 'string' },
    owner: { type: ['string', 'null'] },
    products: { type: 'array', items: { type: 'object', properties: { price: { type: 'number' } } } },
  },
  required: ['products', 'owner'],
};

describe('fitValue', () => {
  it('drops what no page told, and keeps a list that must be there empty', async () => {
    expect(await fitValue(SCHEMA, { shop: null })).toEqual({
      value: { products: [], owner: null },
      notes: [],
      problems: [],
    });
    expect(await fitValue(SCHEMA, { owner: 'Ann', products: [{ price: null }, { price: 3 }] })).toMatchObject({
      value: { owner: 'Ann', products: [{}, { price: 3 }] },
      problems: [],
    });
  });

  it('names what the schema requires and cannot be had', async () => {
    const strict = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
    expect((await fitValue(strict, {})).problems).toEqual([expect.stringContaining('name')]);
  });
});
