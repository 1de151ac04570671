/** Words of attributes and what each says, as bits; looked up where they stand, without making strings. */
import { hashName } from './tags.js';

/** Places per word: few words share one. */
const SPREAD = 4;

export class WordKinds {
  private readonly hashes: Int32Array;
  private readonly bits: Int32Array;
  private readonly last: number;

  /**
   * @param lists bits and the words that have them, in lower case with spaces between; a word may stand in several
   * @param maxChars of a range that are looked at
   */
  constructor(
    lists: readonly (readonly [bits: number, words: string])[],
    private readonly maxChars: number,
  ) {
    const words = lists.flatMap(([bits, list]) => list.split(' ').map((word) => [hashName(word), bits] as const));
    const size = 2 ** Math.ceil(Math.log2(words.length * SPREAD));
    this.hashes = new Int32Array(size);
    this.bits = new Int32Array(size);
    this.last = size - 1;
    for (const [hash, bits] of words) {
      const slot = this.slotOf(hash);
      this.hashes[slot] = hash;
      this.bits[slot]! |= bits;
    }
  }

  /** Bits of all words in a range; words end at anything but a letter, and before a capital that follows a small letter. */
  in(source: string, from: number, to: number): number {
    let kinds = 0;
    let hash = 0;
    let length = 0;
    let wasSmall = false;
    const last = Math.min(to, from + this.maxChars);
    for (let i = from; i <= last; i++) {
      const c = i < last ? source.charCodeAt(i) : 0;
      const isSmall = c >= 97 && c <= 122;
      const isCapital = c >= 65 && c <= 90;
      if (length > 0 && ((!isSmall && !isCapital) || (isCapital && wasSmall))) {
        kinds |= this.bits[this.slotOf(hash)]!;
        length = 0;
      }
      if (isSmall || isCapital) {
        if (length++ === 0) hash = 0x811c9dc5 | 0;
        hash = Math.imul(hash ^ (c | 0x20), 0x01000193);
      }
      wasSmall = isSmall;
    }
    return kinds;
  }

  /** Where the word is, or an empty slot. */
  private slotOf(hash: number): number {
    let slot = hash & this.last;
    while (this.bits[slot] !== 0 && this.hashes[slot] !== hash) slot = (slot + 1) & this.last;
    return slot;
  }
}
