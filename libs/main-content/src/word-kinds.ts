/** Words of attributes and what each says, as bits; looked up where they stand, without making strings. */
import { FNV_OFFSET, FNV_PRIME, hashName } from '@troupe/html';

/** Places per word: few words share one. */
const SPREAD = 4;
const FIRST_SMALL = 97;
const LETTERS = 26;

function isLetter(c: number): boolean {
  return ((c | 0x20) - FIRST_SMALL) >>> 0 < LETTERS;
}

/** `hashName` by one more letter. */
function hashStep(hash: number, letter: number): number {
  return Math.imul(hash ^ (letter | 0x20), FNV_PRIME);
}

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
    const last = Math.min(to, from + this.maxChars);
    for (let i = from; i < last;) {
      let c = source.charCodeAt(i++);
      if (!isLetter(c)) continue;
      let hash = hashStep(FNV_OFFSET, c);
      for (; i < last; i++) {
        const next = source.charCodeAt(i);
        if (!isLetter(next) || (next < FIRST_SMALL && c >= FIRST_SMALL)) break;
        hash = hashStep(hash, next);
        c = next;
      }
      kinds |= this.bits[this.slotOf(hash)]!;
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
