import { describe, expect, it } from '@jest/globals';
import { readSelectors, writeSelectors } from './selector-language.js';

function problems(wire: unknown): string[] {
  const read = readSelectors(wire);
  return 'problems' in read ? read.problems.map(({ path, message }) => `${path.join('.')}: ${message}`) : [];
}

describe('selectors as people write them', () => {
  it('reads texts, values, lists and nested objects', () => {
    const read = readSelectors({
      title: 'h1',
      price: { selector: '.price', type: 'number' },
      image: { selector: 'img', attribute: 'src' },
      tags: ['li.tag'],
      maker: { $: '.maker', name: '//b' },
      items: [{ $: 'ul > li', name: '.name', code: { selector: '.', attribute: 'data-code' } }],
    });
    const text = { type: 'value', attribute: null, as: 'string' };
    expect(read).toEqual({
      schema: {
        type: 'object',
        selector: null,
        fields: {
          title: { ...text, selector: 'h1' },
          price: { ...text, selector: '.price', as: 'number' },
          image: { ...text, selector: 'img', attribute: 'src', as: 'url' },
          tags: { type: 'list', selector: 'li.tag', item: { ...text, selector: null } },
          maker: { type: 'object', selector: '.maker', fields: { name: { ...text, selector: '//b' } } },
          items: {
            type: 'list',
            selector: 'ul > li',
            item: {
              type: 'object',
              selector: null,
              fields: {
                name: { ...text, selector: '.name' },
                code: { ...text, selector: null, attribute: 'data-code' },
              },
            },
          },
        },
      },
    });
  });

  it('writes them again as it would read them', () => {
    const wire = {
      title: 'h1',
      price: { selector: '.price', type: 'number' },
      maker: { $: '.maker', selector: '//b', self: '.' },
      items: [{ $: 'ul > li', tags: ['.tag'], url: { selector: '.', attribute: 'href', type: 'url' } }],
    };
    const read = readSelectors(wire);
    if ('problems' in read) throw new Error(JSON.stringify(read.problems));
    expect(writeSelectors(read.schema)).toEqual(wire);
  });

  it.each([
    [{ a: 'h1[' }, /^a: "h1\[" is not a usable CSS selector/],
    [{ a: { b: '//x[foo()]' } }, /^a\.b: .*the function foo\(\) is not supported/],
    [{ a: { selector: 'p', type: 'money' } }, /^a\.type: Expected one of string, number/],
    [{ a: { selector: 'p', attribut: 'x' } }, /^a: Unknown option attribut/],
    [{ a: { selector: 7 } }, /^a\.selector: Expected a CSS selector/],
    [{ a: [] }, /^a: A list holds exactly one/],
    [{ a: [{ name: '.x' }] }, /^a\.0: The items of a list need a selector/],
    [{ a: [['p']] }, /^a: A list of lists/],
    [{ a: {} }, /^a: An object needs at least one field/],
    [{ a: null }, /^a: Expected a selector/],
    [{ a: '' }, /^a: Expected a CSS selector or an XPath/],
  ])('%j is refused by the name of its field', (wire, message) => {
    expect(problems(wire)).toEqual([expect.stringMatching(message)]);
  });

  it('bounds the number of fields and their depth', () => {
    const many = Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`f${i}`, 'p']));
    expect(problems(many)).toEqual([': At most 200 fields may be asked for']);
    let deep: unknown = 'p';
    for (let i = 0; i < 8; i++) deep = { a: deep };
    expect(problems(deep)).toEqual(['a.a.a.a.a.a.a.a: Selectors may be nested 8 levels deep']);
  });
});
