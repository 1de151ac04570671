import { describe, expect, it } from '@jest/globals';
import { sourcesOf } from './fact-sources.js';

describe('sourcesOf', () => {
  it('names all pages that tell a fact, wherever in their answers, and no page for what none tells', () => {
    const told = [
      { source: 'a', value: { name: 'Lamp', price: 9 } },
      { source: 'b', value: { items: ['Desk', ' Lamp '] } },
    ];
    const value = {
      products: [
        { name: 'Lamp', price: 9, 'made in': null },
        { name: 'Desk', 'made in': 'Rome' },
      ],
    };
    expect(sourcesOf(value, told)).toEqual({
      'products[0].name': ['a', 'b'],
      'products[0].price': ['a'],
      'products[1].name': ['b'],
    });
  });
});
