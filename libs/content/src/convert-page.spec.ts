import { describe, expect, it } from '@jest/globals';
import type { ConvertRequest, PageDocument } from '@troupe/contracts';
import * as frontier from '@troupe/frontier';
import { SCOPE, pageFixture, pageRequest } from './page-fixture.js';
import { checkSelector } from '@troupe/html';

const { convert, documentOf, markdownOf } = pageFixture(frontier);

const discover = (changes: Partial<NonNullable<ConvertRequest['discover']>> = {}): Partial<ConvertRequest> => ({
  discover: { scope: SCOPE, depth: 0, maxLinks: 100, obeyNofollow: true, ...changes },
});
const metadataOf = (html: string): Record<string, unknown> => convert(html).page.metadata;
const codeOf = (run: () => unknown): unknown => {
  try {
    run();
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
  return null;
};
const words = (n: number): string => Array.from({ length: n }, (_, i) => `word${i}`).join(' ');

describe('a document', () => {
  it('has the requested formats and metadata, nothing else', () => {
    expect(Object.keys(documentOf('<p>a</p>', ['links', 'rawHtml']))).toEqual(['rawHtml', 'links', 'metadata']);
    expect(Object.keys(documentOf('<p>a</p>', []))).toEqual(['metadata']);
  });

  it('keeps raw HTML as it came', () => {
    const html = '<P CLASS=x>a<!-- c --><script>b</script>';
    expect(documentOf(html, ['rawHtml']).rawHtml).toBe(html);
  });

  it('cleans HTML: no scripts, head, comments or handlers, absolute URLs, largest image', () => {
    const html =
      '<html><head><title>t</title></head><body><!-- c --><script>x</script><p onclick=y class="a&amp;b">a &lt; <a href="../z">l</a>' +
      '<img src=s.png srcset="m.png 2x, l.png 3x"></p></body></html>';
    expect(documentOf(html, ['html']).html).toBe(
      '<html><body><p class="a&amp;b">a &lt; <a href="http://site.test/z">l</a><img src="http://site.test/dir/l.png"></p></body></html>',
    );
  });

  it('lists links absolute, once, in order: mailto kept, scripts and what leads nowhere dropped', () => {
    const html =
      '<a href=/b>1</a><a href="a#x">2</a><a href="#">3</a><a href="mailto:x@y.test">4</a><a href=/b>5</a><a href="javascript:1">6</a>';
    expect(documentOf(html, ['links']).links).toEqual([
      'http://site.test/b',
      'http://site.test/dir/a#x',
      'mailto:x@y.test',
    ]);
  });

  it('lists places on the page itself, but not the signs behind headings that lead to them', () => {
    const html = '<h2 id=sources>Sources<a href="#sources">¶</a></h2><p>See <a href="#sources">below</a>.</p>';
    expect(documentOf(html, ['links']).links).toEqual(['http://site.test/dir/page.html#sources']);
    expect(documentOf(html.replace('below', '¶'), ['links']).links).toEqual([]);
  });

  it('lists links and images of what its markdown shows of its data', () => {
    const body = `<p>${words(200)} <a href=\\"/told\\">told</a> <img src=\\"/told.png\\" alt=t></p>`;
    const html = `<script type="application/ld+json">{"@type":"NewsArticle","headline":"News","articleBody":"${body}"}</script><h1>News</h1>`;
    const page = documentOf(html, ['markdown', 'links', 'images'], { onlyMainContent: true });
    expect(page.markdown).toContain('[told](http://site.test/told)');
    expect(page).toMatchObject({ links: ['http://site.test/told'], images: ['http://site.test/told.png'] });
  });

  it('resolves links against a base element', () => {
    expect(documentOf('<base href="/other/"><a href=x>1</a>', ['links']).links).toEqual(['http://site.test/other/x']);
  });

  it('lists images: all candidates, the widest first, lazy sources, pictures, no embedded data', () => {
    const html =
      '<img src=a.png srcset="b.png 100w, c.png 200w"><img src="data:image/gif;base64,x" data-src=lazy.png>' +
      '<picture><source srcset="p.webp 1x, q.webp 2x"><img src=q.jpg></picture><img src="data:image/png;base64,y"><img src=a.png#x>';
    const names = ['c.png', 'a.png', 'b.png', 'lazy.png', 'q.webp', 'p.webp', 'q.jpg'];
    const found = names.map((name) => `http://site.test/dir/${name}`);
    expect(documentOf(html, ['images']).images).toEqual(found);
  });

  it('lists images of noscript, posters, image buttons and backgrounds, in order, without counting pixels', () => {
    const html =
      '<video poster=1.png></video><input type=image src=2.png><div style="color: red; background: url(\'3.png\') no-repeat">x</div>' +
      '<img class=lazy src="data:image/gif;base64,x"><noscript><img src=4.png><img src=count.gif width=1 height=1></noscript>' +
      '<img src=/img/placeholder.gif data-lazy-src=5.png><picture><source data-srcset="6.webp 2x"><img src="data:image/gif;base64,x"></picture>';
    const found = [1, 2, 3, 4, 5].map((n) => `http://site.test/dir/${n}.png`);
    expect(documentOf(html, ['images']).images).toEqual([...found, 'http://site.test/dir/6.webp']);
  });

  it('lists images of drawings, of all layers of a background, and of rules in the page for what is shown', () => {
    const html =
      '<style>div > .hero:hover::before { background: url("1.png"), url(2.png) } @media print { .gone { background-image: url(no.png) } } .x { cursor: url(no.cur) } nav { background: url(nav.png) }</style>' +
      '<div><p class=hero>a</p></div><svg><image href=3.png /></svg><svg><image xlink:href=4.png /></svg>' +
      '<p style="background-image: url(5.png), linear-gradient(red, blue), url(\'6.png\')">b</p><nav>n</nav>';
    const found = [1, 2, 3, 4, 5, 6].map((n) => `http://site.test/dir/${n}.png`);
    expect(documentOf(html, ['images'], { excludeTags: ['nav'] }).images).toEqual(found);
  });

  it('lists images in time, whatever rules a page writes', () => {
    const rules = `${'b '.repeat(200)}:has(*) ~ i, i { background: url(x.png) }`.repeat(500);
    const html = `<style>${rules}</style>${'<b>'.repeat(400)}${'<i>x</i>'.repeat(20_000)}`;
    const startedAt = performance.now();
    expect(documentOf(html, ['images']).images).toEqual(['http://site.test/dir/x.png']);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it('keeps the text of a page that is links else', () => {
    const links = Array.from({ length: 40 }, (_, i) => `<a href="/p/${i}">page ${i}</a>`).join(' ');
    const html = `<title>Page 3</title><main><p>Text of page 3.</p></main>${links}`;
    expect(documentOf(html, ['markdown'], { onlyMainContent: true }).markdown).toContain('Text of page 3.');
  });

  it('keeps a page of a few words whole', () => {
    const html = '<h1>Ferry</h1><p><a href=/times>Times</a></p><ol><li>North</li><li>South</li></ol>';
    expect(documentOf(html, ['markdown'], { onlyMainContent: true }).markdown).toBe(
      '# Ferry\n\n[Times](http://site.test/times)\n\n1. North\n2. South',
    );
  });

  it('lists links and images of the main content only, when asked for that', () => {
    const text = `<p>${words(80)}</p>`;
    const html = `<nav><a href=/n>n</a><img src=n.png></nav><article><h1>T</h1>${text}<p>${words(20)} <a href=/a>a</a> ${words(20)}</p><img src=a.png>${text}</article>`;
    const page = documentOf(html, ['links', 'images'], { onlyMainContent: true });
    expect(page.links).toEqual(['http://site.test/a']);
    expect(page.images).toEqual(['http://site.test/dir/a.png']);
  });

  it('lists links of image maps', () => {
    const html = '<map><area href=/x></map><a href=/y>y</a><nav hidden><map><area href="#"></map></nav>';
    expect(documentOf(html, ['links']).links).toEqual(['http://site.test/x', 'http://site.test/y']);
  });
});

describe('attributes', () => {
  const attributesOf = (
    html: string,
    pairs: [selector: string, attribute: string][],
    changes: Partial<ConvertRequest> = {},
  ): PageDocument => {
    const selectors = pairs.map(([selector, attribute]) => ({ selector, attribute }));
    const spec = {
      ...pageRequest('').spec,
      formats: [{ type: 'attributes' as const, selectors }],
      onlyMainContent: true,
    };
    return convert(html, { spec, ...changes }).page;
  };

  it('are decoded values in document order, one entry per pair, from all of the page', () => {
    const html =
      '<head><meta name=a content="1"></head><nav><i data-x="n">1</i></nav><main><i data-x="a&amp;b">2</i><i>3</i><i DATA-X>4</i></main>';
    expect(
      attributesOf(html, [
        ['i', 'data-x'],
        ['meta', 'Content'],
        ['b', 'id'],
      ]).attributes,
    ).toEqual([
      { selector: 'i', attribute: 'data-x', values: ['n', 'a&b', ''] },
      { selector: 'meta', attribute: 'Content', values: ['1'] },
      { selector: 'b', attribute: 'id', values: [] },
    ]);
  });

  it('leave addresses as they are written', () => {
    expect(attributesOf('<a href="../x?a=1&amp;b">x</a>', [['a', 'href']]).attributes?.[0]?.values).toEqual([
      '../x?a=1&b',
    ]);
  });

  it('are cut off with a warning where there are too many', () => {
    const page = attributesOf('<i id=a></i>'.repeat(10_001), [['i', 'id']]);
    expect(page.attributes?.[0]?.values).toHaveLength(10_000);
    expect(page.warning).toMatch(/cut off at 10000 values/);
    const long = attributesOf(`<i id="${'a'.repeat(3_000_000)}"></i><b id="${'b'.repeat(3_000_000)}"></b>`, [
      ['i', 'id'],
      ['b', 'id'],
    ]);
    expect(long.attributes?.map(({ values }) => values.length)).toEqual([1, 0]);
    expect(long.warning).toMatch(/cut off/);
  });

  it('of what is no page are empty', () => {
    const page = attributesOf('{"a":1}', [['a', 'href']], { contentType: 'application/json' });
    expect(page).toEqual({
      attributes: [{ selector: 'a', attribute: 'href', values: [] }],
      metadata: page.metadata,
    });
  });

  it('with a bad selector are refused, naming it', () => {
    expect(codeOf(() => attributesOf('<p>x', [['p >', 'id']]))).toBe('BAD_REQUEST');
    expect(checkSelector('p >')).toContain('"p >"');
    expect(checkSelector('p > a[href^="x"]')).toBeNull();
  });
});

it('a text has no branding, and says so', () => {
  const spec = { ...pageRequest('').spec, formats: [{ type: 'branding' as const }] };
  const { page } = convert('a text', { contentType: 'text/plain', spec });
  expect(page).toEqual({ warning: 'Only HTML pages have a branding.', metadata: page.metadata });
});

describe('metadata', () => {
  it('has the known keys under their names, other metas under theirs', () => {
    const metadata = metadataOf(
      `<html lang="de-AT"><head><title> A\n b </title><meta name="Description" content="one"><meta name=description content="two">
      <meta property="og:title" content="o"><meta property="og:locale:alternate" content="fr"><meta property="og:locale:alternate" content="it">
      <meta name="DC.date" content="d"><meta name="dcterms.created" content="c"><meta property="article:published_time" content="p">
      <meta name="author" content="x"><meta property="article:author" content="y"><meta property="article:author" content="z">
      <meta itemprop="price" content="5"><link rel="shortcut icon" href="/fav.png"><meta name="__proto__" content="q"></head>`,
    );
    expect(metadata).toMatchObject({
      title: 'A b',
      language: 'de-AT',
      description: 'one, two',
      ogTitle: 'o',
      ogLocaleAlternate: ['fr', 'it'],
      dcDate: 'd',
      dcTermsCreated: 'c',
      publishedTime: 'p',
      author: 'x',
      'article:author': ['y', 'z'],
      price: '5',
      favicon: 'http://site.test/fav.png',
    });
  });

  it('never lets a page set a reserved key, present in the response or not', () => {
    const metadata = metadataOf(
      '<meta name=statusCode content=1><meta name=url content=evil><meta name=cacheState content=hit>',
    );
    expect(metadata).toMatchObject({ statusCode: 200, url: 'http://site.test/dir/page.html' });
    expect(metadata).not.toHaveProperty('cacheState');
  });

  it('reports refresh within 5 s and canonical, absolute', () => {
    const page = (delay: string): string =>
      `<meta http-equiv=Refresh content="${delay}; URL='next'"><link rel=canonical href=/c>x`;
    expect(convert(page('0'))).toMatchObject({
      refreshUrl: 'http://site.test/dir/next',
      canonicalUrl: 'http://site.test/c',
    });
    expect(convert(page('6')).refreshUrl).toBeNull();
    expect(convert('<meta http-equiv=refresh content=5>x').refreshUrl).toBeNull();
  });
});

describe('outlinks', () => {
  it('are canonical, in scope, distinct and in document order; the rest is counted by rule', () => {
    const html =
      '<nav><a href="/b#x">1</a></nav><a href="../a">2</a><a href="/b">3</a><a href="http://other.test/">4</a><a href="mailto:x@y">5</a><a href="#t">6</a>';
    const { outlinks, excluded } = convert(html, discover());
    expect(outlinks.map(({ url }) => url)).toEqual(['http://site.test/b', 'http://site.test/a']);
    expect(outlinks.every(({ h }) => /^[0-9a-f]{16}$/.test(h))).toBe(true);
    expect(excluded.byRule).toEqual({ external: 1, scheme: 1 });
    expect(excluded.sample.map(({ rule }) => rule)).toEqual(['external', 'scheme']);
  });

  it('include area and frame targets and do not depend on the document options', () => {
    const html = '<p>x<map><area href=/area></map><a href=/a>a</a></p>';
    const spec = { ...pageRequest('').spec, includeTags: ['b'] };
    expect(convert(html, { ...discover(), spec }).outlinks.map(({ url }) => url)).toEqual([
      'http://site.test/area',
      'http://site.test/a',
    ]);
    expect(convert('<frameset><frame src=/f></frameset>', discover()).outlinks).toHaveLength(1);
  });

  it('finds routes of an application in rendered pages only', () => {
    const html =
      '<a href="#/users/7">a</a><a href="/app#!about">b</a><a href="#top">c</a><a href="#/">d</a><a href="/p#x">e</a>';
    const found = (rendered: boolean) => convert(html, { ...discover(), rendered }).outlinks.map(({ url }) => url);
    const { url } = pageRequest('');
    const origin = new URL(url).origin;
    const page = url.split('#')[0];
    expect(found(true)).toEqual([`${page}#/users/7`, `${origin}/app#!about`, page, `${origin}/p`]);
    expect(found(false)).toEqual([`${origin}/app`, `${origin}/p`]);
  });

  it('stop at the cap', () => {
    const html = Array.from({ length: 10_000 }, (_, i) => `<a href=/${i}>x</a>`).join('');
    expect(convert(html, discover({ maxLinks: 50 })).outlinks).toHaveLength(50);
  });

  it('of nofollow are not followed when robots are obeyed', () => {
    const html = '<a rel="nofollow ugc" href=/a>a</a><a href=/b>b</a><a rel=nofollow href=/b>b</a>';
    const { outlinks, excluded } = convert(html, discover());
    expect(outlinks.map(({ url }) => url)).toEqual(['http://site.test/b']);
    expect(excluded.byRule).toEqual({ nofollow: 1 });
    expect(convert(html, discover({ obeyNofollow: false })).outlinks).toHaveLength(2);
  });

  it.each([
    ['<meta name=robots content="noindex, NoFollow"><a href=/a>a</a>', null, 0],
    ['<meta name=robots content=none><a href=/a>a</a>', null, 0],
    ['<a href=/a>a</a>', 'noindex, nofollow', 0],
    ['<a href=/a>a</a>', 'otherbot: nofollow', 1],
    ['<a href=/a>a</a>', 'unavailable_after: 25 Jun 2030 15:00:00 PST, nofollow', 0],
  ])('follow the wishes of the whole page: %s %s', (html, robotsTag, count) => {
    expect(convert(html, { ...discover(), robotsTag }).outlinks).toHaveLength(count);
  });

  it('are one hop further from the seed than their page', () => {
    const scope = { ...SCOPE, maxDepth: 2 };
    const found = (depth: number) => convert('<a href=/a>a</a>', discover({ scope, depth }));
    expect(found(1).outlinks).toHaveLength(1);
    expect(found(2).outlinks).toEqual([]);
    expect(found(2).excluded.byRule).toEqual({ depth: 1 });
  });

  it('are cut down by ignoreQueryParameters before they are compared', () => {
    const scope = { ...SCOPE, ignoreQueryParameters: true };
    const { outlinks } = convert('<a href="/a?x=1">1</a><a href="/a?x=2">2</a>', discover({ scope }));
    expect(outlinks.map(({ url }) => url)).toEqual(['http://site.test/a']);
  });
});

describe('the verdict', () => {
  const verdictOf = (html: string, changes: Partial<ConvertRequest> = {}): string => convert(html, changes).verdict;

  it.each([
    ['<div id=root></div><script src=/app.js></script>', 'shell'],
    ['<app-root></app-root><script src=/main.js></script>', 'shell'],
    [
      '<noscript>You need to enable JavaScript to run this app.</noscript><div id=x></div><script src=a></script>',
      'shell',
    ],
    ['<p>Loading…</p><script src=/x.js></script>', 'shell'],
    [`<div id=root><p>${words(100)}</p></div><script src=/app.js></script>`, 'content'],
    ['<p>Short but complete page without scripts.</p>', 'content'],
    ['<img src=photo.jpg><script>1</script>', 'content'],
    ['<hr>', 'content'],
    ['<hr><script src=/app.js></script>', 'shell'],
    [
      '<title>Just a moment...</title><p>Checking</p><script src="/cdn-cgi/challenge-platform/x.js"></script>',
      'challenge',
    ],
    ['<title>Just a moment of history</title><p>A page about moments.</p>', 'content'],
    ['', 'empty'],
    ['<html><head><title>t</title></head><body> <script>1</script></body></html>', 'shell'],
    ['<html><body><p> </p></body></html>', 'empty'],
  ])('of %s is %s', (html, verdict) => {
    expect(verdictOf(html)).toBe(verdict);
  });

  it('of a rendered page or an error page is never shell', () => {
    const html = '<div id=root></div><script src=/app.js></script>';
    expect(verdictOf(html, { rendered: true })).toBe('empty');
    expect(verdictOf('<p>Not found</p><script src=/x.js></script>', { statusCode: 404 })).toBe('content');
  });

  it('of an ordinary page behind a bot wall is content', () => {
    const html =
      '<title>Not found</title><p>No such page.</p><script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script>';
    expect(verdictOf(html, { statusCode: 404 })).toBe('content');
    expect(
      verdictOf(`<p>${words(30)}</p><script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script>`),
    ).toBe('content');
  });

  it('of a refusal with a captcha is challenge', () => {
    expect(verdictOf('<p>Please prove it</p><div class="g-recaptcha"></div>', { statusCode: 403 })).toBe('challenge');
  });

  it('of a page with plenty of text is content whatever it embeds', () => {
    expect(
      verdictOf(`<title>Access denied</title><p>${words(400)}</p><div class=g-recaptcha></div>`, { statusCode: 403 }),
    ).toBe('content');
  });
});

describe('the selection', () => {
  const paragraphs = `<p>${words(60)}</p><p>${words(60)}</p>`;
  const page = `<header><a href=/>Home</a></header><nav><ul><li><a href=/1>One</a></ul></nav><div class=content><h1>T</h1>${paragraphs}</div>
    <div class="sidebar-related"><a href=/r>Rel</a></div><footer>Foot</footer>`;

  it('of main content leaves out header, navigation, sidebars and footer', () => {
    const markdown = markdownOf(page, { onlyMainContent: true });
    expect(markdown).toContain('# T');
    expect(markdown).toContain('word59');
    for (const chrome of ['Home', 'One', 'Rel', 'Foot']) expect(markdown).not.toContain(chrome);
  });

  it('of the whole page has everything', () => {
    const markdown = markdownOf(page);
    for (const part of ['Home', 'One', 'Rel', 'Foot', '# T']) expect(markdown).toContain(part);
  });

  it('falls back to the whole page when main content is empty', () => {
    expect(markdownOf('<nav><a href=/a>Only navigation</a></nav>', { onlyMainContent: true })).toContain(
      'Only navigation',
    );
  });

  it('does not believe a class name that would take most of the page', () => {
    expect(
      markdownOf(`<div class="sidebar">${paragraphs}</div><p>${words(30)}</p>`, { onlyMainContent: true }),
    ).toContain('word59');
  });

  it('includes first, then excludes, and named tags win over the guess', () => {
    const html = '<nav class=x><b>a</b><i>b</i></nav><p>c</p>';
    expect(markdownOf(html, { includeTags: ['nav'], excludeTags: ['i'], onlyMainContent: true })).toBe('**a**');
    expect(markdownOf(html, { includeTags: ['none'] })).toBe('');
  });

  it.each([
    ['.a', '<p class="b a">x</p><p>y</p>'],
    ['#a', '<p id=a>x</p><p>y</p>'],
    ['div > p:first-child', '<div><p>x</p><p>y</p></div>'],
    ['p:not(.k)', '<p>x</p><p class=k>y</p>'],
    ['p:nth-child(2n+1)', '<p>x</p><p>y</p>'],
    ['h2 + p', '<h2 hidden></h2><p>x</p><p>y</p>'],
    ['h2 ~ p', '<p>y</p><h2></h2><p>x</p>'],
    ['[data-x^="ab" i]', '<p data-x=ABC>x</p><p data-x=c>y</p>'],
    ['div:has(> b)', '<div><b>x</b></div><p>y</p>'],
    ['iframe', '<div data-iframe-src="/f">x</div><p>y</p>'],
    ['p:has(b), em', '<p><b>x</b></p><p>y</p>'],
  ])('of includeTags understands %s', (selector, html) => {
    expect(markdownOf(html, { includeTags: [selector] }).replaceAll('*', '')).toBe('x');
  });

  it('of excludeTags understands *pattern* over tag names and attributes, whatever the case', () => {
    const html = '<p class="Ad-Banner">a</p><p data-ad>b</p><x-ad>c</x-ad><p>d</p>';
    expect(markdownOf(html, { excludeTags: ['*AD*'] })).toBe('d');
    expect(markdownOf('<p id=ad-1>a</p><p id=ad-x>b</p>', { excludeTags: ['*ad-[0-9]+*'] })).toBe('b');
  });

  it.each(['[', 'p:hover(', 'a || b', ':frobnicate', '', '*(*'])('refuses the selector "%s"', (selector) => {
    expect(codeOf(() => markdownOf('<p>x</p>', { excludeTags: [selector] }))).toBe('BAD_REQUEST');
  });
});

describe('other content', () => {
  const markdown = (body: string | Uint8Array, contentType: string | null): string | undefined =>
    convert(body, { contentType }).page.markdown;

  it('is one fenced block for JSON and passes through for plain text', () => {
    expect(markdown('{"a":1}\n', 'application/ld+json; charset=utf-8')).toBe('```json\n{"a":1}\n```');
    expect(markdown('a <b>\n c', 'text/plain')).toBe('a <b>\n c');
  });

  it.each([
    ['image/png', 'x'],
    ['application/pdf', '%PDF-1.7'],
    ['text/html', '%PDF-1.7'],
    ['application/zip', 'x'],
    [null, 'a\0b'],
    ['application/octet-stream', '\u0001\u0007abc'],
  ])('of type %s with bytes "%s" is refused when it is no text', (contentType, body) => {
    expect(codeOf(() => convert(body, { contentType }))).toBe('SCRAPE_UNSUPPORTED_FILE_ERROR');
  });

  it('of a type of XML is a page when it is HTML, else one fenced block', () => {
    const page = '<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x"><body><h1>a</h1>';
    for (const type of ['application/xml', 'text/xml; charset=utf-8', 'application/rdf+xml']) {
      expect(markdown(page, type)).toBe('# a');
      expect(markdown('<html xmlns="http://www.w3.org/1999/xhtml"><h1>a</h1></html>', type)).toBe('# a');
      expect(markdown('<feed><headline>a</headline></feed>', type)).toContain('```xml');
    }
  });

  it('without a type is recognised by its first bytes', () => {
    expect(markdown('<!DOCTYPE html><h1>a</h1>', null)).toBe('# a');
    expect(markdown('{"a":1}', 'application/octet-stream')).toContain('```json');
    expect(markdown('<?xml version="1.0"?><r/>', null)).toContain('```xml');
  });
});

describe('the charset', () => {
  const text = (bytes: Uint8Array, contentType: string | null): string | undefined =>
    convert(bytes, { contentType }).page.markdown;
  const latin = (value: string): Buffer => Buffer.from(value, 'latin1');

  it.each([
    ['BOM before header', Buffer.from('\ufeff<p>ä</p>'), 'text/html; charset=iso-8859-1', 'ä'],
    [
      'UTF-16 by BOM, high bytes first',
      Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from('<p>ä</p>', 'utf16le').swap16()]),
      'text/html',
      'ä',
    ],
    ['a label of UTF-16 that can be read as ASCII', Buffer.from('<meta charset=utf-16><p>ä</p>'), 'text/html', 'ä'],
    ['UTF-16LE likewise', Buffer.from('<meta charset="UTF-16LE"><p>ä</p>'), 'text/html', 'ä'],
    ['UTF-16 by BOM', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('<p>ä</p>', 'utf16le')]), 'text/html', 'ä'],
    ['header before meta', latin('<meta charset=utf-8><p>\xe4</p>'), 'text/html; charset="ISO-8859-1"', 'ä'],
    [
      'meta',
      latin('<meta http-equiv=content-type content="text/html; charset=windows-1251"><p>\xe4</p>'),
      'text/html',
      'д',
    ],
    ['valid UTF-8 without a label', Buffer.from('<p>ä€</p>'), 'text/html', 'ä€'],
    ['windows-1252 without a label', latin('<p>\xe4 \x80 \x93x\x94</p>'), 'text/html', 'ä € “x”'],
    ['windows-1252 under the name of Latin-1', latin('<p>\x80</p>'), 'text/html; charset=latin1', '€'],
    ['an unknown name', Buffer.from('<p>ä</p>'), 'text/html; charset=klingon', 'ä'],
    ['broken bytes', Buffer.from([0x3c, 0x70, 0x3e, 0x61, 0xff, 0x62]), 'text/html; charset=utf-8', 'a\ufffdb'],
    [
      'NUL characters',
      Buffer.from(`<p>${'a'.repeat(1100)}\0b</p>`),
      'text/html; charset=utf-8',
      `${'a'.repeat(1100)}b`,
    ],
    ['shift_jis', Buffer.from([0x3c, 0x70, 0x3e, 0x93, 0xfa]), 'text/html; charset=Shift_JIS', '日'],
    [
      'every length of UTF-8',
      Buffer.from('<p>a é 漢 😀 bcdefgh é\u0800\uffff\u{10ffff}'),
      'text/html',
      'a é 漢 😀 bcdefgh é\u0800\uffff\u{10ffff}',
    ],
    ['a long page', Buffer.from(`<p>${'é'.repeat(600_000)}`), 'text/html', 'é'.repeat(600_000)],
  ])('is found: %s', (_name, bytes, contentType, expected) => {
    expect(text(bytes, contentType)).toBe(expected);
  });
});

it('the html format has all of a page of many elements', () => {
  const html = '<i>x</i>'.repeat(40_000);
  expect(documentOf(html, ['html']).html).toBe(html);
});
