/** Decides whether a lane may use a host slot: the compare half of the fetcher's compare-and-set on `slot.<host>.<i>`. */

/** Value of a slot key. (gen, lane) is its fencing pair: it only grows. */
export interface SlotValue {
  gen: number;
  lane: number;
  fetcher: string;
  st: 'held' | 'free';
}

export type SlotPair = Pick<SlotValue, 'gen' | 'lane'>;

/**
 * - `take`: write the claim by compare-and-set.
 * - `stale`: a newer lane owns the slot, or this lane has run to its end: answer that it is refused. The answer is what
 *   saves a job whose news of the lane were all lost.
 * - `duplicate`: this very lane runs elsewhere: drop the delivery.
 */
export type SlotDecision = 'take' | 'stale' | 'duplicate';

/** Below zero when `a` is older than `b`: first the pool's generation, then the claimant's lane number. */
export function compareSlotPairs(a: SlotPair, b: SlotPair): number {
  return a.gen - b.gen || a.lane - b.lane;
}

/**
 * A lane that was delivered twice runs once: the second delivery is taken over only when the first one's fetcher is no
 * longer alive and had not finished.
 *
 * @param holderAlive whether `stored.fetcher` is among the live members; false when nothing is stored
 * @param compare replaced only by the simulation's mutants
 */
export function decideSlotClaim(
  stored: SlotValue | null,
  claim: SlotPair & { fetcher: string },
  holderAlive: boolean,
  compare: (a: SlotPair, b: SlotPair) => number = compareSlotPairs,
): SlotDecision {
  if (stored === null) return 'take';
  const order = compare(stored, claim);
  if (order < 0) return 'take';
  if (order > 0 || (order === 0 && stored.st === 'free')) return 'stale';
  return holderAlive ? 'duplicate' : 'take';
}
