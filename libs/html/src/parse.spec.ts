import { describe, expect, it } from '@jest/globals';
import { parse as parse5, type DefaultTreeAdapterMap } from 'parse5';
import { parseHtml } from './parse.js';
import { T, TEXT, hashName } from './tags.js';
import type { Tree } from './tree.js';

/** `<p>a<b>c</b></p>` as `p(a b(c))`. */
function outline(html: string): string {
  const tree = parseHtml(html);
  const show = (node: number): string => {
    if (tree.isText(node)) return tree.text(node).trim();
    const inner: string[] = [];
    for (let child = node + 1; child < tree.end[node]!; child = tree.end[child]!) inner.push(show(child));
    const text = inner.filter((part) => part !== '').join(' ');
    return node === 0 ? text : `${tree.name(node)}(${text})`;
  };
  return show(0);
}

const squash = (text: string): string => text.replace(/\s+/g, '');

function textOf(tree: Tree): string {
  let text = '';
  for (let node = 0; node < tree.count; node++) {
    const parent = tree.tag[tree.parent[node]!]!;
    if (tree.tag[node] === TEXT && parent !== T.script && parent !== T.style) text += tree.text(node);
  }
  return squash(text);
}

type Node5 = DefaultTreeAdapterMap['node'];

function textOfParse5(html: string): string {
  let text = '';
  const visit = (node: Node5): void => {
    if (node.nodeName === 'script' || node.nodeName === 'style') return;
    if ('value' in node) text += node.value;
    if ('childNodes' in node) node.childNodes.forEach(visit);
  };
  visit(parse5(html, { scriptingEnabled: false }));
  return squash(text);
}

describe('the HTML parser', () => {
  it.each([
    ['<p>a<p>b', 'p(a) p(b)'],
    ['<p>a<div>b</div>', 'p(a) div(b)'],
    ['<ul><li>a<li>b<ul><li>c</ul><li>d</ul>', 'ul(li(a) li(b ul(li(c))) li(d))'],
    ['<dl><dt>a<dd>b<dt>c</dl>', 'dl(dt(a) dd(b) dt(c))'],
    ['<select><option>a<option>b</select>', 'select(option(a) option(b))'],
    ['<table><tr><td>a<td>b<tr><th>c</table>', 'table(tr(td(a) td(b)) tr(th(c)))'],
    ['<table><thead><tr><th>a<tbody><tr><td>b</table>', 'table(thead(tr(th(a))) tbody(tr(td(b))))'],
    ['<table><tr><td><table><tr><td>in</table>out</table>', 'table(tr(td(table(tr(td(in))) out)))'],
    ['<h2>a<h3>b</h3>', 'h2(a) h3(b)'],
    ['<h2>a</h3>b', 'h2(a) b'],
  ])('ends elements where the standard implies it: %s', (html, expected) => {
    expect(outline(html)).toBe(expected);
  });

  it('keeps void elements empty and reads raw text up to its own end tag', () => {
    expect(outline('<br>a<img src=x>b<script>if (a < b) "</p>"</script>c')).toBe(
      'br() a img() b script(if (a < b) "</p>") c',
    );
    expect(outline('<title>a <b> &amp; c</TITLE>d')).toBe('title(a <b> & c) d');
  });

  it('continues misnested formatting inside the block that it reaches into', () => {
    expect(outline('<b><p>x</b>y</p>z')).toBe('b() p(b(x) y) z');
    expect(outline('<a href=1>one<a href=2>two</a>')).toBe('a(one) a(two)');
  });

  it('ignores end tags without a start and table parts outside a table', () => {
    expect(outline('</div>a</b><td>b</td>')).toBe('a b');
  });

  it('merges repeated html and body tags and keeps what follows their end', () => {
    expect(outline('<html><body>a</body></html><body class=x><p>b')).toBe('html(body(a p(b)))');
  });

  it('starts the content at the first tag that cannot stand in a head', () => {
    expect(outline('<head><title>t</title><div>x</div>')).toBe('head(title(t)) div(x)');
  });

  it('skips comments, doctypes and processing instructions', () => {
    expect(outline('<!doctype html><!-- a > b --><?x y?>c<!-->d<!--->e<!x>f')).toBe('c d e f');
  });

  it('reads attributes in every quoting, first one wins, entities decoded', () => {
    const tree = parseHtml(`<a HREF='x?a=1&amp;b=2' href=second title="a &lt; b" data-x = y hidden>t</a>`);
    expect(tree.attr(1, hashName('href'))).toBe('x?a=1&b=2');
    expect(tree.attr(1, hashName('title'))).toBe('a < b');
    expect(tree.attr(1, hashName('data-x'))).toBe('y');
    expect(tree.attr(1, hashName('hidden'))).toBe('');
    expect(tree.attr(1, hashName('class'))).toBeNull();
  });

  it.each([
    ['tag soup', '<div><p>a<ul><li>b<table><tr><td>c<b>d</table>e</div></ul>f<p>g'],
    ['a link that ends inside a drawing', '<p><a>x<svg><foreignObject><i><a>y<b>z</i></svg>w'],
    ['moves below the deepest level', '<b><div>'.repeat(400) + '</b>'.repeat(400) + 'x<p>y'],
  ])('keeps numbering, parents and subtree ends consistent: %s', (_name, html) => {
    const tree = parseHtml(html);
    for (let node = 1; node < tree.count; node++) {
      const parent = tree.parent[node]!;
      expect(parent).toBeLessThan(node);
      expect(tree.end[node]!).toBeGreaterThan(node);
      expect(tree.end[node]!).toBeLessThanOrEqual(tree.end[parent]!);
    }
  });

  it('finds the same text in the same order as parse5 on generated tag soup', () => {
    const tokens = [
      '<div>',
      '</div>',
      '<p>',
      '</p>',
      '<b>',
      '</b>',
      '<a href="/x">',
      '</a>',
      '<ul>',
      '</ul>',
      '<li>',
      '</li>',
    ];
    tokens.push(
      '<h2>',
      '</h2>',
      '<br>',
      '<span class=x>',
      '</span>',
      'text ',
      '&amp;',
      '&nbsp',
      '<!-- c -->',
      '<img src=i>',
    );
    tokens.push(
      '<dl>',
      '<dt>',
      '<dd>',
      '</dl>',
      '<blockquote>',
      '</blockquote>',
      '<em>',
      '</em>',
      '1 < 2 ',
      '<x-y>',
      '</x-y>',
    );
    let seed = 1;
    const next = (): number => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) >>> 8;
    for (let round = 0; round < 300; round++) {
      const soup = Array.from({ length: 40 }, (_, i) => `${tokens[next() % tokens.length]!}w${i} `).join('');
      expect(textOf(parseHtml(soup))).toBe(textOfParse5(soup));
    }
  });
});

describe('hostile pages', () => {
  const LIMIT_MS = 20_000;
  it.each([
    ['nesting 100,000 deep', '<div>'.repeat(100_000) + 'x'],
    ['unclosed tags', '<a '.repeat(300_000)],
    ['unclosed comments', '<!-- '.repeat(300_000)],
    ['unclosed quotes', '<a href="x>'.repeat(100_000)],
    ['unclosed scripts with end tags of others', `<script>${'</p>'.repeat(300_000)}`],
    ['end tags without starts below deep nesting', '<div>'.repeat(1000) + '</b>'.repeat(300_000)],
    ['misnested formatting', '<b><i><p>'.repeat(50_000) + '</b></i>'.repeat(50_000)],
    ['100,000 attributes', `<p ${Array.from({ length: 100_000 }, (_, i) => `a${i}=1`).join(' ')}>x</p>`],
    ['100,000 tag names', Array.from({ length: 100_000 }, (_, i) => `<x${i}>`).join('')],
    ['a million less-than signs', '<'.repeat(1_000_000)],
  ])('parses %s in linear time', (_name, html) => {
    const start = performance.now();
    const tree = parseHtml(html);
    expect(tree.count).toBeGreaterThan(0);
    expect(performance.now() - start).toBeLessThan(LIMIT_MS);
  });
});
