/**
 * Times from one Demand to the next. Claimants that began together must not ask together for ever: a pool that knows a window of its
 * claimants has room for one of them when a lane ends, not for all of them every half minute.
 */

/** Between half of `waitMs` and all of it: another share for each claimant and each of its Demands, the same when run again. */
export function spread(waitMs: number, claimant: string, v: number): number {
  let hash = v;
  // FNV-1a (draft-eastlake-fnv).
  for (let n = 0; n < claimant.length; n++) hash = Math.imul(hash ^ claimant.charCodeAt(n), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return Math.round((waitMs * (1 + (hash >>> 0) / 2 ** 32)) / 2);
}
