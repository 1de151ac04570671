/**
 * Scans texts for characters that matter to a writer or a reader. Every character that a page shows is looked at:
 * WebAssembly does so sixteen at a time (`text-scan.wat`).
 */
import { TEXT_SCAN_WASM } from './text-scan.data.js';
import { instantiate, reserve, type Memory } from './wasm.js';

/** As bits. */
export const FOUND = {
  wideSpace: 1,
  /** A character that may need an escape. */
  markup: 2,
  /** An ampersand: in a source a character reference, in a text what may need an escape. */
  entity: 4,
  tex: 8,
  /** A space outside ASCII, an invisible or a wide character. */
  other: 16,
  /** White space alone, or nothing. */
  blank: 32,
  /** Set in every result, so that 0 means not looked at. */
  scanned: 64,
} as const;

/** Signs of a text node, as bits. */
export const SIGNS = {
  /** It names a price. */
  currency: 1,
  /** Its last character that is no white space ends a sentence. */
  endsSentence: 2,
} as const;

/** Findings in each text node by itself: one number per node, 0 for other nodes and for text that is never shown. */
export interface OwnTexts {
  /** Characters without white space. */
  readonly ownText: Int32Array;
  /** `FOUND` between the white space at the ends. */
  readonly ownFound: Uint8Array;
  /** Runs of characters without white space. */
  readonly ownWords: Int32Array;
  readonly ownSentences: Int32Array;
  /** Bits of `SIGNS`. */
  readonly ownSigns: Uint8Array;
}

/** Characters that count as white space between words: one bit, so that comparing neighbours counts runs. */
const SPACE = 1;
/** Ends a sentence when a space follows. */
const END = 2;
const CURRENCY = 4;
/** Ends a sentence, whatever follows. */
const STOP_BIT = 3;
const STOP = 1 << STOP_BIT;
/** From here on the bits of `FOUND`. */
const FOUND_BIT = 4;
const BLANK = 1 << 11;
/** Moves `BLANK` to the bit of `wideSpace`. */
const BLANK_TO_WIDE = 7;
const NO_BREAK_SPACE = 0xa0;
const SOFT_HYPHEN = 0xad;
/** Bits of each UTF-16 unit. */
const BITS_OF = new Uint16Array(65536).fill(SPACE, 0, 33);
const mark = (chars: string, bits: number): void => {
  for (const char of chars) BITS_OF[char.charCodeAt(0)]! |= bits;
};
mark(' ', BLANK);
mark('\u00a0', SPACE);
mark('.!?', END);
mark('\u3002\uff01\uff1f\u0964', STOP);
mark('$\u20ac\u00a3\u00a5\u20b9', CURRENCY);
mark('\t\n\v\f\r\u00a0', FOUND.wideSpace << FOUND_BIT);
mark('\\`*_[]<~', FOUND.markup << FOUND_BIT);
mark('&', FOUND.entity << FOUND_BIT);
mark('$\\', FOUND.tex << FOUND_BIT);
/** Spaces, invisible and wide characters. */
for (const [from, to] of [
  [NO_BREAK_SPACE, NO_BREAK_SPACE + 1],
  [SOFT_HYPHEN, SOFT_HYPHEN + 1],
  [0x2000, 0x2010],
  [0x2028, 0x2030],
  [0x205f, 0x2070],
  [0x3000, 0xac00],
  [0xf900, 0x10000],
] as const)
  for (let c = from; c < to; c++) BITS_OF[c]! |= FOUND.other << FOUND_BIT;

const ANY_FOUND = FOUND.wideSpace | FOUND.markup | FOUND.entity | FOUND.tex | FOUND.other;

const foundOf = (bits: number): number => ((bits >>> FOUND_BIT) & ANY_FOUND) | FOUND.scanned;

/** `FOUND` of a range that begins and ends with something else than white space. */
export function scanText(text: string, from: number, to: number): number {
  let bits = 0;
  let previous = 0;
  for (let i = from; i < to; i++) {
    const one = BITS_OF[text.charCodeAt(i)]!;
    // A space behind a space.
    bits |= one | ((one & previous & BLANK) >>> BLANK_TO_WIDE);
    previous = one;
  }
  return foundOf(bits);
}

/** Ranges of a source, by node. */
export interface Ranges {
  readonly from: Int32Array;
  readonly to: Int32Array;
}

/** Units of a source that are looked at together: bounds the memory, which never shrinks. */
const MAX_UNITS = 1 << 18;
const MAX_TEXTS = 1 << 14;
const ASCII_AT = BITS_OF.byteLength;
const TEXT_AT = ASCII_AT + 128;
/** This number of bytes behind the last text is touched. */
const SLACK_BYTES = 32;
const RANGE_BYTES = 8;
const RESULT_BYTES = 16;
const IS_TEXT = 0x10000;
const ENDS_SENTENCE = 0x20000;

interface Scanner {
  memory: Memory;
  scan(ranges: number, end: number, text: number, results: number): void;
}

let loaded: Scanner | null = null;

function load(): Scanner {
  const scanner = instantiate<Scanner>(TEXT_SCAN_WASM);
  new Uint16Array(scanner.memory.buffer, 0, BITS_OF.length).set(BITS_OF);
  new Uint8Array(scanner.memory.buffer, ASCII_AT, 128).set(BITS_OF.subarray(0, 128));
  return scanner;
}

/** Writes the findings of text nodes. @param texts their numbers */
export function scanNodes(source: string, ranges: Ranges, texts: Int32Array, own: OwnTexts): void {
  for (let first = 0; first < texts.length;) {
    let start = source.length;
    let stop = 0;
    let last = first;
    for (; last < texts.length && last - first < MAX_TEXTS; last++) {
      const node = texts[last]!;
      const from = Math.min(start, ranges.from[node]!);
      const to = Math.max(stop, ranges.to[node]!);
      if (to - from > MAX_UNITS) break;
      start = from;
      stop = to;
    }
    if (last === first) scanNode(source, ranges, texts[last++]!, own);
    else scanTogether(source.slice(start, stop), start, ranges, texts.subarray(first, last), own);
    first = last;
  }
}

/** @param source from its unit `start` on */
function scanTogether(source: string, start: number, ranges: Ranges, texts: Int32Array, own: OwnTexts): void {
  const { memory, scan } = (loaded ??= load());
  const textBytes = source.length * 2;
  const rangesAt = TEXT_AT + ((textBytes + SLACK_BYTES + 15) & ~15);
  const resultsAt = rangesAt + texts.length * RANGE_BYTES;
  const bytes = resultsAt + texts.length * RESULT_BYTES;
  reserve(memory, bytes);
  Buffer.from(memory.buffer, TEXT_AT, textBytes).write(source, 'utf16le');
  const places = new Int32Array(memory.buffer, rangesAt, texts.length * 2);
  for (let i = 0; i < texts.length; i++) {
    places[2 * i] = ranges.from[texts[i]!]! - start;
    places[2 * i + 1] = ranges.to[texts[i]!]! - start;
  }
  scan(rangesAt, resultsAt, TEXT_AT, resultsAt);
  const results = new Int32Array(memory.buffer, resultsAt, texts.length * 4);
  for (let i = 0; i < texts.length; i++) {
    const node = texts[i]!;
    const bits = results[4 * i + 3]!;
    own.ownText[node] = results[4 * i]!;
    own.ownWords[node] = results[4 * i + 1]!;
    own.ownSentences[node] = results[4 * i + 2]!;
    own.ownFound[node] = bits & IS_TEXT ? foundOf(bits) : FOUND.blank | FOUND.scanned;
    own.ownSigns[node] = (bits & CURRENCY ? SIGNS.currency : 0) | (bits & ENDS_SENTENCE ? SIGNS.endsSentence : 0);
  }
}

/** Findings of one node, of any length. */
export function scanNode(text: string, ranges: Ranges, node: number, own: OwnTexts): void {
  const first = skipWhite(text, ranges.from[node]!, ranges.to[node]!);
  const last = trimWhite(text, first, ranges.to[node]!);
  if (first === last) {
    own.ownFound[node] = FOUND.blank | FOUND.scanned;
    return;
  }
  let bits = 0;
  let previous = SPACE;
  let chars = 0;
  let words = 0;
  let sentences = 0;
  for (let i = first; i < last; i++) {
    const c = text.charCodeAt(i);
    const one = BITS_OF[c]!;
    bits |= one | ((one & previous & BLANK) >>> BLANK_TO_WIDE);
    words += one & ~previous & SPACE;
    sentences += (one & (previous >>> 1) & SPACE) + ((one >>> STOP_BIT) & 1);
    // 1 above code 32, else 0.
    chars += (32 - c) >>> 31;
    previous = one;
  }
  own.ownFound[node] = foundOf(bits);
  own.ownText[node] = chars;
  own.ownWords[node] = words + (~previous & SPACE);
  own.ownSentences[node] = sentences + ((previous >>> 1) & SPACE);
  own.ownSigns[node] =
    (bits & CURRENCY ? SIGNS.currency : 0) | (endsSentence(text, first, last) ? SIGNS.endsSentence : 0);
}

function endsSentence(text: string, from: number, to: number): boolean {
  let at = to - 1;
  while (at > from && BITS_OF[text.charCodeAt(at)]! & SPACE) at--;
  return (BITS_OF[text.charCodeAt(at)]! & (END | STOP)) !== 0;
}

/** White space of HTML, and vertical tabs. */
export function isWhite(c: number): boolean {
  return c === 32 || (c >= 9 && c <= 13);
}

/** Index behind the white space that a range begins with. */
export function skipWhite(source: string, from: number, to: number): number {
  let at = from;
  while (at < to && isWhite(source.charCodeAt(at))) at++;
  return at;
}

/** End of a range without the white space at its end. */
export function trimWhite(source: string, from: number, to: number): number {
  let at = to;
  while (at > from && isWhite(source.charCodeAt(at - 1))) at--;
  return at;
}
