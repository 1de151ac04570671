/**
 * The window of a pool: the claimants that take part in the round robin. It is bounded, for all of it is written in every turn;
 * the others keep asking, and one that had its turn makes room for them, so that no claimant inside or outside waits for long.
 */
import type { Uuid } from '@troupe/contracts';
import type { Claimant, Pool } from './pool-state.js';

const MIN_CLAIMANTS = 128;
const MAX_CLAIMANTS = 600;
/** Claimants that hold nothing, beside as many as there are tokens: the round robin has a choice. */
const SPARE_CLAIMANTS = 64;

/** Most claimants that a pool knows at a time: it depends on its tokens, not on how many would like one. */
export function windowOf(size: number): number {
  return Math.min(MAX_CLAIMANTS, Math.max(MIN_CLAIMANTS, size + SPARE_CLAIMANTS));
}

interface Candidate {
  name: string;
  claimant: Claimant;
  /** Claimants of its team in the window. */
  teamSize: number;
}

/**
 * Where a newcomer of a team finds room: a free place, that of another claimant, or nowhere (null). Never that of one that
 * holds a token. First go those that want nothing, the longest silent first; then, of the team with most in the window and no
 * smaller one than the newcomer's, those that had a token since they came in; then the one that has waited least, if the newcomer has
 * waited longer (`waitingSince`, on the pool's clock) or is the first of its team.
 */
export function findPlaceFor(pool: Pool, team: Uuid, waitingSince: number): 'free' | { claimant: string } | null {
  const members = Object.entries(pool.claimants);
  if (members.length < windowOf(pool.size)) return 'free';
  const sizes = new Map<Uuid, number>();
  for (const [, { team: of }] of members) sizes.set(of, (sizes.get(of) ?? 0) + 1);
  const ownSize = sizes.get(team) ?? 0;
  const holders = new Set(pool.tokens.map(({ owner }) => owner));
  const leaving = members
    .filter(([name]) => !holders.has(name))
    .map(([name, claimant]): Candidate => ({ name, claimant, teamSize: sizes.get(claimant.team)! }))
    .filter((candidate) => mayLeave(candidate, ownSize, waitingSince));
  if (leaving.length === 0) return null;
  return { claimant: leaving.reduce((best, next) => (leavesBefore(next, best) ? next : best)).name };
}

function mayLeave({ claimant, teamSize }: Candidate, ownSize: number, waitingSince: number): boolean {
  if (claimant.want === 0) return true;
  if (teamSize < ownSize) return false;
  return claimant.served === true || sinceOf(claimant) > waitingSince || (ownSize === 0 && teamSize > 1);
}

/** One that does not say how long it has waited makes no room for those that do. */
function sinceOf({ waitingSince }: Claimant): number {
  return waitingSince ?? -Infinity;
}

function leavesBefore(a: Candidate, b: Candidate): boolean {
  const [isOver, isOtherOver] = [a.claimant.want === 0, b.claimant.want === 0];
  if (isOver || isOtherOver) return isOver && (!isOtherOver || a.claimant.seenAt < b.claimant.seenAt);
  if (a.teamSize !== b.teamSize) return a.teamSize > b.teamSize;
  const [wasServed, wasOtherServed] = [a.claimant.served === true, b.claimant.served === true];
  if (wasServed !== wasOtherServed) return wasServed;
  const [since, otherSince] = [sinceOf(a.claimant), sinceOf(b.claimant)];
  if (since !== otherSince) return since > otherSince;
  return a.claimant.servedAt > b.claimant.servedAt;
}
