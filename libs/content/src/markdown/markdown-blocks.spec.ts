import { describe, expect, it } from '@jest/globals';
import * as frontier from '@troupe/frontier';
import { pageFixture } from '../page-fixture.js';

const { markdownOf } = pageFixture(frontier);
const site = 'http://site.test';

function writes(cases: [name: string, html: string, expected: string][]): void {
  it.each(cases)('writes %s', (_name, html, expected) => {
    expect(markdownOf(html)).toBe(expected);
  });
}

describe('emphasis', () => {
  writes([
    ['punctuation before a word outside of it', '<p><b>Size:</b>small</p>', '**Size**:small'],
    [
      'tags where delimiters would not work',
      '<p><b>「a」</b>は <b>(a)</b>b</p>',
      '<strong>「a」</strong>は <strong>(a)</strong>b',
    ],
    ['tags where an opening one would not work', '<p>a<b>(b)</b></p>', 'a<strong>(b)</strong>'],
    ['no tags around signs alone', '<p><b>"</b>The a<i>™</i> b</p>', '"The a™ b'],
    ['delimiters inside words', '<p>un<b>believ</b>able</p>', 'un**believ**able'],
    ['neighbours of the same kind as one', '<p><b>a</b><b>b</b> <i>c</i><i>d</i></p>', '**ab** *cd*'],
    ['neighbours of different kinds apart', '<p><i>a</i><b>b</b></p>', '*a*__b__'],
    ['the same emphasis in itself once', '<p><b>a <b>b</b> c</b></p>', '**a b c**'],
    ['nested emphasis that could be taken for an end', '<p><b><i>a</i>-<i>(b)</i> c</b></p>', '***a*-<em>(b)</em> c**'],
    ['emphasis over a line break', '<p><b>a<br>b</b></p>', '**a  \nb**'],
    ['ideographic space outside of it', '<p><b>題\u3000</b>本文</p>', '**題**\u3000本文'],
    ['right-to-left text', '<p dir=rtl>שלום <b>עולם</b>, כאן</p>', 'שלום **עולם**, כאן'],
  ]);
});

describe('text that must stay text', () => {
  writes([
    ['a sign before a link', '<p>Look!<a href=/x>y</a></p>', `Look\\![y](${site}/x)`],
    ['pieces that would be a link', '<p>[a]<span>(b)</span></p>', '[a]\\(b)'],
    [
      'pieces that would be a number of a list',
      '<p>1<span>. a</span></p><p>1<span>2) a</span></p>',
      '1\\. a\n\n12\\) a',
    ],
    ['brackets without a partner', '<p>[a <b>b</b></p>', '\\[a **b**'],
    [
      'a closing sequence of a heading',
      '<h2>a #</h2><h2>C#</h2><h2>a<b> #</b></h2>',
      '## a \\#\n\n## C#\n\n## a **#**',
    ],
    ['numbers at the start of a heading', '<h2>1. a</h2>', '## 1. a'],
    ['a box at the start of an item', '<ul><li>[x] a</ul>', '- \\[x] a'],
    ['underscores by run', '<p>a __ b_c __d</p>', 'a \\_\\_ b_c \\_\\_d'],
    ['backslashes where they matter', '<p>C:\\dir \\# x</p>', 'C:\\dir \\\\# x'],
    ['lone stars and tildes', '<p>2 * 3 ~5</p>', '2 * 3 ~5'],
    [
      'no-break spaces and invisible signs',
      '<p>a\u00a0b <b>c:\u00a0</b>d&nbsp; so\u00adft\u200b</p>',
      'a b **c:** d soft',
    ],
    ['lines between wide characters', '<p>日本\n  語 a\nb</p>', '日本語 a b'],
  ]);
});

describe('lists', () => {
  writes([
    ['text behind a nested list apart', '<ul><li>a<ul><li>b</ul>c</ul>', '- a\n  - b\n\n  c'],
    ['lists in a row apart', '<ul><li>a</ul><ul><li>b</ul><ol><li>c</ol><ol><li>d</ol>', '- a\n\n* b\n\n1. c\n\n1) d'],
    ['lines of an item as lines', '<ul><li><div>a</div><div>b</div><li>c</ul>', '- a  \n  b\n- c'],
    ['an icon before its text', '<ul><li><div><img src=/i.png></div><p>a</p></ul>', `- ![](${site}/i.png) a`],
    ['code first in an item', '<ul><li><pre>x</pre><li>a</ul>', '- \n  ```\n  x\n  ```\n- a'],
    ['a list first in an item', '<ol><li><ul><li>a</ul></ol>', '1. \n   - a'],
    ['such an item behind text', '<ul><li>a<ul><li><ul><li>b</ul></ul></ul>', '- a\n\n  - \n    - b'],
    [
      'tasks',
      '<ul><li><input type=checkbox checked> a<li><label><input type=checkbox>b</label></ul>',
      '- [x] a\n- [ ] b',
    ],
    ['numbers of items', '<ol start=3><li>a<li value=7>b<li>c</ol>', '3. a\n7. b\n8. c'],
    ['an item that its author left empty', '<ol><li>a</li><li></li><li>b</li><li></li></ol>', '1. a\n2. \n3. b'],
    ['a heading around a list as content', '<h3>a<ul><li>b<li>c</ul></h3>', 'a\n\n- b\n- c'],
  ]);
});

describe('links and images', () => {
  writes([
    [
      'no title that repeats the text',
      '<a href=/x title=a>a</a> <a href=/x title="b &amp; &quot;c&quot;">a</a>',
      `[a](${site}/x) [a](${site}/x "b & \\"c\\"")`,
    ],
    ['titles of images', '<img src=/i.png alt=a title=t>', `![a](${site}/i.png "t")`],
    [
      'a card with its link on the heading',
      '<a href=/c><span>New</span><h3>T</h3><p>d</p></a>',
      `New\n\n### [T](${site}/c)\n\nd`,
    ],
    ['a link to the page itself', '<a href="">a</a>', `[a](${site}/dir/page.html)`],
    ['addresses with signs of markdown', '<a href="/a`b|c">x</a>', `[x](${site}/a%60b%7Cc)`],
  ]);
});

describe('tables', () => {
  writes([
    [
      'spans in every place they cover',
      '<table><tr><th rowspan=2>a<th colspan=2>b<tr><th>c<th>d<tr><td>1<td>2<td>3</table>',
      '| a | b | b |\n| --- | --- | --- |\n| a | c | d |\n| 1 | 2 | 3 |',
    ],
    [
      'a row of one cell once',
      '<table><tr><td colspan=2>a<tr><td>b<td>c</table>',
      '| a |  |\n| --- | --- |\n| b | c |',
    ],
    [
      'row headers under an empty header',
      '<table><tr><th>a<td>b<tr><th>c<td>d</table>',
      '|  |  |\n| --- | --- |\n| a | b |\n| c | d |',
    ],
    [
      'lines and lists in cells',
      '<table><tr><td>a<br>b<td><ul><li>c<li>d</ul><tr><td><pre>e\nf</pre><td>g</table>',
      '| a<br>b | c<br>d |\n| --- | --- |\n| `e`<br>`f` | g |',
    ],
    [
      'columns of lists as lists',
      `<table><tr><td><ul>${'<li>a'.repeat(4)}</ul><td><ul>${'<li>b'.repeat(3)}</ul></table>`,
      '- a\n- a\n- a\n- a\n\n* b\n* b\n* b',
    ],
    [
      'columns as their data is aligned, or their header where it says nothing',
      '<table><tr><th>a<th style="color:red; text-align: Center">b<th align=right>c<th align=center>d' +
        '<tr><td colspan=4 align=center>e<tr><td align=left>f<td>g<td align=center>h<td style="text-align:end">i</table>',
      '| a | b | c | d |\n| --- | :-: | :-: | --: |\n| e |  |  |  |\n| f | g | h | i |',
    ],
    ['tables for layout as blocks', '<table role=presentation><tr><td>a<td>b</table>', 'a\n\nb'],
    [
      'a box of one row with a list',
      '<table><tr><td>Note<td><p>Do:<ul><li>a<li>b</ul></table>',
      'Note\n\nDo:\n\n- a\n- b',
    ],
    ['a row with its head', '<table><tr><th>Do<td><ul><li>a<li>b</ul></table>', '| Do | a<br>b |\n| --- | --- |'],
    [
      'posts that a forum writes as quotes',
      '<article><blockquote>a<blockquote>b</blockquote></blockquote></article><article> <blockquote>c</blockquote></article>',
      'a\n\n> b\n\nc',
    ],
    ['an article that is a quote', '<article><blockquote>a</blockquote></article><article>b</article>', '> a\n\nb'],
  ]);
});

describe('code', () => {
  writes([
    [
      'a table of line numbers and code',
      '<table><tr><td class=gutter><pre>1\n2</pre><td class=code><pre class="language-js">a\n b</pre></table>',
      '```js\na\n b\n```',
    ],
    ['lines that are elements', '<pre><span class=line>a</span><span class=line>b</span></pre>', '```\na\nb\n```'],
    [
      'lines without the numbers inside them',
      '<pre><span class=ln>1</span>a\n<span class=ln>2</span>b</pre>',
      '```\na\nb\n```',
    ],
    [
      'a class of the whole that names line numbers',
      '<pre class="line-numbers"><code class="line-numbers language-c">a</code></pre>',
      '```c\na\n```',
    ],
    ['code without its button', '<pre><button>Copy</button>a</pre>', '```\na\n```'],
    ['code with breaks as a block', '<code>a<br>b</code>', '```\na\nb\n```'],
    ['neighbouring spans as one', '<p><code>a</code><code>b</code></p>', '`ab`'],
    ['no-break spaces as spaces', '<pre>a&nbsp;b</pre>', '```\na b\n```'],
  ]);

  it.each([
    ['<pre class="brush: js; gutter: false">a</pre>', 'js'],
    ['<pre class="sourceCode python">a</pre>', 'python'],
    ['<pre><code class="hljs ts">a</code></pre>', 'ts'],
    ['<div class="highlight highlight-source-shell"><pre>a</pre></div>', 'shell'],
    ['<div class="highlight-python"><div class="highlight"><pre>a</pre></div></div>', 'python'],
    ['<div class="mw-highlight mw-highlight-lang-lua"><pre>a</pre></div>', 'lua'],
    ['<pre data-language="rust">a</pre>', 'rust'],
    ['<pre><code class="language-plaintext">a</code></pre>', ''],
    ['<pre class="wide">a</pre>', ''],
  ])('names the language of %s', (html, language) => {
    expect(markdownOf(html)).toBe(`\`\`\`${language}\na\n\`\`\``);
  });
});

describe('formulas', () => {
  writes([
    [
      'MathML with its source',
      '<p>a <math><semantics><mi>x</mi><annotation encoding="application/x-tex">{\\displaystyle x^2}</annotation></semantics></math> b</p>',
      'a $x^2$ b',
    ],
    [
      'MathML without',
      '<math display=block><mfrac><mn>1</mn><msup><mi>x</mi><mn>2</mn></msup></mfrac></math>',
      '$$\n\\frac{1}{x^{2}}\n$$',
    ],
    [
      'KaTeX once',
      '<span class="katex"><span class="katex-mathml"><math><annotation encoding="application/x-tex">a_1</annotation></math></span><span class="katex-html">a1</span></span>',
      '$a_1$',
    ],
    [
      'scripts of MathJax without what it rendered',
      '<p>a <span class="MathJax_Preview">q</span><script type="math/tex">y</script><script type="math/tex; mode=display">z</script></p>',
      'a $y$\n\n$$\nz\n$$',
    ],
    [
      'containers of MathJax',
      '<mjx-container display="true"><mjx-math></mjx-math><mjx-assistive-mml><math><mi>k</mi></math></mjx-assistive-mml></mjx-container>',
      '$$\nk\n$$',
    ],
    ['images of formulas', '<p><img class="latex" alt="x|y" src=/l.png></p>', '$x|y$'],
    [
      'the source in the text of a page that renders it',
      '<script src="/mathjax.js"></script><p>a \\(b_1*c*\\) $$d$$</p>',
      'a $b_1*c*$\n\n$$\nd\n$$',
    ],
    ['dollars as dollars', '<p>$5 and $$6</p>', '$5 and $$6'],
  ]);
});

describe('footnotes', () => {
  writes([
    [
      'notes that link back',
      '<p>a<sup id=r><a href="#n">[1]</a></sup></p><ol><li id=n>b <a href="#r">↩</a></ol>',
      'a[^1]\n\n[^1]: b',
    ],
    [
      'notes with named places',
      '<p>a<a href="#n" name=r>*</a></p><p><a name=n href="#r">*</a> b</p>',
      'a[^note-1]\n\n[^note-1]: b',
    ],
    ['links to places as links', '<p><a href="#n">1</a></p><p id=n>b</p>', `[1](${site}/dir/page.html#n)\n\nb`],
  ]);
});

describe('signs of inline elements', () => {
  writes([
    [
      'sup and sub',
      '<p>x<sup>2</sup>, H<sub>2</sub>O, 1<sup>st</sup>, A<sup>®</sup></p>',
      'x<sup>2</sup>, H<sub>2</sub>O, 1st, A®',
    ],
    ['ruby', '<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby>', '漢(かん)'],
    ['quotations', '<p><q>a</q> b</p>', '"a" b'],
    ['two breaks as the end of a paragraph', '<p>a<br><br>b<br></p>', 'a\n\nb'],
  ]);
});
