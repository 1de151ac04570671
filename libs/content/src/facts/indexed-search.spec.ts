/** The index of a page changes how long a search takes, never what it finds: on real pages, with the index and without. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { compileScoped, parseHtml, selectAll } from '@troupe/html';
import { IndexKeys, PageIndex } from './page-index.js';
import { compileQuery } from './query.js';
import { parseXPath } from './xpath-parser.js';

const FOLDER = 'test/sites/labelled/files';
const FILES = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'));

const CSS = [
  ...['h1', 'p', 'a', 'li > a', 'nav a', 'ul li:first-child', 'table td + td', 'p ~ p', 'div > *', '*', ':scope > *'],
  ...[
    '[href]',
    '[rel=author]',
    'a[href^="http"]',
    '[id]',
    '[class]',
    '[class=x]',
    '[data-x]',
    'a:not([href])',
    '[ID="X" i]',
  ],
  ...[
    '.price',
    '.author, .byline',
    '#content',
    '#main, main, .main',
    'p.a, p',
    'pre code',
    'dl dt',
    'meta[name]',
    'x-y',
  ],
  ...[
    'body :is(h1, h2)',
    'li:has(a)',
    'a, .reference, [id] > p',
    'iframe',
    'h2, h1, h3',
    '> p',
    '+ p',
    '.section .section',
  ],
];
const XPATHS = [
  ...[
    '//p',
    '//a/@href',
    '//li/a',
    '//li[1]',
    '//div//p[2]',
    '/html/body',
    './/*[@class]',
    '//h1 | //h2',
    '//td/text()',
  ],
  ...[
    '//p[string-length(normalize-space()) > 80]',
    '//a[contains(@href, "#")]',
    '//li[.//a]',
    '//ul[count(li) > 2]/li[last()]',
  ],
  ...['//h2/following-sibling::p', '//a/ancestor::div', '//descendant::code', '//x-y', '//p//a', '//li//li'],
];

/** Selectors of the page's own classes, ids and tags, some of each. */
function ownSelectors(tree: ReturnType<typeof parseHtml>): string[] {
  const words = (pattern: RegExp): string[] =>
    [...new Set([...tree.source.matchAll(pattern)].flatMap(([, value = '']) => value.split(/\s+/)))]
      .filter((word) => /^[a-z][\w-]*$/i.test(word))
      .slice(0, 40);
  return [
    ...words(/ class="([^"]*)"/g).map((name) => `.${name}`),
    ...words(/ id="([^"]*)"/g).map((name) => `#${name}`),
    ...words(/<([a-zA-Z][\w-]*)/g).map((name) => name.toLowerCase()),
  ];
}

describe('searches with the index of a page', () => {
  it('are compared on forty pages or more', () => {
    expect(FILES.length).toBeGreaterThanOrEqual(40);
  });

  it.each(FILES)('find in %s what looking at every node finds', (name) => {
    const tree = parseHtml(readFileSync(path.join(FOLDER, name), 'utf8'));
    const css = [...CSS, ...ownSelectors(tree)];
    const queries = [...css, ...XPATHS].map((text) => ({ text, query: compileQuery(text) }));
    const indexed = { tree, index: new PageIndex(tree, new IndexKeys(queries.flatMap(({ query }) => query.keys))) };
    const plain = { tree, index: new PageIndex(tree, new IndexKeys([])) };
    const scopes = [0, ...selectAll(tree, (page, node) => page.end[node]! - node > 5).filter((_, i) => i % 37 === 0)];
    for (const { text, query } of queries) {
      for (const scope of scopes) {
        const found = query.find(indexed, scope, Infinity);
        const all = query.find(plain, scope, Infinity);
        if (found.join() !== all.join()) expect({ text, scope, found }).toEqual({ text, scope, found: all });
        const two = query.find(indexed, scope, 2).slice(0, 2);
        if (two.join() !== all.slice(0, 2).join())
          expect({ text, scope, two }).toEqual({ text, scope, two: all.slice(0, 2) });
      }
    }
  });

  it('use the index for nearly all of these selectors', () => {
    expect(CSS.filter((text) => compileScoped(text).every(({ key }) => key !== null)).length).toBeGreaterThan(25);
    expect(
      XPATHS.filter((text) => parseXPath(text).length > 0 && compileQuery(text).keys.length > 0).length,
    ).toBeGreaterThan(14);
  });
});
