import { describe, expect, it } from '@jest/globals';
import { hashName, parseHtml } from '@troupe/html';
import { IndexKeys, PageIndex, firstAtLeast } from './page-index.js';

const PAGE =
  '<body><p class="old price">1</p><x-card id="a" data-x>2</x-card><p class="priceless">3</p>' +
  '<p class="pr&#105;ce">4</p><x-card class="sprice" DATA-X class="price">5</x-card>';

function textsAt(key: Parameters<PageIndex['at']>[0]): string[] | null {
  const tree = parseHtml(PAGE);
  const found = new PageIndex(tree, new IndexKeys([key])).at(key);
  return found === null ? null : found.map((node) => tree.textContent(node));
}

describe('index of a page', () => {
  it('has the elements of a tag, its own or not of HTML', () => {
    expect(textsAt({ type: 'tag', name: 'p' })).toEqual(['1', '3', '4']);
    expect(textsAt({ type: 'tag', name: 'x-card' })).toEqual(['2', '5']);
    expect(textsAt({ type: 'tag', name: 'x-list' })).toEqual([]);
  });

  it('has all elements that may have a class, those whose value is written with references among them', () => {
    expect(textsAt({ type: 'class', name: 'price' })).toEqual(['1', '3', '4', '5']);
    expect(textsAt({ type: 'class', name: 'cost' })).toEqual(['4']);
  });

  it('has elements by id and by the name of an attribute', () => {
    expect(textsAt({ type: 'id', name: 'a' })).toEqual(['2']);
    expect(textsAt({ type: 'attribute', name: 'data-x' })).toEqual(['2', '5']);
  });

  it('has elements that a parser makes twice or moves, in document order', () => {
    const html =
      '<p class=x id=1>a<b class=price id=2>b<i class=x id=3>c<p class=x id=4>d</b>e</i>' +
      '<table class=x id=5><tr class=price id=6><td>f</td></tr><div class=price id=7><p class=x id=8>g</div></table>' +
      '<a class=x id=9><a class=price id=10>h';
    const tree = parseHtml(html);
    const elements = Array.from({ length: tree.count }, (_, node) => node).slice(1);
    for (const name of ['x', 'price']) {
      const found = new PageIndex(tree, new IndexKeys([{ type: 'class', name }])).at({ type: 'class', name });
      const wanted = elements.filter(
        (node) => !tree.isText(node) && tree.classes(node, hashName('class')).includes(name),
      );
      expect(found).toEqual(wanted);
      expect(wanted.length).toBeGreaterThan(4);
    }
  });

  it('says when it was not told to look for something', () => {
    const index = new PageIndex(parseHtml(PAGE), new IndexKeys([{ type: 'tag', name: 'p' }]));
    expect(index.at({ type: 'tag', name: 'x-card' })).toBeNull();
    expect(index.at({ type: 'class', name: 'price' })).toBeNull();
  });
});

describe('first number of an ascending list that is not below a limit', () => {
  it.each([
    [0, 0],
    [2, 0],
    [3, 1],
    [9, 3],
    [10, 4],
  ])('for %i it is at %i', (limit, place) => {
    expect(firstAtLeast([2, 4, 6, 9], limit)).toBe(place);
  });
});
