/** Pages made to cost more than they weigh. Sizes are in pieces, so that a page grows with one number. */
/** @typedef {import('./random.mjs').Random} Random */

const times = (/** @type {number} */ count, /** @type {(i: number) => string} */ piece) =>
  Array.from({ length: count }, (_, i) => piece(i)).join('');

/** @type {Record<string, (size: number) => string>} */
export const HOSTILE = {
  'nested blocks': (n) => `${'<div>'.repeat(n)}x`,
  'nested inline': (n) => `${'<span><b><i>'.repeat(n)}x`,
  'nested lists': (n) => `${'<ul><li>x'.repeat(n)}`,
  'nested quotes': (n) => `${'<blockquote>x'.repeat(n)}`,
  'nested tables': (n) => `${'<table><tr><td>x'.repeat(n)}`,
  'nested links': (n) => times(n, (i) => `<a href=/${i}><div>x`),
  'nested drawings': (n) => `${'<svg><foreignObject><math><mi>'.repeat(n)}x`,
  'span bombs': (n) => `<table>${'<tr><td colspan=1000 rowspan=65534>x<td>y'.repeat(n)}</table>`,
  'wide rows': (n) => `<table><tr>${'<td>x'.repeat(n)}</table>`,
  'content in front of a table': (n) => `<table>${'x<tr><p>y'.repeat(n)}</table>`,
  'tables in front of tables': (n) => `${'<table><tr>x<b>'.repeat(n)}`,
  'unclosed formatting': (n) => times(n, (i) => `<p><font size=${i}>x`),
  'formatting that ends late': (n) => `${'<b><i><p>x'.repeat(n)}${'</b></i>'.repeat(n)}`,
  'formatting around blocks': (n) => '<a><b><i><u><s><div>x</a></b></i>'.repeat(n),
  'alike formatting': (n) => `${'<b class=x>'.repeat(n)}<p>${'x</b>'.repeat(n)}`,
  'one element with many attributes': (n) => `<p ${times(n, (i) => `a${i}=1 `)}>x</p>`,
  'formatting with many attributes': (n) => `<p><b ${times(n, (i) => `a${i}=1 `)}>x</p>y`.repeat(4),
  'many names': (n) => times(n, (i) => `<x${i}>`),
  'many links': (n) => times(n, (i) => `<a href="../a/./b/?q=${i}#f">x</a>`),
  'many images': (n) => times(n, (i) => `<img srcset="${'a 1x, '.repeat(20)}b${i} 2x" data-src=x>`),
  'wide lines': (n) => `<p>x${' '.repeat(n)}y</p><pre>${' '.repeat(n)}z</pre>`,
  'one word': (n) => `<p>${'x'.repeat(n)}</p><td>${'_'.repeat(n)}`,
  'markdown marks': (n) => `<p>${'*_`[]()#|~\\<>!'.repeat(n)}</p><pre>${'`'.repeat(n)}</pre>`,
  'list marks': (n) => times(n, (i) => `<p>${i}. x<br>- y<br># z<br>=====`),
  'unclosed comments': (n) => '<!-- x --'.repeat(n),
  'comments with odd ends': (n) => `${'<!-- x -->'.repeat(n)}--!>`,
  'unclosed tags': (n) => '<a href="x" '.repeat(n),
  'unclosed quotes': (n) => '<a href="x>'.repeat(n),
  'unclosed scripts': (n) => `<script>${'</p></scrip'.repeat(n)}`,
  'less-than signs': (n) => '<'.repeat(n),
  ampersands: (n) => `<p>${'&am'.repeat(n)}</p><a href="${'&lt'.repeat(n)}">x</a>`,
  'stray end tags': (n) => `${'<div>'.repeat(1000)}${'</b></p></li></form>'.repeat(n)}`,
  'metadata bombs': (n) =>
    times(n, (i) => `<meta property="og:x${i % 7}" content="${'y'.repeat(50)}"><link rel=icon href=z>`),
  'JSON bombs': (n) => `<script type="application/ld+json">${'{"@graph":['.repeat(n)}</script>`,
  'state bombs': (n) =>
    `<script id=__NEXT_DATA__ type="application/json">${'[{"a":"\\u003cp\\u003e"},'.repeat(n)}</script>`,
  'definition lists': (n) => `<dl>${'<dt>x<dd>y'.repeat(n)}`,
  'alternating ruby': (n) => `<ruby>${'x<rt>y<rp>('.repeat(n)}`,
  'paragraph ends': (n) => 'x</p>'.repeat(n),
  'forms in tables': (n) => `<table>${'<form><tr><input type=hidden></form>'.repeat(n)}`,
  'hidden blocks': (n) => '<div hidden style="display:none" class="a b c d" aria-hidden=true>x</div>'.repeat(n),
  'repeated cards': (n) => times(n, (i) => `<div class=card><h3><a href=/${i}>t</a></h3><p>text ${i}</p></div>`),
  'forum posts': (n) =>
    times(n, (i) => `<div class="post comment" id=p${i}><b>user</b><p>${'words '.repeat(20)}</p></div>`),
};

const NAMES = Object.keys(HOSTILE);

/** @param {Random} random */
export function hostilePage(random) {
  const size = 1 + random.below(random.chance(0.1) ? 10_000 : 500);
  return Buffer.from(HOSTILE[random.pick(NAMES)](size));
}

/** The extremes, once each: makers, so that one is in memory at a time. @type {[string, () => Buffer][]} */
export const GIANTS = [
  ...NAMES.map(
    (name) =>
      /** @type {[string, () => Buffer]} */ ([`${name}, 20,000 times`, () => Buffer.from(HOSTILE[name](20_000))]),
  ),
  ['nesting 10,000 deep in every way', () => Buffer.from(`${'<div><ul><li><b><table><tr><td>'.repeat(10_000)}x`)],
  ['a million attributes', () => Buffer.from(HOSTILE['one element with many attributes'](1_000_000))],
  ['150,000 spaces in every line', () => Buffer.from(`<p>x${' '.repeat(150_000)}y\n</p>`.repeat(20))],
  [
    '60 MB of paragraphs',
    () => Buffer.alloc(60_000_000, '<p>Some words of <b>text</b> and <a href="/link">a link</a>.</p>\n'),
  ],
  ['60 MB of one text', () => Buffer.alloc(60_000_000, 'words and more words ')],
  ['60 MB of umlauts', () => Buffer.alloc(60_000_000, '<p>Größe über alles, 漢字</p>\n')],
  ['60 MB of tags', () => Buffer.alloc(60_000_000, '<i>')],
  [
    '60 MB of bytes that are no text',
    () => Buffer.alloc(60_000_000, Buffer.from([0x3c, 0x70, 0x3e, 0xff, 0xfe, 0x80, 0x41])),
  ],
];
