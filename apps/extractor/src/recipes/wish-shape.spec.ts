import { describe, expect, it } from '@jest/globals';
import { pathsOf, selectorsOf, shapeOf } from './wish-shape.js';

const ITEM = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    price: { type: ['number', 'null'] },
    tags: { type: 'array', items: { type: 'string' } },
  },
};

describe('the shape of a wish', () => {
  it('names a path for every selector that is needed', () => {
    const shape = shapeOf({
      type: 'object',
      properties: {
        title: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        maker: { type: 'object', properties: { url: { type: 'string', format: 'uri' } } },
        items: { type: 'array', items: { $ref: '#/$defs/item' } },
      },
      $defs: { item: ITEM },
    });
    expect(pathsOf(shape!)).toEqual([
      'title',
      'maker.url',
      'items[]',
      'items[].name',
      'items[].price',
      'items[].tags[]',
    ]);
  });

  it.each([
    ['a map', { type: 'object', additionalProperties: { type: 'string' } }],
    ['any value', {}],
    ['one of two objects', { oneOf: [ITEM, { type: 'string' }] }],
    ['a list of lists', { type: 'array', items: { type: 'array', items: { type: 'string' } } }],
    ['itself', { type: 'object', properties: { child: { $ref: '#' } } }],
    ['a reference in a circle', { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } }],
  ])('%s is beyond selectors', (_, schema) => {
    expect(shapeOf(schema)).toBeNull();
  });

  it('becomes selectors with the types that the schema asks for', () => {
    const shape = shapeOf({ type: 'object', properties: { items: { type: 'array', items: ITEM } } })!;
    const named = [
      { path: 'items[]', selector: 'li', attribute: null },
      { path: 'items[].name', selector: '.', attribute: 'title' },
      { path: 'items[].price', selector: 'b', attribute: null },
    ];
    expect(selectorsOf(shape, named)).toEqual({
      type: 'object',
      selector: null,
      fields: {
        items: {
          type: 'list',
          selector: 'li',
          item: {
            type: 'object',
            selector: null,
            fields: {
              name: { type: 'value', selector: null, attribute: 'title', as: 'string' },
              price: { type: 'value', selector: 'b', attribute: null, as: 'number' },
            },
          },
        },
      },
    });
  });

  it('says what is wrong with selectors that cannot be used', () => {
    const shape = shapeOf({ type: 'object', properties: { a: { type: 'string' } } })!;
    expect(selectorsOf(shape, [{ path: 'a', selector: 'p[', attribute: null }])).toMatch(
      /^a: .*not a usable CSS selector/,
    );
    expect(selectorsOf(shape, [])).toBe('none of the fields has a selector');
  });
});
