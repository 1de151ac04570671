/** Plain pages as people write them by hand: what stands in the body, and nothing of it is furniture. */
export interface PlainPage {
  name: string;
  /** How the page marks its body. */
  around: 'main' | 'article' | 'main article' | 'role' | 'nothing';
  head?: string;
  body: string;
}

const text = (topic: string): string =>
  `The ${topic} was described at length by the people who had seen it, and nobody doubted what they said about it.`;

export const PLAIN_PAGES: readonly PlainPage[] = [
  {
    name: 'article with nested lists',
    around: 'main article',
    body: `<h1>Boats of the north</h1><p>${text('boat')}</p>
      <ul><li>Open boats<ul><li>Faering</li><li>Sixern<ol><li>with a mast</li><li>without</li></ol></li></ul></li><li>Decked boats</li></ul>
      <figure><img src="/i/boat.jpg" alt="A boat"><figcaption>Built in 1911</figcaption></figure><h2>See also</h2><p>Oars.</p>`,
  },
  {
    name: 'figure and code',
    around: 'article',
    body: `<h1>A loop</h1><p>${text('loop')}</p><figure><img src="loop.png" alt="Loop"><figcaption>Fig. 1</figcaption></figure>
      <pre><code>for (;;) {\n  wait();\n}</code></pre><h2>Notes</h2><p>Short.</p>`,
  },
  {
    name: 'footnotes',
    around: 'main',
    body: `<h1>The mill</h1><p>${text('mill')}<sup><a href="#sources">1</a></sup></p><h2 id="sources">Sources</h2>
      <ol><li>Old maps, p. 4.</li><li><a href="/map">The map</a></li></ol>`,
  },
  {
    name: 'base href',
    around: 'main',
    head: '<base href="/other/">',
    body: `<h1>Elsewhere</h1><p>${text('place')} <a href="a.html">First</a></p><p><img src="b.png" alt="b"></p><p><a href="c.html">Last</a></p>`,
  },
  {
    name: 'one paragraph and two links',
    around: 'nothing',
    body: `<h1>Moved</h1><p>${text('page')}</p><p><a href="/new">New place</a></p><p><a href="/old">Old place</a></p>`,
  },
  {
    name: 'definition lists',
    around: 'main',
    body: `<h1>Words</h1><dl><dt>Keel</dt><dd>Lowest beam.</dd><dt>Stem</dt><dd>Front end.</dd><dt>Thwart</dt><dd>${text('thwart')}</dd></dl>`,
  },
  {
    name: 'FAQ with details',
    around: 'main',
    body: `<h1>Questions</h1><details><summary>Is it free?</summary><p>Yes.</p></details>
      <details open><summary>Who made it?</summary><p>${text('maker')}</p></details><details><summary>Where?</summary><p>In a shed.</p></details>`,
  },
  {
    name: 'recipe',
    around: 'article',
    body: `<h1>Pancakes</h1><p>${text('pancake')}</p><h2>Ingredients</h2><ul><li>2 eggs</li><li>250 g flour</li><li>salt</li></ul>
      <h2>Steps</h2><ol><li>Mix.</li><li>Wait.</li><li>Fry.</li></ol><p>Serves 4</p>`,
  },
  {
    name: 'changelog',
    around: 'main',
    body: `<h1>Changelog</h1><h2>2.1.0</h2><ul><li>Added: sails</li><li>Fixed: a leak (<a href="/i/4">#4</a>)</li></ul><h2>2.0.0</h2><ul><li>Removed: oars</li></ul><h2>1.0.0</h2><p>First.</p>`,
  },
  {
    name: 'API reference',
    around: 'role',
    body: `<h1>row(strokes)</h1><pre><code>row(strokes: number): void</code></pre><h2>Parameters</h2>
      <table><tr><th>Name</th><th>Type</th></tr><tr><td>strokes</td><td>number</td></tr></table><h2>Returns</h2><p>Nothing.</p><h2>Throws</h2><p>${text('error')}</p>`,
  },
  {
    name: 'product',
    around: 'main',
    body: `<h1>Oar, ash</h1><img src="/oar.jpg" alt="Oar"><p>49.00 EUR</p><p>${text('oar')}</p><h2>Details</h2>
      <table><tr><th>Length</th><td>2.4 m</td></tr><tr><th>Weight</th><td>1.9 kg</td></tr></table><p>In stock</p>`,
  },
  {
    name: 'listing',
    around: 'main',
    body: `<h1>Boats for sale</h1><ul>${['Faering', 'Sixern', 'Pram', 'Dory']
      .map((boat) => `<li><h3><a href="/b/${boat}">${boat}</a></h3><p>900 EUR</p><p>Sound and dry.</p></li>`)
      .join('')}</ul>`,
  },
  {
    name: 'forum',
    around: 'main',
    body: `<h1>Which tar?</h1><article><h2>Anna</h2><time>2024-05-01</time><p>${text('tar')}</p></article>
      <article><h2>Ben</h2><time>2024-05-02</time><blockquote><p>Which tar?</p></blockquote><p>Pine.</p></article><article><h2>Cora</h2><time>2024-05-03</time><p>+1</p></article>`,
  },
  {
    name: 'wiki',
    around: 'article',
    body: `<h1>Pram</h1><p>${text('pram')} See <a href="/w/Dory">Dory</a>.</p><table><caption>Facts</caption><tr><th>Use</th><td>Tender</td></tr></table>
      <h2>History</h2><p>Old.</p><h2>References</h2><ol><li><a href="http://books.test/1">A book</a></li></ol>`,
  },
  {
    name: 'Q&A',
    around: 'main',
    body: `<h1>How do I caulk?</h1><p>${text('seam')}</p><h2>2 answers</h2><div><p>With oakum.</p><p>Dora, 3 May</p></div><div><p>With cotton: <code>roll</code> it first.</p><p>Emil, 4 May</p></div>`,
  },
  {
    name: 'event',
    around: 'main',
    body: `<h1>Launch day</h1><p><time datetime="2025-06-01">1 June 2025</time>, 10:00</p><p>Slip 3, Harbour Road</p><p>${text('launch')}</p><p><a href="/book">Book a place</a></p>`,
  },
  {
    name: 'job offer',
    around: 'main article',
    body: `<h1>Boatbuilder</h1><p>Full time, Bergen</p><p>${text('yard')}</p><h2>You bring</h2><ul><li>patience</li><li>an adze</li></ul><h2>We offer</h2><ul><li>30 days off</li></ul><p>Write to <a href="mailto:yard@site.test">the yard</a>.</p>`,
  },
  {
    name: 'press release',
    around: 'article',
    body: `<p>Bergen, 3 May 2024</p><h1>Yard launches its hundredth boat</h1><p>${text('hundredth boat')}</p><blockquote><p>“We are glad.”</p></blockquote><h2>About the yard</h2><p>Founded 1911.</p><h2>Contact</h2><p>Ida Moe, +47 555 01 00</p>`,
  },
  {
    name: 'landing page',
    around: 'main',
    body: `<section><h1>Row more</h1><p>Boats that last.</p><p><a href="/start">Start</a></p></section><section><h2>Light</h2><p>${text('weight')}</p></section><section><h2>Dry</h2><p>No leaks.</p></section><section><h2>Prices</h2><p>From 900 EUR</p></section>`,
  },
  {
    name: 'contact page',
    around: 'main',
    body: `<h1>Contact</h1><address>The Yard<br>Harbour Road 3<br>5003 Bergen</address><p>Phone: +47 555 01 00</p><p><a href="mailto:yard@site.test">yard@site.test</a></p><h2>Hours</h2><table><tr><td>Mon to Fri</td><td>8 to 16</td></tr><tr><td>Sat</td><td>closed</td></tr></table>`,
  },
];
