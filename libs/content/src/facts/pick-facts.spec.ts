import { describe, expect, it } from '@jest/globals';
import { pickFacts } from './pick-facts.js';
import { readSelectors } from './selector-language.js';

const SHOP = `<html lang="en"><head><title>Shop &amp; more</title><meta name="author" content="Ann"></head><body>
<h1>Fine <b>things</b></h1>
<ul class="products">
  <li class="item" data-code="A1"><a class="name" href="/a?x=1&amp;y=2">Lamp</a> <span class="price">$1,299.00</span>
    <ul class="tags"><li>new</li><li>light</li></ul></li>
  <li class="item sold" data-code="B2"><a class="name" href="b.html">Chair</a> <span class="price">on request</span></li>
</ul>
<table><tr><th>Weight</th><td>1.5 kg</td></tr><tr><th>Since</th><td>March 4, 2020</td></tr></table>
<div>one<div>two</div>three<br>four <script>var no = 1;</script></div>
<pre>
  a
   b
</pre>
<time datetime="2020-03-04T10:00:00Z">then</time><input type="checkbox" checked><p class="empty"> </p>
</body></html>`;

function facts(wire: unknown, html = SHOP): unknown {
  const read = readSelectors(wire);
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  return pickFacts(html, 'http://shop.test/dir/', read.schema).value;
}

describe('facts by CSS', () => {
  it('reads texts as the page shows them', () => {
    expect(
      facts({ h: 'h1', t: 'title', a: 'meta[name=author]', d: 'body > div', p: 'pre', e: '.empty', n: '.no' }),
    ).toEqual({
      h: 'Fine things',
      t: 'Shop & more',
      a: 'Ann',
      d: 'one two three four',
      p: '  a\n   b',
      e: null,
      n: null,
    });
  });

  it('reads lists of objects, each below its own element', () => {
    const item = {
      $: 'li.item',
      name: '.name',
      url: { selector: 'a', type: 'url' },
      price: { selector: '.price', type: 'number' },
      code: { selector: '.', attribute: 'data-code' },
      tags: ['> ul > li'],
    };
    expect(facts({ items: [item] })).toEqual({
      items: [
        { name: 'Lamp', url: 'http://shop.test/a?x=1&y=2', price: 1299, code: 'A1', tags: ['new', 'light'] },
        { name: 'Chair', url: 'http://shop.test/dir/b.html', price: null, code: 'B2', tags: [] },
      ],
    });
  });

  it('leaves out items in which nothing is found', () => {
    expect(facts([{ $: 'li', name: '.name' }])).toEqual([{ name: 'Lamp' }, { name: 'Chair' }]);
    expect(facts({ prices: [{ selector: '.price', type: 'number' }] })).toEqual({ prices: [1299] });
  });

  it('reads dates, truths and inner HTML', () => {
    expect(
      facts({
        time: { selector: 'time', type: 'date' },
        checked: { selector: 'input', attribute: 'checked', type: 'boolean' },
        disabled: { selector: 'input', attribute: 'disabled', type: 'boolean' },
        html: { selector: 'h1', attribute: 'html' },
      }),
    ).toEqual({ time: '2020-03-04T10:00:00Z', checked: true, disabled: false, html: 'Fine <b>things</b>' });
  });

  it('finds classes whatever stands around them, and several selectors in document order', () => {
    const html = '<p class=" x\ty ">1</p><p class="xy">2</p><p class="X">3</p><i id="x&amp;y">4</i>';
    expect(facts(['.y, i, .xy'], html)).toEqual(['1', '2', '4']);
    expect(facts(['.x'], html)).toEqual(['1']);
    expect(facts('[id="x&y"]', html)).toBe('4');
  });
});

describe('facts by XPath', () => {
  it.each([
    ['//h1', 'Fine things'],
    ['/html/body/h1/b', 'things'],
    ['//h1/text()', 'Fine'],
    ['//a/@href', '/a?x=1&y=2'],
    ['//li[@class="item sold"]/a', 'Chair'],
    ['//li[contains(@class, "sold")]/@data-code', 'B2'],
    ["//th[text()='Weight']/following-sibling::td", '1.5 kg'],
    ["//tr[th[normalize-space()='Since']]/td[1]", 'March 4, 2020'],
    ['//ul[@class="tags"]/li[last()]', 'light'],
    ['//ul[@class="tags"]/li[position() = 2]', 'light'],
    ['//li[not(@data-code) and starts-with(., "n")]', 'new'],
    ['//td[../th = "Since"]', 'March 4, 2020'],
    ['//ul[count(li) = 2][1]/li[2]/a', 'Chair'],
    ['//b/ancestor::h1', 'Fine things'],
    ['//*[name() = "time" or @datetime]', 'then'],
    ['//li[2]/preceding-sibling::li[1]/a', 'Lamp'],
    ['//nothing', null],
  ])('%s finds %s', (xpath, value) => {
    expect(facts(xpath)).toBe(value);
  });

  it('counts from the element of the object around it', () => {
    expect(facts([{ $: '//li[@data-code]', name: '//a', again: './a', up: './../@class' }])).toEqual([
      { name: 'Lamp', again: 'Lamp', up: 'products' },
      { name: 'Chair', again: 'Chair', up: 'products' },
    ]);
  });

  it('names places among siblings, as XPath does, not among all that are found', () => {
    expect(facts(['//li[1]'])).toEqual([expect.stringContaining('Lamp'), 'new']);
  });

  it.each([
    ['string-length() > 4', ['a &amp; b', 'x']],
    ['string-length() >= 5', ['a &amp; b', 'x']],
    ['string-length(.) > 5', []],
    ['string-length(normalize-space()) > 2', ['a &amp; b', 'abcd']],
    ['string-length(normalize-space(.)) >= 4', ['a &amp; b', 'abcd']],
    ['string-length(normalize-space(.)) > 4', ['a &amp; b']],
    ['string-length() < 5', ['abcd']],
    ['string-length(b) > 1', []],
    ['string-length(@id) >= 3', ['a &amp; b']],
    ['string-length() > 0', ['a &amp; b', 'abcd', 'x']],
  ])('compares lengths of what is read, not of what is written: %s', (condition, texts) => {
    const html = `<p id="one">a &amp; b</p><p>ab<b>c</b>d</p><pre>  x  </pre>`;
    const found = facts([{ selector: `//*[self::p or self::pre][${condition}]`, attribute: 'html' }], html);
    expect(found).toEqual(texts.map((text) => text.replace('abcd', 'ab<b>c</b>d')));
  });

  it('gives each node once and in order', () => {
    expect(facts(['//li//a | //a | //h1'])).toEqual(['Fine things', 'Lamp', 'Chair']);
    expect(facts(['//ul//li/@data-code'])).toEqual(['A1', 'B2']);
  });

  it.each([
    '//',
    '//a[',
    '//a[foo()]',
    '//a]',
    '//a/namespace::x',
    '//a[/b]',
    '//a[contains(.)]',
    '//a | //b/@c',
    '//a[1 + 1]',
  ])('%s is refused', (xpath) => {
    expect(readSelectors(xpath)).toEqual({
      problems: [{ path: [], message: expect.stringContaining('is not a usable XPath') }],
    });
  });
});

describe('work of selectors', () => {
  const WIDE = `<div>${'<p>x</p>'.repeat(40_000)}</div>`;

  it.each([['p:nth-last-child(3n+1)'], ['.b ~ p'], ['//p[following-sibling::b]'], ['//p[count(../p) = 1]']])(
    '%s over tens of thousands of siblings ends, with a warning',
    (selector) => {
      const read = readSelectors({ a: [selector], b: 'p' });
      if ('problems' in read) throw new Error('unexpected');
      const started = process.cpuUsage();
      const { value, warnings } = pickFacts(WIDE, 'http://shop.test/', read.schema);
      expect(process.cpuUsage(started).user / 1000).toBeLessThan(3000);
      expect(warnings).toEqual([expect.stringContaining('too much work')]);
      expect(value).toEqual({ a: [], b: null });
    },
  );

  it('a list ends at ten thousand items, with a warning', () => {
    const read = readSelectors(['p']);
    if ('problems' in read) throw new Error('unexpected');
    const { value, warnings } = pickFacts(WIDE, 'http://shop.test/', read.schema);
    expect(value).toHaveLength(10_000);
    expect(warnings).toEqual([expect.stringContaining('10000 items')]);
  });
});

describe('schemas one after the other', () => {
  it('are told apart by any part of them, and found again after many others', () => {
    const html = '<p id="7" class="x">1.5</p><i>2</i>';
    const cases: [wire: unknown, expected: unknown][] = [
      [
        { a: 'p', b: 'i' },
        { a: '1.5', b: '2' },
      ],
      [
        { b: 'i', a: 'p' },
        { b: '2', a: '1.5' },
      ],
      [{ a: 'p' }, { a: '1.5' }],
      [{ b: 'p' }, { b: '1.5' }],
      [{ a: 'i' }, { a: '2' }],
      [{ a: ['p'] }, { a: ['1.5'] }],
      [{ a: { selector: 'p', type: 'number' } }, { a: 1.5 }],
      [{ a: { selector: 'p', attribute: 'id' } }, { a: '7' }],
      [{ a: { selector: 'p', attribute: 'class' } }, { a: 'x' }],
      [{ a: { b: 'p' } }, { a: { b: '1.5' } }],
      [{ a: { $: 'p', b: '.' } }, { a: { b: '1.5' } }],
      [[{ $: 'p', b: '.' }], [{ b: '1.5' }]],
      [[{ $: 'i', b: '.' }], [{ b: '2' }]],
      ['p', '1.5'],
    ];
    const others = Array.from({ length: 40 }, (_, i): [unknown, unknown] => [
      `p:nth-child(${i + 1})`,
      i === 0 ? '1.5' : null,
    ]);
    for (const [wire, expected] of [...cases, ...cases.toReversed(), ...others, ...cases])
      expect(JSON.stringify(facts(wire, html))).toBe(JSON.stringify(expected));
  });
});
