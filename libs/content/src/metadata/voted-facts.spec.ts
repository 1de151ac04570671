import { describe, expect, it } from '@jest/globals';
import * as frontier from '@troupe/frontier';
import { pageFixture } from '../page-fixture.js';

const { convert } = pageFixture(frontier);
const URL_OF_PAGE = 'http://site.test/dir/page.html';

function factsOf(html: string, url = URL_OF_PAGE): Record<string, unknown> {
  return convert(html, { url }).page.metadata;
}
const ld = (value: unknown): string => `<script type="application/ld+json">${JSON.stringify(value)}</script>`;
const article = (properties: object): string =>
  ld({ '@context': 'https://schema.org', '@type': 'Article', ...properties });

describe('the title', () => {
  const titleOf = (html: string, url?: string): unknown => factsOf(html, url)['title'];

  it.each([
    ['its heading, when the title holds it', '<title>Red Fish | The Pond</title><h1>Red Fish</h1>', 'Red Fish'],
    [
      'og:title, when the title holds it',
      '<title>Red Fish | Pond</title><meta property=og:title content="Red Fish">',
      'Red Fish',
    ],
    [
      'the title as it is, when nothing says what the site is called',
      '<title>Red Fish | Pond</title>',
      'Red Fish | Pond',
    ],
    [
      'without the name of the site',
      '<title>Red Fish – Pond</title><meta property=og:site_name content=Pond>',
      'Red Fish',
    ],
    ['without the name of the host', '<title>Site: Red Fish</title>', 'Red Fish'],
    ['not the heading that is the logo', '<title>Red Fish</title><h1><a href="/">The Red Pond</a></h1>', 'Red Fish'],
    ['not a heading in the sidebar', '<title>Red Fish</title><aside><h1>Red Things</h1></aside>', 'Red Fish'],
    ['not a heading about something else', '<title>Red Fish</title><h1>Hello</h1>', 'Red Fish'],
    [
      'a lone heading that shares a word',
      '<title>About fish</title><h1>All the fish of the pond</h1>',
      'All the fish of the pond',
    ],
    ['without what stands around it in the heading', '<title>Red Fish</title><h1>3.1 Red Fish (new)</h1>', 'Red Fish'],
    ['without the mark of its anchor', '<title>Red Fish - X</title><h1>Red Fish<a href="#a">¶</a></h1>', 'Red Fish'],
    [
      'with spaces as a reader sees them',
      '<title>ann: Red Fish - X</title><h1><code><i>ann</i></code>: Red Fish</h1>',
      'ann: Red Fish',
    ],
    ['the heading, without a title', '<h1>Red <em>Fish</em></h1>', 'Red Fish'],
  ])('is %s', (_name, html, title) => {
    expect(titleOf(html)).toBe(title);
  });

  it('of an article is its heading, even when the declared title is another one', () => {
    expect(titleOf(`<title>10 Facts</title>${article({})}<h1>What you should know</h1>`)).toBe('What you should know');
  });

  it('of a front page keeps the name of the site and is no slogan', () => {
    const html = '<title>Pond | Fish for all</title><meta property=og:site_name content=Pond><h1>Swim better</h1>';
    expect(titleOf(html, 'http://site.test/')).toBe('Pond | Fish for all');
  });
});

describe('the author', () => {
  const authorOf = (html: string): unknown => factsOf(`<title>Red Fish</title>${html}`)['author'];

  it.each([
    ['a text', { author: 'Ann Lee' }, 'Ann Lee'],
    ['an object', { author: { '@type': 'Person', name: 'Ann Lee' } }, 'Ann Lee'],
    ['a list', { author: [{ name: 'Ann Lee' }, { name: 'Bo Ray' }] }, 'Ann Lee, Bo Ray'],
    ['escaped', { author: 'Zo&euml; O&#039;Neil' }, "Zoë O'Neil"],
    ['with a role', { author: 'By Ann Lee, Senior Editor' }, 'Ann Lee'],
  ])('is read from JSON-LD as %s', (_name, properties, author) => {
    expect(authorOf(article(properties))).toBe(author);
  });

  it('is found in a graph by its id', () => {
    const graph = [
      { '@type': ['Article', 'BlogPosting'], author: { '@id': '#ann' } },
      { '@type': 'Person', '@id': '#ann', name: 'Ann Lee' },
    ];
    expect(authorOf(ld({ '@graph': graph }))).toBe('Ann Lee');
  });

  it.each([
    '<meta name=author content="Ann Lee">',
    '<meta name=parsely-author content="Ann Lee">',
    '<meta name="twitter:label1" content="Written by"><meta name="twitter:data1" content="Ann Lee">',
    '<p itemprop=author itemscope><span itemprop=name>Ann Lee</span>, 3 May</p>',
    '<a rel=author href=/ann>Ann Lee</a>',
    '<div class=entry-byline>By <a href=/ann>Ann Lee</a> on March 5, 2024</div>',
    '<span class=postAuthor>Ann Lee | ann@site.test</span>',
    '<h1>Red Fish</h1><p>von Ann Lee</p>',
    '<h1>Red Fish</h1><p><b>By:</b> <i>Ann Lee</i></p>',
    '<p>Text of the page.</p><p>Autorin: Ann Lee</p>',
    '<div class=post><a class=user-name href=/u/1>Ann Lee</a></div>',
    '<div class="author-box bio"><h3>Ann Lee</h3><p>writes about fish and other things that live in water.</p></div>',
    '<figure><span class=author>Bo Ray</span></figure><span class=author>Ann Lee</span>',
    '<span class=author>5 min</span><span class=author>Ann Lee</span>',
    '<div class=author><a href=/ann>Ann Lee</a><a href=/feed>Get author RSS feed</a></div>',
    '<p>Text of the page.</p><p>Posted by Ann Lee at 10:00</p>',
  ])('is read from %s', (html) => {
    expect(authorOf(html)).toBe('Ann Lee');
  });

  it.each([
    '<p>By now you know what this is about.</p>',
    '<h1>Red Fish</h1><p>By the end of 2024 there were 500.</p>',
    '<form class=comment-form-author><label class=author>Name</label></form>',
    '<meta property=article:author content="https://site.test/ann">',
    '<div class="author-bio">Writes about fish and other things that live in water.</div>',
  ])('is not read from %s', (html) => {
    expect(authorOf(html)).not.toEqual(expect.stringMatching(/now|end|Name|http|fish/i));
  });

  it('is a person rather than the site, and the site rather than none', () => {
    const site = '<meta property=og:site_name content=Pond><meta name=author content=Pond>';
    expect(authorOf(`${site}<p class=byline>By Ann Lee</p>`)).toBe('Ann Lee');
    expect(authorOf(site)).toBe('Pond');
  });

  it('is who wrote the page, not who commented', () => {
    const comments = '<div class=comments><span class=author>Bo Ray</span><span class=author>Cy Poe</span></div>';
    expect(authorOf(`${comments}<span class=author>Ann Lee</span>`)).toBe('Ann Lee');
  });

  it('has the whole name when one source has the first name only', () => {
    expect(authorOf(`${article({ author: 'Ann' })}<span class=author>Ann Lee</span>`)).toBe('Ann Lee');
  });

  it('has all the names of a byline when another source has the first only', () => {
    expect(authorOf(`${article({ author: 'Ann Lee' })}<span class=byline>By Ann Lee and Bo Ray</span>`)).toBe(
      'Ann Lee, Bo Ray',
    );
  });

  it('is a name rather than a declared account', () => {
    const html = `${article({ author: 'annie7' })}<h1>Red Fish</h1><p>by <a class=author-link href=/a>Ann Lee</a></p>`;
    expect(authorOf(html)).toBe('Ann Lee');
  });

  it('is who most sources name', () => {
    const html = `${article({ author: 'admin_7' })}<meta name=author content="Ann Lee"><a rel=author href=/a>Ann Lee</a><p class=byline>Ann Lee</p>`;
    expect(authorOf(html)).toBe('Ann Lee');
  });
});

describe('the day of publication', () => {
  const dateOf = (html: string, url?: string): unknown =>
    factsOf(`<title>Red Fish</title>${html}`, url)['publishedTime'];

  it.each([
    ['<meta property=article:published_time content="2024-03-05T10:00:00+01:00">', '2024-03-05T10:00:00+01:00'],
    [article({ datePublished: '2024-03-05T10:00Z', dateModified: '2024-06-01' }), '2024-03-05T10:00Z'],
    ['<meta name=DC.date.issued content=2024-03-05>', '2024-03-05'],
    ['<meta name=pubdate value=20240305>', '20240305'],
    ['<span itemprop=datePublished content=2024-03-05>yesterday</span>', '2024-03-05'],
    ['<time datetime=2024-03-05T10:00>March</time>', '2024-03-05T10:00'],
    ['<p class=post-date>Tuesday, 5 March 2024</p>', '2024-03-05'],
    ['<h1>Red Fish</h1><p>Berlin, 5. März 2024</p>', '2024-03-05'],
    ['<p>A page.</p><p>5 mars 2024</p>', '2024-03-05'],
  ])('is read from %s', (html, date) => {
    expect(dateOf(html)).toBe(date);
  });

  it('is read from the URL', () => {
    expect(dateOf('<p>a</p>', 'http://site.test/2024/03/05/red-fish')).toBe('2024-03-05');
    expect(dateOf('<p>a</p>', 'http://site.test/2024/mar/05/red-fish')).toBe('2024-03-05');
    expect(dateOf('<p>a</p>', 'http://site.test/2024/fish/05/')).toBeUndefined();
  });

  it('is the day of publication, not of a change or a comment', () => {
    const html =
      '<h1>Red Fish</h1><span class=updated>Updated: June 1, 2024</span><span class=published>March 5, 2024</span>' +
      '<div class=comments><time datetime=2024-07-01>1 July</time></div>';
    expect(dateOf(html)).toBe('2024-03-05');
  });

  it('is not what a text near the title calls an update', () => {
    const html = '<h1>Red Fish</h1><p>Updated on June 1, 2024</p><p>March 5, 2024</p>';
    expect(dateOf(html)).toBe('2024-03-05');
  });

  it('is the first of two that are declared', () => {
    const html = `<meta property=article:published_time content=2024-03-05>${article({ datePublished: '2024-06-01' })}`;
    expect(dateOf(html)).toBe('2024-03-05');
  });

  it('is what several sources agree on', () => {
    const html = `<meta name=date content=2024-09-09><time datetime=2024-03-05>x</time><p class=date>March 5, 2024</p>`;
    expect(dateOf(html, 'http://site.test/2024/03/05/x')).toBe('2024-03-05');
  });

  it('is not the day when the author became a member', () => {
    expect(dateOf('<h1>Red Fish</h1><p>Registered: 2019-01-27</p><p>March 5, 2024</p>')).toBe('2024-03-05');
  });

  it('is not taken from a calendar', () => {
    const days = Array.from({ length: 9 }, (_, i) => `<p>${i + 1}.3.2024</p>`).join('');
    expect(dateOf(days)).toBeUndefined();
  });
});

describe('other facts', () => {
  it('fill the keys that the head leaves empty', () => {
    const html = `<meta http-equiv=x name=content-language content=de_AT><meta property=og:description content=d>${article({ dateModified: '2024-06-01' })}`;
    expect(factsOf(html)).toMatchObject({ language: 'de-AT', description: 'd', modifiedTime: '2024-06-01' });
  });

  it('do not fail on hostile data', () => {
    const deep = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
    const html = `<script type="application/ld+json">${deep}</script><p class=author>${'x '.repeat(100_000)}</p><h1>${' '.repeat(150_000)}a</h1>`;
    const start = performance.now();
    expect(factsOf(html)).toMatchObject({ statusCode: 200 });
    expect(performance.now() - start).toBeLessThan(15_000);
  });
});
