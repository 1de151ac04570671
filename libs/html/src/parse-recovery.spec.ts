/** Recovery from broken HTML: what parse5 makes of a page is what is expected of ours. */
import { describe, expect, it } from '@jest/globals';
import { parseHtml } from './parse.js';
import { outlineOf, outlineOfParse5 } from './parse5-fixture.js';

const CASES: Record<string, string[]> = {
  'misnested formatting': [
    '<b><p>x</b>y</p>z',
    '<p>1<b>2<i>3</b>4</i>5</p>',
    '<b>1<i>2<u>3<s>4<em>5<p>6</b>7</p>8',
    '<a href=1><div>x</a>y</div>',
    '<span><b><div>a</span>b</b>c</div>',
    '<b><span><code><div>a</b>b</div>c',
    '<b><b><b><b><p>x</b></b></b></b>y',
  ],
  'formatting that a block has closed': [
    '<p><b>x</p><p>y</p>',
    '<p><b class=k><i>x</p>y</i>z</b>w',
    '<div><em>x</div><br>y<div>z</div>',
    '<p><b><b><b><b><b>x</p>y',
    '<p><font a=1><font a=2><font a=1>x</p>y',
    '<p><b>x</p><hr><input><img>',
    '<table><tr><td><b>x</td><td>y</td></tr></table>z',
    '<b><object>x</b>y</object>z',
  ],
  'links in links': [
    '<a href=1>one<a href=2>two</a>three',
    '<a href=1><div>x<a href=2>y</a>z</div></a>w',
    '<a href=1><p>x</p><p>y<a href=2>z</a></p></a>',
    '<div><a href=1>x</div><div>y</div></a>',
  ],
  'content between the cells of a table': [
    '<table>x<tr><td>y</td></tr></table>',
    '<table><tr>x<td>y</td>z</tr></table>w',
    '<p>a<table><tr><td>b</td></tr><div>c<p>d</div>e</table>f',
    '<table><a href=1>x</a><tr><td>y</td></tr></table>',
    '<table><b><tr><td>x</td></tr>y</table>z',
    '<table><tr><td><table>x<tr><td>y</table>z</table>',
    '<div><table><i>x<p>y</i>z</table></div>',
    '<table><script>1</script><style>2</style><input type=hidden><input><tr><td>x</table>',
  ],
  'parts of tables': [
    '<table><td>a<td>b<tr><td>c</table>',
    '<table><tr><td>a<table><tr><td>b</table>c</table>',
    '<table><tr><td>a</tr><caption>b</caption><tr><th>c</table>',
    '<table><tr><td>a<table>b</table>c',
    '<table><table><tr><td>x</table>',
    '<table><colgroup><col><col><tr><td>x</table>',
    '<table><form><tr><td><input></form>x</td></tr></table>',
    '<table><tr><td><div>a<tr><td>b</table>c',
    '<td>a</td><tr>b</tr>c',
    '<table><thead><tr><th>a</thead><tr><td>b</tfoot></table>',
  ],
  forms: [
    '<form><div>a</form>b</div>c',
    '<form>a<form>b</form>c',
    '<form><p>a</form>b<form>c</form>',
    '<div><form><div>x</form>y</div>z</div>w',
  ],
  'implied ends': [
    '<p>a<p>b<ul><li>c<li>d</ul>e',
    '<dl><dt>a<dd>b<div><dd>c</div></dl>',
    '<h1>a<h2>b</h1>c',
    '<button>a<p>b<button>c</button>d',
    '<div><button>a</div>b',
    '<ruby>a<rt>b<rt>c<rp>d</ruby>e',
    '<li>a<ul><li>b</li></li>c</ul>d',
    '<p><button><p>x</button>y</p>z',
    '<nobr>a<nobr>b</nobr>c',
  ],
  'end tags without a start': ['a</p>b', 'a</br>b', '<div>a</p>b</div>', 'a</b></div></li></h1>b', '<p>a</div>b</p>c'],
  'foreign content': [
    '<svg><title>a<b>b</b></title><path/><g>c</g></svg>d',
    '<svg><g>a<p>b</svg>c',
    '<svg><foreignObject><div>a<p>b<p>c</div></foreignObject></svg>d',
    '<math><mi>a<b>b</b></mi><mo>+</mo></math>c',
    '<svg><font>a</font><font color=red>b</font>',
    '<svg><a href=1>x</a></svg><a href=2>y</a>',
    '<svg><style>a<b>b</style></svg>c',
    '<svg><![CDATA[<c>]]></svg><![CDATA[d]]>e',
    '<svg><image/><br>x',
    '<svg>a</p>b</svg>c',
  ],
  'raw text': [
    '<iframe>a &amp; <b>b</b></iframe>c',
    '<textarea>\n\na &amp; <b></textarea>c',
    '<title>a &amp <b>b</title>c',
    '<xmp>&lt;</xmp><noembed>&lt;<p></noembed>d',
    '<style>a &amp; b</style><script>"</p>"</script>c',
    '<pre>\na\nb</pre><pre>\r\nc</pre>',
    'a<plaintext>b</plaintext>&amp;<p>c',
  ],
  'tokens that never end': [
    'a<!-- b',
    'a<!-- b --!>c<!-- d -->e',
    'a<!-->b<!--->c<!--!>d-->e',
    'a<p title="b>c',
    'a</',
    'a<',
    'a</p',
    'a<script>b',
    'a<? b>c<! d>e',
    'a</ b>c',
  ],
  'character references': [
    'a&amp b&notit; c&copy d &#x41 &#0; &#xD800; &#x80; &',
    '<a href="?a=1&copy=2&amp;b&lt">x</a>',
  ],
  'options and selects': [
    '<select><option>a<option>b<optgroup><option>c</select>d',
    '<select><option>a<select><b>c</b>',
    '<select><option>a<input>b',
  ],
};

const DOCTYPE = '<!doctype html>';

describe.each(Object.entries(CASES))('%s', (_name, pages) => {
  it.each(pages)('%s', (html) => {
    expect(outlineOf(DOCTYPE + html)).toBe(outlineOfParse5(DOCTYPE + html));
  });
});

describe('parts of a table in a template, without a table', () => {
  it.each([
    '<template><a><tbody>5<form><a>',
    '<template><tbody><a>x<form>y<a>z',
    '<template><tr><td>a</td><b>c<p>d</b>e</p></tr></template>f',
    '<template><object><tr><nobr>x<button>y<nobr>z',
  ])('%s: every node is in one place', (html) => {
    const { count, parent, end } = parseHtml(DOCTYPE + html);
    for (let node = 1; node < count; node++) {
      const up = parent[node]!;
      expect([node, up < node, end[node]! > node, end[node]! <= end[up]!]).toEqual([node, true, true, true]);
    }
  });
});
