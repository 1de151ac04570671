import { describe, expect, it } from '@jest/globals';
import * as frontier from '@troupe/frontier';
import { pageFixture } from '../page-fixture.js';

const { documentOf, markdownOf } = pageFixture(frontier);

describe('markdown', () => {
  it.each([
    ['headings', '<h1>A</h1><h3>B <em>c</em></h3>', '# A\n\n### B *c*'],
    ['paragraphs and white space', '<p> a\n  b </p>\n<p>c</p>', 'a b\n\nc'],
    ['emphasis without spaces inside its markers', '<p>a<b> b </b>c <i></i><strong>d</strong></p>', 'a **b** c **d**'],
    ['emphasis around blocks', '<b><p>a</p><p>b</p></b>', '**a**\n\n**b**'],
    ['strike', '<p><del>a</del></p>', '~~a~~'],
    ['nested lists', '<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>', '- a\n  - b\n- c'],
    ['ordered lists with a start', '<ol start=9><li>a<li>b</ol>', '9. a\n10. b'],
    ['lists of paragraphs', '<ul><li><p>a</p><p>b</p></li></ul>', '- a\n\n  b'],
    ['code in lists', '<ul><li>a<pre>x\n y</pre></li></ul>', '- a\n\n  ```\n  x\n   y\n  ```'],
    ['quotes', '<p>x</p><blockquote><p>a</p><ul><li>b</ul></blockquote><p>y</p>', 'x\n\n> a\n>\n> - b\n\ny'],
    [
      'fenced code with its language',
      '<pre><code class="language-ts">a &lt; b\n\n  c\n</code></pre>',
      '```ts\na < b\n\n  c\n```',
    ],
    ['a fence longer than those inside', '<pre>```\nx</pre>', '````\n```\nx\n````'],
    ['inline code', '<p><code>a`b</code> <code> c </code></p>', '``a`b`` `c`'],
    ['links', '<p><a href="x?a=(1)">t</a></p>', '[t](http://site.test/dir/x?a=(1))'],
    ['link titles', '<p><a href="/x" title="a &quot;b&quot;">t</a></p>', '[t](http://site.test/x "a \\"b\\"")'],
    ['a card as one link on its heading', '<a href=/c><h3>T</h3><p>d</p></a>', '### [T](http://site.test/c)\n\nd'],
    ['images', '<p><img src=i.png alt="a [b]"></p>', '![a \\[b\\]](http://site.test/dir/i.png)'],
    [
      'an image inside a link',
      '<a href=/x><img src=/i.png alt=a></a>',
      '[![a](http://site.test/i.png)](http://site.test/x)',
    ],
    ['line breaks and rules', '<p>a<br>b</p><hr><p>c</p>', 'a  \nb\n\n---\n\nc'],
    ['a rule at the very start, which is no front matter', '<hr><p>a</p>', '***\n\na'],
    ['definition lists', '<dl><dt>a<dd>b<dt>c<dd>d</dl>', '**a**  \nb\n\n**c**  \nd'],
    ['tables', '<table><tr><th>a<th>b<tr><td>c|d<td><p>e<p>f</table>', '| a | b |\n| --- | --- |\n| c\\|d | e<br>f |'],
    ['spans', '<table><tr><td rowspan=2>a<td>b<tr><td>c</table>', '| a | b |\n| --- | --- |\n| a | c |'],
    ['layout tables as blocks', '<table><tr><td><p>a</p><p>b</p></table>', 'a\n\nb'],
    [
      'text that looks like markup',
      '<p>1. *a* [b](c) &lt;d&gt; &amp;lt; _e_ f_g</p>',
      '1\\. \\*a\\* \\[b\\](c) \\<d> \\&lt; \\_e\\_ f_g',
    ],
    ['text that looks like a heading', '<p># a</p><p>- b</p><p>&gt; c</p>', '\\# a\n\n\\- b\n\n\\> c'],
  ])('writes %s', (_name, html, expected) => {
    expect(markdownOf(html)).toBe(expected);
  });

  it('writes nothing for empty links, headings, items and emphasis', () => {
    expect(markdownOf('<h2> </h2><ul><li><li>a</ul><p><a href=x></a><b> </b></p><blockquote></blockquote>')).toBe(
      '- a',
    );
  });

  it('leaves out permalink signs, scripts, styles, forms and tracking pixels', () => {
    const html =
      '<h2>A<a href="#a">¶</a></h2><script>x</script><style>y</style><select><option>z</select><img src=p width=1 height=1>';
    expect(markdownOf(html)).toBe('## A');
  });

  it('replaces embedded images unless told not to', () => {
    const html = '<img alt=a src="data:image/png;base64,AAAA">';
    expect(markdownOf(html)).toBe('![a](<Base64-Image-Removed>)');
    expect(markdownOf(html, { removeBase64Images: false })).toBe('![a](data:image/png;base64,AAAA)');
  });

  it('keeps only the text of links that lead nowhere', () => {
    expect(markdownOf('<a href="javascript:x()">a</a> <a>b</a>')).toBe('a b');
  });
});

describe('markdown of hostile pages', () => {
  const LIMIT_MS = 20_000;
  const time = (html: string): number => {
    const start = performance.now();
    documentOf(html, ['markdown', 'html', 'links', 'images'], { onlyMainContent: true });
    return performance.now() - start;
  };
  it.each([
    [
      'spans that ask for a billion cells',
      `<table>${'<tr><td colspan=100000 rowspan=100000>a<td>b'.repeat(300)}</table>`,
    ],
    ['10,000 nested lists', '<ul><li>'.repeat(10_000) + 'x'],
    ['10,000 nested quotes', '<blockquote>'.repeat(10_000) + 'x'],
    ['10,000 nested tables', '<table><tr><td>'.repeat(10_000) + 'x'],
    [
      'lines of 150,000 spaces',
      `<p>a${' '.repeat(150_000)}b</p><pre>a${' '.repeat(150_000)}b\n${'\n'.repeat(150_000)}</pre>`,
    ],
    ['long runs of markers', `<p>${'*_`[<&~#'.repeat(40_000)}</p>`],
    ['links in links', '<a href=x>y<div>'.repeat(20_000)],
    ['a srcset of 100,000 commas', `<img srcset="${'a,'.repeat(100_000)}">`],
    ['10,000 paragraphs with many links', '<p>word <a href=x>y</a></p>'.repeat(10_000)],
    [
      'footnotes without end',
      `<p id=r>${'<a href="#n">1</a>'.repeat(5_000)}</p><p id=n>${'<a href="#r">x</a>'.repeat(900)}</p>`,
    ],
    ['empty items', `<ol><li>a${'<li></li>'.repeat(60_000)}<li>b</ol>`],
    ['neighbouring code spans', `<p>${'<code>a</code>'.repeat(60_000)}`],
    ['unclosed formulas', `<script src=mathjax></script><p>${'\\( \\['.repeat(40_000)}</p>`],
    ['emphasis around emphasis', '<b><i>a'.repeat(20_000)],
    ['1,000 tables that ask for cells', '<table><tr><td colspan=200 rowspan=200>a<td>b</table>'.repeat(1000)],
    ['deep lists of many items', `${'<ul><li>'.repeat(500)}${'<li>a'.repeat(50_000)}`],
    ['an element of 100,000 attributes', `<pre ${'a=b '.repeat(100_000)}>x</pre>`],
    ['class names of a megabyte', `<div class="${'nav '.repeat(250_000)}">text</div>`],
  ])('takes linear time for %s', (_name, html) => {
    expect(time(html)).toBeLessThan(LIMIT_MS);
  });
});
