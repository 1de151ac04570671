/**
 * A set of words that is looked for in many short texts at once. Of a text only pairs of characters are looked at, nearly as
 * far apart as the shortest word is long, until one may be in the beginning of a word (Horspool's search, for a set).
 */
const SPACE = 32;
/** Pairs are told apart by some bits of them: mistaken ones cost a second look. */
const PAIRS = 1024;
const UNITS = 256;
const MAX_WIDTH = 255;
const NONE: readonly number[] = [];

export class WordSet {
  /** Shorter texts hold no word of the set. */
  readonly width: number;
  /** Places of all words. */
  readonly all: readonly number[];
  /** By the character at the end of a window: how far the next one is; 0: the pair there decides. */
  private readonly shifts: Uint8Array;
  /** By the pair at the end of a window: the same; 0: a word may begin with this one. */
  private readonly pairShifts: Uint8Array;

  /** @param words each not empty and without white space */
  constructor(private readonly words: readonly string[]) {
    this.all = words.map((_, place) => place);
    this.width = Math.min(MAX_WIDTH, ...words.map(({ length }) => length));
    const last = this.width - 1;
    this.shifts = new Uint8Array(UNITS).fill(this.width);
    this.pairShifts = new Uint8Array(PAIRS).fill(Math.max(1, last));
    for (const word of words) {
      for (let i = 0; i <= last; i++) {
        const unit = word.charCodeAt(i) & (UNITS - 1);
        this.shifts[unit] = Math.min(this.shifts[unit]!, last - i);
        if (i === 0) continue;
        const pair = pairOf(word.charCodeAt(i - 1), word.charCodeAt(i));
        this.pairShifts[pair] = Math.min(this.pairShifts[pair]!, last - i);
      }
    }
  }

  /** Places of the words with which a word between `from` and `to` begins, as often as there are such. */
  in(text: string, from: number, to: number): readonly number[] {
    const { width, shifts, pairShifts } = this;
    let found: number[] | null = null;
    for (let last = from + width - 1; last < to;) {
      const unit = text.charCodeAt(last);
      const shift = shifts[unit & (UNITS - 1)]! || (width > 1 && pairShifts[pairOf(text.charCodeAt(last - 1), unit)]!);
      if (shift) {
        last += shift;
        continue;
      }
      const start = last - width + 1;
      if (start === from || text.charCodeAt(start - 1) <= SPACE)
        for (let place = 0; place < this.words.length; place++) {
          const word = this.words[place]!;
          if (start + word.length <= to && text.startsWith(word, start)) (found ??= []).push(place);
        }
      last++;
    }
    return found ?? NONE;
  }
}

function pairOf(before: number, last: number): number {
  return ((before << 5) ^ last) & (PAIRS - 1);
}
