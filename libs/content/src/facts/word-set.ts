/**
 * Some words that are looked for in many short texts at once. Of a text only pairs of characters are looked at, nearly as
 * far apart as the shortest word is long, until one may be in the beginning of a word (Horspool's search, for a set).
 */
const SPACE = 32;
/** Pairs are told apart by some bits of them: mistaken ones cost a second look. */
const PAIRS = 1024;
const MAX_WIDTH = 255;
const NONE: readonly string[] = [];

export class WordSet {
  /** Shorter texts hold no word of the set. */
  readonly width: number;
  /** By the pair at the end of a window: how far the next one is; 0: a word may begin with this one. */
  private readonly shifts: Uint8Array;

  /** @param words each not empty and without white space */
  constructor(readonly words: readonly string[]) {
    this.width = Math.min(MAX_WIDTH, ...words.map(({ length }) => length));
    const last = this.width - 1;
    this.shifts = new Uint8Array(PAIRS).fill(last);
    for (const word of words) {
      for (let i = 1; i <= last; i++) {
        const pair = pairOf(word.charCodeAt(i - 1), word.charCodeAt(i));
        this.shifts[pair] = Math.min(this.shifts[pair]!, last - i);
      }
    }
  }

  /** Words of the set with which a word between `from` and `to` begins, as often as there are such. */
  in(text: string, from: number, to: number): readonly string[] {
    const { width, shifts } = this;
    let found: string[] | null = null;
    for (let last = from + width - 1; last < to;) {
      const shift = shifts[pairOf(text.charCodeAt(last - 1), text.charCodeAt(last))]!;
      if (shift > 0) {
        last += shift;
        continue;
      }
      const start = last - width + 1;
      if (start === from || text.charCodeAt(start - 1) <= SPACE)
        for (const word of this.words)
          if (start + word.length <= to && text.startsWith(word, start)) (found ??= []).push(word);
      last++;
    }
    return found ?? NONE;
  }
}

function pairOf(before: number, last: number): number {
  return ((before << 5) ^ last) & (PAIRS - 1);
}
