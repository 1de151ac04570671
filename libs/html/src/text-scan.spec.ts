import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import wabt from 'wabt';
import { decodeOrdinary } from './references.js';
import { TEXT_SCAN_WASM } from './text-scan.data.js';
import { FOUND, SIGNS, scanNode, scanNodes, scanText, type OwnTexts } from './text-scan.js';

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

const ownTexts = (nodes: number): OwnTexts => ({
  ownText: new Int32Array(nodes),
  ownFound: new Uint8Array(nodes),
  ownWords: new Int32Array(nodes),
  ownSentences: new Int32Array(nodes),
  ownSigns: new Uint8Array(nodes),
});

type Scan = (source: string, ranges: { from: Int32Array; to: Int32Array }, own: OwnTexts) => void;

describe.each<[string, Scan]>([
  ['scanNode', (source, ranges, own) => scanNode(source, ranges, 0, own)],
  ['scanNodes', (source, ranges, own) => scanNodes(source, ranges, Int32Array.of(0), own)],
])('%s', (_, scanOne) => {
  const own = (text: string): { found: number; chars: number; words: number; sentences: number; signs: number } => {
    const texts = ownTexts(1);
    const source = `<p>${text}</p>`;
    scanOne(source, { from: Int32Array.of(3), to: Int32Array.of(source.length - 4) }, texts);
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

describe('scanNodes of many texts', () => {
  const unit = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...'abz. ') },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: 127 }).map((c) => String.fromCharCode(c)) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('\u00a0', '\u00ad', '\u20ac', '\u3002', '\u4e2d', '\u00fc', '\ud83d', '\uffff'),
    },
  );
  const text = fc.array(unit, { maxLength: 70 }).map((units) => units.join(''));

  /** Nodes 0, 2, 4, … are the texts, in an order of their own. */
  const scanAll = (texts: readonly string[]): { together: OwnTexts; alone: OwnTexts } => {
    const source = texts.map((one) => `<${one}>`).join('');
    const ranges = { from: new Int32Array(2 * texts.length), to: new Int32Array(2 * texts.length) };
    let at = 0;
    texts.forEach((one, i) => {
      ranges.from[2 * i] = at + 1;
      ranges.to[2 * i] = at + 1 + one.length;
      at += one.length + 2;
    });
    const nodes = Int32Array.from(texts, (_, i) => 2 * i).sort((a, b) => ((a * 7) % 11) - ((b * 7) % 11) || a - b);
    const together = ownTexts(2 * texts.length);
    const alone = ownTexts(2 * texts.length);
    scanNodes(source, ranges, nodes, together);
    for (const node of nodes) scanNode(source, ranges, node, alone);
    return { together, alone };
  };

  it('says of each what `scanNode` says', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 30 }), (texts) => {
        const { together, alone } = scanAll(texts);
        expect(together).toEqual(alone);
      }),
      { numRuns: 1000 },
    );
  });

  it('says it of long texts and of more than fit into its memory at once', () => {
    const sentences = Array.from({ length: 3000 }, (_, i) => `Sentence ${i} costs $5.\u00a0 `).join('');
    const texts = ['first', sentences.repeat(5), 'second.', sentences, ...Array.from({ length: 40_000 }, () => 'a b')];
    const { together, alone } = scanAll(texts);
    expect(together).toEqual(alone);
    expect([together.ownWords[2], together.ownWords[6], together.ownWords.at(-2)]).toEqual([60_000, 12_000, 2]);
  });

  it('is what text-scan.wat says', async () => {
    const source = readFileSync('libs/html/src/text-scan.wat', 'utf8');
    const { buffer } = (await wabt()).parseWat('text-scan.wat', source).toBinary({});
    expect(Buffer.from(buffer).toString('base64')).toBe(TEXT_SCAN_WASM);
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
