import { describe, expect, it } from '@jest/globals';
import { compareSlotPairs, decideSlotClaim, type SlotDecision, type SlotValue } from './slot-claim.js';

const held: SlotValue = { gen: 5, lane: 7, fetcher: 'f1', st: 'held' };
const free: SlotValue = { ...held, st: 'free' };
const claim = (gen: number, lane: number, fetcher = 'f2') => ({ gen, lane, fetcher });

describe('a claim on a host slot', () => {
  it('takes a slot that was never used', () => {
    expect(decideSlotClaim(null, claim(0, 0), false)).toBe('take');
  });

  it.each<[string, ReturnType<typeof claim>, SlotDecision]>([
    ['a newer generation', claim(6, 1), 'take'],
    ['a newer lane of the same generation', claim(5, 8), 'take'],
    ['an older lane of the same generation', claim(5, 6), 'stale'],
    ['an older generation, however high its lane', claim(4, 99), 'stale'],
  ])('of %s is decided by the pair alone', (_, newcomer, decision) => {
    for (const stored of [held, free]) {
      for (const isAlive of [true, false]) expect(decideSlotClaim(stored, newcomer, isAlive)).toBe(decision);
    }
  });

  it('of the very lane that runs is a duplicate, until its fetcher is dead: then the lane is taken over', () => {
    expect(decideSlotClaim(held, claim(5, 7), true)).toBe('duplicate');
    expect(decideSlotClaim(held, claim(5, 7, 'f1'), true)).toBe('duplicate');
    expect(decideSlotClaim(held, claim(5, 7), false)).toBe('take');
  });

  it('of a lane that has run to its end is stale: the refusal tells its job, which may have heard nothing of it', () => {
    expect(decideSlotClaim(free, claim(5, 7), true)).toBe('stale');
    expect(decideSlotClaim(free, claim(5, 7), false)).toBe('stale');
  });

  it('is ordered by generation first, then by lane', () => {
    const pairs = [claim(2, 1), claim(1, 9), claim(1, 2), claim(2, 0)];
    expect(pairs.sort(compareSlotPairs).map(({ gen, lane }) => [gen, lane])).toEqual([
      [1, 2],
      [1, 9],
      [2, 0],
      [2, 1],
    ]);
  });
});
