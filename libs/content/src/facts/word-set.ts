/**
 * Some words that are looked for in many short texts at once. Of a text only every so many characters are looked at, as far
 * apart as the shortest word is long, until one may end the beginning of a word (Horspool's search, for a set).
 */
const SPACE = 32;
/** Characters are told apart by their low bits: mistaken ones cost a second look. */
const CODES = 128;
const MAX_WIDTH = 255;
const NONE: readonly string[] = [];

export class WordSet {
  /** Shorter texts hold no word of the set. */
  readonly width: number;
  /** By the character at the end of a window: how far the next one is; 0: a word may begin with this one. */
  private readonly shifts: Uint8Array;

  /** @param words each not empty and without white space */
  constructor(readonly words: readonly string[]) {
    this.width = Math.min(MAX_WIDTH, ...words.map(({ length }) => length));
    this.shifts = new Uint8Array(CODES).fill(this.width);
    for (const word of words) {
      for (let i = 0; i < this.width; i++) {
        const code = word.charCodeAt(i) % CODES;
        this.shifts[code] = Math.min(this.shifts[code]!, this.width - 1 - i);
      }
    }
  }

  /** Words of the set with which a word between `from` and `to` begins, as often as there are such. */
  in(text: string, from: number, to: number): readonly string[] {
    const { width, shifts } = this;
    let found: string[] | null = null;
    for (let last = from + width - 1; last < to;) {
      const shift = shifts[text.charCodeAt(last) % CODES]!;
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
