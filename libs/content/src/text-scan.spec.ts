import { describe, expect, it } from '@jest/globals';
import { decodeOrdinary } from './references.js';
import { FOUND, scanNode, scanText } from './text-scan.js';

const scan = (text: string): number => scanText(text, 0, text.length) & ~FOUND.scanned;

describe('scanText', () => {
  it('finds what a writer has to change', () => {
    expect(scan('Plain words, “quoted” – and naïve.')).toBe(0);
    expect(scan('two  spaces')).toBe(FOUND.wideSpace);
    expect(scan('a\nline')).toBe(FOUND.wideSpace);
    expect(scan('a*b')).toBe(FOUND.markup);
    expect(scan('a & b')).toBe(FOUND.entity);
    expect(scan('5 $')).toBe(FOUND.tex);
    expect(scan('\\(')).toBe(FOUND.tex | FOUND.markup);
    expect(scan('a\u00a0b')).toBe(FOUND.wideSpace | FOUND.other);
    for (const c of '\u00ad\u200b\u2060\u3000\u4e2d\ufeff') expect(scan(c)).toBe(FOUND.other);
    expect(scan('\u{1f600}')).toBe(0);
  });

  it('leaves the ends of a text node out and counts its characters', () => {
    const lengths = new Int32Array(2);
    expect(scanNode('<p>\n  a b\t</p>', 3, 10, 1, lengths)).toBe(FOUND.scanned);
    expect([...lengths]).toEqual([0, 2]);
    expect(scanNode('<p> \n </p>', 3, 6, 0, lengths)).toBe(FOUND.blank | FOUND.scanned);
  });
});

describe('decodeOrdinary', () => {
  const decode = (raw: string): string | undefined => decodeOrdinary(raw, scanText(raw, 0, raw.length))?.text;

  it('decodes references to ordinary characters', () => {
    expect(decode('na&iuml;ve &#8220;caf&#xe9;&rdquo;')).toBe('naïve “café”');
    expect(decode('a &lt;b> &notit;')).toBe('a <b> ¬it;');
  });

  it('says what the characters are', () => {
    const found = (raw: string): number => decodeOrdinary(raw, scanText(raw, 0, raw.length))!.found & ~FOUND.scanned;
    expect(found('caf&eacute;')).toBe(0);
    expect(found('a &amp; b')).toBe(FOUND.entity);
    expect(found('a &lt; b')).toBe(FOUND.markup);
  });

  it('leaves everything else to the whole decoder', () => {
    const others = [
      'a & b',
      'a&nbsp;b',
      'a&#32;b',
      'a&#10;b',
      'a&shy;b',
      '&copy 2020',
      'a &amp',
      `&${'a'.repeat(40)};`,
      '&#92;(x',
    ];
    for (const raw of others) expect(decode(raw)).toBe(undefined);
  });
});
