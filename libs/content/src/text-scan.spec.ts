import { describe, expect, it } from '@jest/globals';
import { decodeOrdinary } from './references.js';
import { FOUND, SIGNS, scanNode, scanText, type OwnTexts } from './text-scan.js';

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
});

describe('scanNode', () => {
  const own = (text: string): { found: number; chars: number; words: number; sentences: number; signs: number } => {
    const texts: OwnTexts = {
      ownText: new Int32Array(1),
      ownFound: new Uint8Array(1),
      ownWords: new Int32Array(1),
      ownSentences: new Int32Array(1),
      ownSigns: new Uint8Array(1),
    };
    const source = `<p>${text}</p>`;
    scanNode(source, 3, source.length - 4, 0, texts);
    return {
      found: texts.ownFound[0]! & ~FOUND.scanned,
      chars: texts.ownText[0]!,
      words: texts.ownWords[0]!,
      sentences: texts.ownSentences[0]!,
      signs: texts.ownSigns[0]!,
    };
  };

  it('leaves the ends of a text node out and counts its characters', () => {
    expect(own('\n  a b\t')).toEqual({ found: 0, chars: 2, words: 2, sentences: 0, signs: 0 });
    expect(own(' \n ')).toEqual({ found: FOUND.blank, chars: 0, words: 0, sentences: 0, signs: 0 });
    expect(own('')).toEqual({ found: FOUND.blank, chars: 0, words: 0, sentences: 0, signs: 0 });
    expect(own('a  b')).toMatchObject({ found: FOUND.wideSpace, words: 2 });
  });

  it('counts words and sentences, and knows a price', () => {
    expect(own('One. Two! Three')).toMatchObject({ words: 3, sentences: 2, signs: 0 });
    expect(own(' One... Two?\n')).toMatchObject({ words: 2, sentences: 2, signs: SIGNS.endsSentence });
    expect(own('version 1.2.3')).toMatchObject({ words: 2, sentences: 0 });
    expect(own('\u4e00\u3002\u4e8c\u3002')).toMatchObject({ words: 1, sentences: 2, signs: SIGNS.endsSentence });
    expect(own('from 5\u00a0\u20ac')).toMatchObject({ words: 3, signs: SIGNS.currency });
    expect(own('Only $5.\u00a0')).toMatchObject({ words: 2, sentences: 1, signs: SIGNS.currency | SIGNS.endsSentence });
  });

  it('takes a no-break space for a character of the text, but for no word', () => {
    expect(own('\u00a0')).toMatchObject({ chars: 1, words: 0, sentences: 0, signs: 0 });
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
