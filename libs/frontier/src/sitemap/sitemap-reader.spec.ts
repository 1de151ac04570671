import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { MAX_SITEMAP_CHARS, MAX_SITEMAP_ITEMS, SitemapReader } from './sitemap-reader.js';
import type { SitemapItem } from './sitemap-syntax.js';

interface Reading {
  items: SitemapItem[];
  broken: boolean;
}

function read(...pieces: string[]): Reading {
  const reader = new SitemapReader();
  const items = pieces.flatMap((piece) => reader.write(piece));
  items.push(...reader.end());
  return { items, broken: reader.broken };
}

function locs(text: string): string[] {
  return read(text).items.map((item) => item.loc);
}

const urlset = (body: string, attributes = '') =>
  `<?xml version="1.0" encoding="UTF-8"?><urlset ${attributes}>${body}</urlset>`;
const url = (loc: string) => `<url><loc>${loc}</loc></url>`;

describe('an XML sitemap', () => {
  it('yields the addresses of a url set in order, and nothing else of it', () => {
    const text = urlset(
      `<!-- <url><loc>https://example.com/comment</loc></url> -->
       <url><loc>https://example.com/a</loc><lastmod>2024-01-01</lastmod><priority>0.5</priority></url>
       <url><priority>1</priority><loc>
         https://example.com/b
       </loc></url><loc>https://example.com/stray</loc>`,
      'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"',
    );
    expect(read(text)).toEqual({
      items: [
        { type: 'url', loc: 'https://example.com/a' },
        { type: 'url', loc: 'https://example.com/b' },
      ],
      broken: false,
    });
  });

  it('yields the children of an index as sitemaps', () => {
    const text =
      '<sitemapindex><sitemap><loc>https://example.com/1.xml</loc></sitemap><sitemap><loc>https://example.com/2.xml.gz</loc></sitemap></sitemapindex>';
    expect(read(text).items).toEqual([
      { type: 'sitemap', loc: 'https://example.com/1.xml' },
      { type: 'sitemap', loc: 'https://example.com/2.xml.gz' },
    ]);
  });

  it('is understood with prefixes, and the addresses of its images and videos are not pages', () => {
    const text = `<s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="i" xmlns:video="v">
      <s:url><s:loc>https://example.com/a</s:loc><image:image><image:loc>https://example.com/i.png</image:loc></image:image>
      <video:video><video:content_loc>https://example.com/v.mp4</video:content_loc></video:video></s:url></s:urlset>`;
    expect(read(text)).toEqual({ items: [{ type: 'url', loc: 'https://example.com/a' }], broken: false });
  });

  it('is read in any letter case of its elements', () => {
    expect(locs('<URLSET><URL><LOC>https://example.com/a</LOC></URL></URLSET>')).toEqual(['https://example.com/a']);
  });

  it('resolves the five entities, character references and CDATA', () => {
    const text = urlset(
      url('https://example.com/?a=1&amp;b=2&#38;c=3&#x26;d') +
        url('<![CDATA[https://example.com/?e=1&f=2]]>') +
        url('https://example.com/&lt;&gt;&quot;&apos;'),
    );
    expect(read(text)).toEqual({
      items: [
        { type: 'url', loc: 'https://example.com/?a=1&b=2&c=3&d' },
        { type: 'url', loc: 'https://example.com/?e=1&f=2' },
        { type: 'url', loc: 'https://example.com/<>"\'' },
      ],
      broken: false,
    });
  });

  it('expands no entity of its own, so that a bomb stays small', () => {
    const levels = Array.from({ length: 10 }, (_, i) => `<!ENTITY b${i + 1} "${`&b${i};`.repeat(10)}">`).join('');
    const text = `<!DOCTYPE urlset [<!ENTITY b0 "boom"><!ENTITY x SYSTEM "file:///etc/passwd">${levels}]>${urlset(url('https://example.com/&b10;') + url('https://example.com/&x;') + url('https://example.com/ok'))}`;
    const found = locs(text.replace('<?xml version="1.0" encoding="UTF-8"?>', ''));
    expect(found).toContain('https://example.com/ok');
    expect(found.join(' ')).not.toMatch(/boom|root:/);
    expect(found.join(' ').length).toBeLessThan(500);
  });

  it('yields what was complete when it ends in the middle, and says that it is broken', () => {
    const text = urlset(url('https://example.com/a') + url('https://example.com/b'));
    expect(read(text.slice(0, text.indexOf('/b')))).toEqual({
      items: [{ type: 'url', loc: 'https://example.com/a' }],
      broken: true,
    });
  });

  it('takes an ampersand that was not escaped for one that was', () => {
    const text = urlset(url('https://example.com/?a=1&b=2&nbsp;') + url('https://example.com/b'));
    expect(read(text)).toEqual({
      items: [
        { type: 'url', loc: 'https://example.com/?a=1&b=2&nbsp;' },
        { type: 'url', loc: 'https://example.com/b' },
      ],
      broken: false,
    });
  });

  it('may begin with a byte order mark and white space', () => {
    expect(read('\uFEFF\n ', `\n${urlset(url('https://example.com/a'))}`)).toEqual({
      items: [{ type: 'url', loc: 'https://example.com/a' }],
      broken: false,
    });
  });

  it('survives an HTML page in its place', () => {
    expect(
      read(
        '<!doctype html><html><head><title>Not found</title><meta charset=utf-8></head><body><p>Sorry &amp; bye</html>',
      ).items,
    ).toEqual([]);
  });

  it('stops where elements are nested without end', () => {
    expect(read(`<urlset>${'<url>'.repeat(100_000)}<loc>https://example.com/a</loc>`)).toEqual({
      items: [],
      broken: true,
    });
  });
});

describe('a feed', () => {
  it('yields the links of RSS items, not of its channel', () => {
    const text =
      '<rss><channel><link>https://example.com/</link><item><link>https://example.com/a</link></item></channel></rss>';
    expect(locs(text)).toEqual(['https://example.com/a']);
  });

  it('yields the alternate links of Atom entries', () => {
    const text = `<feed><link href="https://example.com/"/><entry><link rel="self" href="https://example.com/self"/>
      <link href="https://example.com/a"/><link rel="alternate" href=" https://example.com/b "/></entry></feed>`;
    expect(locs(text)).toEqual(['https://example.com/a', 'https://example.com/b']);
  });
});

describe('an article of a feed', () => {
  it('has its title, wherever that stands, and none of its images or of the channel', () => {
    const text = `<rss><channel><title>All</title>
      <item><title> First\n  &amp; foremost </title><link>https://example.com/a</link></item>
      <item><link>https://example.com/b</link><media:group><media:title>Image</media:title></media:group></item>
      <item><link>https://example.com/c</link><title><![CDATA[Third]]></title></item></channel></rss>`;
    expect(read(text).items).toEqual([
      { type: 'url', loc: 'https://example.com/a', inFeed: true, title: 'First & foremost' },
      { type: 'url', loc: 'https://example.com/b', inFeed: true },
      { type: 'url', loc: 'https://example.com/c', inFeed: true, title: 'Third' },
    ]);
    const atom = `<feed><entry><link href="https://example.com/a"/><title type="html">One</title></entry></feed>`;
    expect(read(atom).items).toEqual([{ type: 'url', loc: 'https://example.com/a', inFeed: true, title: 'One' }]);
  });

  it('is not told when the feed ends in its middle', () => {
    expect(read('<rss><item><link>https://example.com/a</link>').items).toEqual([]);
  });
});

describe('a text sitemap', () => {
  it('holds one absolute URL a line, other lines are passed over', () => {
    expect(
      read(
        '\uFEFFhttps://example.com/a\r\n# comment\r\n\r\n  HTTP://example.com/b  \rnot a url\nhttps://example.com/c d\nhttps://example.com/e',
      ),
    ).toEqual({
      items: ['https://example.com/a', 'HTTP://example.com/b', 'https://example.com/e'].map((loc) => ({
        type: 'url',
        loc,
      })),
      broken: false,
    });
  });

  it('with one endless line yields nothing and keeps nothing', () => {
    const reader = new SitemapReader();
    for (let i = 0; i < 100; i++) expect(reader.write(`https://example.com/${'a'.repeat(10_000)}`)).toEqual([]);
    expect(reader.end()).toEqual([]);
  });
});

describe('any sitemap', () => {
  it('gives the same items however it is cut into pieces', () => {
    const texts = [
      urlset(
        url('https://example.com/?a=1&amp;b&c') +
          '<url><loc><![CDATA[https://example.com/d]]></loc></url>' +
          url('https://example.com/&#x65;'),
      ),
      '<sitemapindex><sitemap><loc>https://example.com/1.xml</loc></sitemap></sitemapindex>',
      'https://example.com/a\r\nhttps://example.com/b\n\nhttps://example.com/c',
    ];
    fc.assert(
      fc.property(fc.constantFrom(...texts), fc.array(fc.nat({ max: 250 }), { maxLength: 20 }), (text, cuts) => {
        const places = [0, ...cuts.filter((cut) => cut < text.length).sort((a, b) => a - b), text.length];
        const pieces = places.slice(1).map((end, i) => text.slice(places[i], end));
        expect(read(...pieces)).toEqual(read(text));
      }),
      { numRuns: 300 },
    );
  });

  it('never throws', () => {
    const tags = fc.constantFrom(
      '<url>',
      '</url>',
      '<loc>',
      '</loc>',
      '&',
      '&amp;',
      '<![CDATA[',
      ']]>',
      '<!--',
      '-->',
      '<',
      '>',
      'http://a/',
      '<?',
      '?>',
      '<!DOCTYPE a [',
      ']>',
      '\0',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(tags, fc.string()), { maxLength: 30 }), (pieces) => {
        expect(Array.isArray(read('<urlset>', ...pieces).items)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('is empty without text', () => expect(read('', ' \n')).toEqual({ items: [], broken: false }));

  it('leaves out empty and overlong addresses', () => {
    const text = urlset(url('') + url(`https://example.com/${'a'.repeat(2048)}`) + url('https://example.com/a'));
    expect(locs(text)).toEqual(['https://example.com/a']);
  });

  it(`is cut at ${MAX_SITEMAP_ITEMS} entries, and says so`, () => {
    const reader = new SitemapReader();
    let count = 0;
    for (let i = 0; i <= MAX_SITEMAP_ITEMS / 1000; i++) {
      count += reader.write(Array.from({ length: 1000 }, (_, k) => `https://example.com/${i}/${k}\n`).join('')).length;
    }
    expect(count).toBe(MAX_SITEMAP_ITEMS);
    expect(reader.broken).toBe(true);
    expect(reader.write('https://example.com/more\n')).toEqual([]);
  });

  it('is cut at its size, and says so', () => {
    const reader = new SitemapReader();
    const piece = `${'#'.repeat(1024 * 1024 - 1)}\n`;
    for (let size = 0; size <= MAX_SITEMAP_CHARS; size += piece.length) reader.write(piece);
    expect(reader.broken).toBe(true);
    expect(reader.write('https://example.com/more\n')).toEqual([]);
  });
});
