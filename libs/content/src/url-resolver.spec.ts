import { describe, expect, it } from '@jest/globals';
import { canonicalize } from '@troupe/frontier';
import { UrlResolver, withoutFragment } from './url-resolver.js';

const BASES = [
  'http://a.test/',
  'https://a.test:8443/x/y/z.html?q=1',
  'http://a.test/d//e/./f',
  'http://u:p@a.test/d/',
  'http://a.test./d/',
];
const PIECES = [
  'a',
  'B-1',
  '/',
  '//',
  '..',
  '.',
  '../',
  './',
  '?',
  'x=1',
  '&',
  '#',
  '%7e',
  '%zz',
  ' ',
  'ä',
  ':',
  'http://a.test/',
  '@',
  '+',
];
const MORE = [
  'index.html',
  ';',
  '\\',
  "'",
  '"',
  '|',
  '^',
  '{',
  'mailto:',
  'https://other.test',
  'https://other.test/',
  'http://a.b-c.Test/',
  'http://1.2.3.4/',
  'http://1.2.0x7/',
  'http://a..b/',
  'http://xn--a.test/',
  'https://other.test:443/',
  '-',
  '.hidden',
  '...',
  '(',
  ')',
  '!',
  '~',
  '\t',
];

function reference(text: string, base: string): string | null {
  try {
    return new URL(text, base).href;
  } catch {
    return null;
  }
}

describe('the short way to absolute links', () => {
  it('gives what the URL parser and canonicalisation give, on generated links', () => {
    const pieces = [...PIECES, ...MORE];
    let seed = 7;
    const next = (): number => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) >>> 8;
    for (const base of BASES) {
      const urls = new UrlResolver(base, null);
      for (let round = 0; round < 4000; round++) {
        const text = Array.from({ length: 1 + (next() % 5) }, () => pieces[next() % pieces.length]).join('');
        const link = urls.resolveLink(text);
        expect([base, text, link?.href ?? null]).toEqual([base, text, reference(text, base)]);
        if (link?.isCanonical)
          expect([text, withoutFragment(link.href)]).toEqual([text, canonicalize(withoutFragment(text), base)]);
      }
    }
  });

  it('is taken for ordinary links', () => {
    const urls = new UrlResolver('http://a.test/d/e/p.html', null);
    for (const href of ['/x/y?a=1', 'q.html#s', '../up.html', './same', 'http://a.test/z', 'sub/page']) {
      expect(urls.resolveLink(href)?.isCanonical).toBe(true);
    }
  });

  it('honours a base element, and the page URL when that is no URL', () => {
    expect(new UrlResolver('http://a.test/d/', 'http://b.test/e/').resolve('x')).toBe('http://b.test/e/x');
    expect(new UrlResolver('http://a.test/d/', 'http://[').resolve('x')).toBe('http://a.test/d/x');
  });
});
