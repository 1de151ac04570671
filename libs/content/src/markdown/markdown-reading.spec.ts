/** Markdown is read back by a CommonMark parser with tables as the texts, links and code that the page had. */
import { describe, expect, it } from '@jest/globals';
import * as frontier from '@troupe/frontier';
import * as fc from 'fast-check';
import MarkdownIt from 'markdown-it';
import { pageFixture } from '../page-fixture.js';
import { hashName, parseHtml } from '@troupe/html';

const { markdownOf } = pageFixture(frontier);
const reader = new MarkdownIt({ html: true });
const HREF = hashName('href');

/** Texts in reading order without any white space, what links lead to, and the text of code blocks. */
interface Contents {
  text: string;
  links: string[];
  blocks: string[];
}

function contentsOf(html: string): Contents {
  const tree = parseHtml(html);
  const contents: Contents = { text: '', links: [], blocks: [] };
  for (let node = 1; node < tree.count; node++) {
    if (tree.isText(node)) contents.text += tree.text(node).replace(/\s+/g, '');
    else if (tree.name(node) === 'a' && tree.textContent(node).trim() !== '')
      contents.links.push(tree.attr(node, HREF) ?? '');
    else if (tree.name(node) === 'pre' && tree.textContent(node).trim() !== '')
      contents.blocks.push(linesOf(tree.textContent(node)));
  }
  return contents;
}

/** Spaces at the ends of lines and empty lines around a text cannot be seen. */
function linesOf(code: string): string {
  const lines = code.replaceAll('\u00a0', ' ').split('\n');
  return lines
    .map((line) => line.trimEnd())
    .join('\n')
    .replace(/^\n+|\n+$/g, '');
}

function expectSameContents(html: string): void {
  const markdown = markdownOf(html);
  expect({ markdown, ...contentsOf(reader.render(markdown)) }).toEqual({ markdown, ...contentsOf(html) });
}

// ---- pages of text that looks like markup

const PIECES = [
  ...['a', 'b', 'word', 'Zürich', '中文', '1', '10', 'snake_case_x', '…', '·', ' ', ' ', ' ', '\n', '\u00a0'],
  ...['*', '**', '_', '__', '`', '``', '[', ']', '(', ')', '![', '](', '[x]', '[ ]', '[^1]', '[a]: b', '\\', '\\*'],
  ...[
    '<',
    '>',
    '</b>',
    '<b>',
    '<!--',
    '&',
    '&amp;',
    '&#42;',
    '#',
    '##',
    '+',
    '-',
    '--',
    '---',
    '=',
    '===',
    '.',
    '1.',
    '1)',
  ],
  ...[':', '|', '~', '~~', '$', '$$', '!', '"', "'", ';', '^', '{', '}', '/', '%20'],
  ...['http://x.test/a_b', 'www.x.test', 'a@b.test'],
];
const escaped = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
const joined = (parts: fc.Arbitrary<string>, most: number): fc.Arbitrary<string> =>
  fc.array(parts, { minLength: 1, maxLength: most }).map((list) => list.join(''));
const inside = (tag: string, content: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  content.map((html) => `<${tag}>${html}</${tag}>`);

const text = joined(fc.constantFrom(...PIECES), 7).map(escaped);
const link = fc
  .tuple(fc.constantFrom('http://site.test/x', 'http://o.test/a_(b)', 'http://site.test/q?a=1&b=*2*'), text)
  .map(([href, html]) => `<a href="${escaped(href)}">${html}</a>`);
const { inline } = fc.letrec<{ inline: string }>((tie) => ({
  inline: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    inside('code', text),
    fc.constant('<br>'),
    inside('strong', joined(tie('inline'), 3)),
    inside('em', joined(tie('inline'), 3)),
  ),
}));
const line = joined(fc.oneof({ weight: 3, arbitrary: inline }, { weight: 1, arbitrary: link }), 4);
const cell = joined(fc.oneof(text, link, inside('code', text), inside('strong', text)), 2);
const row = (tag: string): fc.Arbitrary<string> =>
  fc.tuple(cell, cell).map((cells) => `<tr>${cells.map((html) => `<${tag}>x${html}</${tag}>`).join('')}</tr>`);
const table = fc.tuple(row('th'), joined(row('td'), 2)).map(([head, rows]) => `<table>${head}${rows}</table>`);
const { block } = fc.letrec<{ block: string }>((tie) => ({
  block: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    inside('p', line),
    inside('h2', line),
    inside('pre', text),
    table,
    inside(
      'ul',
      joined(
        inside(
          'li',
          fc.tuple(line, fc.option(tie('block'))).map((parts) => parts.join('')),
        ),
        3,
      ),
    ),
    inside('ol', joined(inside('li', line), 3)),
    inside('blockquote', joined(tie('block'), 3)),
  ),
}));

describe('markdown, read by another program', () => {
  it.each([
    ['paragraphs', inside('p', line), 400],
    ['headings', inside('h3', line), 200],
    ['list items', inside('ul', joined(inside('li', line), 3)), 300],
    ['code', inside('pre', text), 200],
    ['tables', table, 200],
    ['pages of all of them', joined(block, 4), 300],
  ])('says what the page says in %s', (_name, html, numRuns) => {
    fc.assert(fc.property(html, expectSameContents), { numRuns, seed: 1 });
  });
});
