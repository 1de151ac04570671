import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { fingerprint } from './dedup-key.js';
import { FingerprintSet } from './fingerprint-set.js';

const fingerprints = fc.oneof(
  // Few distinct ones, those beside the empty slot's value, and those that fall on one slot.
  fc.nat({ max: 40 }).map((n) => fingerprint(String(n))),
  fc.constantFrom('0000000000000000', '0000000000000001', '0000000100000000', 'ffffffffffffffff', '8000000000000000'),
  fc.nat({ max: 20 }).map((n) => `${((n + 1) << 20).toString(16).padStart(8, '0')}00000000`),
);
const operations = fc.array(
  fc.oneof(
    { weight: 10, arbitrary: fc.tuple(fc.constant('add' as const), fingerprints) },
    { weight: 5, arbitrary: fc.tuple(fc.constant('has' as const), fingerprints) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('clear' as const), fc.constant('')) },
  ),
  { maxLength: 200 },
);

describe('a set of fingerprints', () => {
  it('answers as a Set does under any operations', () => {
    fc.assert(
      fc.property(operations, (steps) => {
        const set = new FingerprintSet();
        const model = new Set<string>();
        for (const [name, h] of steps) {
          if (name === 'clear') {
            set.clear();
            model.clear();
          } else if (name === 'has') {
            expect(set.has(h)).toBe(model.has(h));
          } else {
            expect(set.add(h)).toBe(!model.has(h));
            model.add(h);
          }
          expect(set.size).toBe(model.size);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('keeps what it holds while it grows', () => {
    const set = new FingerprintSet(1 << 16);
    const pages = Array.from({ length: 20_000 }, (_, i) => fingerprint(`page ${i}`));
    expect(pages.filter((h) => !set.add(h))).toEqual([]);
    expect(set.size).toBe(20_000);
    expect(pages.filter((h) => !set.has(h))).toEqual([]);
    expect(pages.filter((_, i) => set.has(fingerprint(`other ${i}`)))).toEqual([]);
  });

  it('stops storing when it is full, and claims to know nothing that it does not hold', () => {
    const set = new FingerprintSet(64);
    const all = Array.from({ length: 200 }, (_, i) => fingerprint(`page ${i}`));
    for (const h of all) set.add(h);
    expect(set.size).toBe(32);
    expect(all.map((h) => set.has(h))).toEqual(all.map((_, i) => i < 32));
    expect(set.add(all[40]!)).toBe(true);
    expect(set.add(all[5]!)).toBe(false);
    set.clear();
    expect(set.add(all[40]!)).toBe(true);
    expect(set.has(all[40]!)).toBe(true);
  });

  it.each([0, 1, 2, 3, 1000])('works with a capacity of %i slots', (capacity) => {
    const set = new FingerprintSet(capacity);
    for (let i = 0; i < 50; i++) set.add(fingerprint(`page ${i}`));
    expect(set.size).toBeLessThanOrEqual(Math.max(1, capacity / 2));
    expect(set.has(fingerprint('page 0'))).toBe(true);
    expect(set.has(fingerprint('never added'))).toBe(false);
  });
});
