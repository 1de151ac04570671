/**
 * Exact set of 64-bit fingerprints: open addressing over pairs of 32-bit words, load at most one half (16 bytes an
 * entry at worst). It accelerates the duplicate check and must never lie: `has` is true only for added ones. When
 * the largest table is full, further fingerprints are not stored, and asking the durable set answers for them.
 */
import type { Fingerprint } from '@troupe/contracts';

const DEFAULT_MAX_SLOTS = 1 << 22;
const FIRST_SLOTS = 1 << 10;

export class FingerprintSet {
  private readonly maxSlots: number;
  private table = new Uint32Array(2 * FIRST_SLOTS);
  private mask = FIRST_SLOTS - 1;
  private used = 0;
  /** An empty slot is the pair (0, 0), so that one fingerprint is kept apart. */
  private hasZero = false;

  /** @param capacity most slots of the table, rounded down to a power of two; holds half as many entries. */
  constructor(capacity: number = DEFAULT_MAX_SLOTS) {
    this.maxSlots = 2 ** Math.floor(Math.log2(Math.max(2, capacity)));
    this.clear();
  }

  get size(): number {
    return this.used + (this.hasZero ? 1 : 0);
  }

  has(h: Fingerprint): boolean {
    const hi = highWord(h);
    const lo = lowWord(h);
    return hi === 0 && lo === 0 ? this.hasZero : this.isAt(this.find(hi, lo), hi, lo);
  }

  /** True when `h` was not in the set before; a full set answers true for it again and again. */
  add(h: Fingerprint): boolean {
    const hi = highWord(h);
    const lo = lowWord(h);
    if (hi === 0 && lo === 0) {
      const isNew = !this.hasZero;
      this.hasZero = true;
      return isNew;
    }
    const slot = this.find(hi, lo);
    if (this.isAt(slot, hi, lo)) return false;
    this.store(slot, hi, lo);
    return true;
  }

  clear(): void {
    const slots = Math.min(FIRST_SLOTS, this.maxSlots);
    this.table = new Uint32Array(2 * slots);
    this.mask = slots - 1;
    this.used = 0;
    this.hasZero = false;
  }

  private store(slot: number, hi: number, lo: number): void {
    if (2 * (this.used + 1) > this.mask + 1) {
      if (this.mask + 1 >= this.maxSlots) return;
      this.grow();
      slot = this.find(hi, lo);
    }
    this.table[2 * slot] = hi;
    this.table[2 * slot + 1] = lo;
    this.used++;
  }

  private grow(): void {
    const old = this.table;
    const slots = 2 * (this.mask + 1);
    this.table = new Uint32Array(2 * slots);
    this.mask = slots - 1;
    for (let at = 0; at < old.length; at += 2) {
      const hi = old[at]!;
      const lo = old[at + 1]!;
      if (hi === 0 && lo === 0) continue;
      const slot = this.find(hi, lo);
      this.table[2 * slot] = hi;
      this.table[2 * slot + 1] = lo;
    }
  }

  /** The slot that holds the pair, or the empty one where it belongs. */
  private find(hi: number, lo: number): number {
    let slot = (hi ^ Math.imul(lo, 0x9e3779b1)) & this.mask;
    while (!this.isAt(slot, hi, lo) && !this.isAt(slot, 0, 0)) slot = (slot + 1) & this.mask;
    return slot;
  }

  private isAt(slot: number, hi: number, lo: number): boolean {
    return this.table[2 * slot] === hi && this.table[2 * slot + 1] === lo;
  }
}

function highWord(h: Fingerprint): number {
  return parseInt(h.slice(0, 8), 16);
}

function lowWord(h: Fingerprint): number {
  return parseInt(h.slice(8), 16);
}
