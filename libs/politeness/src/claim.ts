/**
 * Claimant's side of the grant protocol (docs/design/politeness.md, "Grants"): a job actor's or gateway's places in one pool.
 *
 * Plain JSON inside the claimant's durable state, mutated in place. Messages may be lost, repeated and reordered. The pair
 * keeps one lane per token (newest version wins; a generation that was handed back is never taken again).
 * Functions with a boolean answer return true when the pool should hear of it soon: send `demandFor`.
 */
import type { Demand, Grant, Token } from '@troupe/contracts';

export interface HeldToken extends Token {
  running: boolean;
  /** Lanes run on it. */
  lanes: number;
  /** Since when it has been idle. */
  idleAt: number;
  revoked: boolean;
}

export interface Claim {
  /** Version of the newest Demand. */
  v: number;
  want: number;
  /** Version of the newest Grant that was applied. */
  seenV: number;
  /** Lane time so far, ms. */
  ranMs: number;
  /** Lanes per token, null = until revoked. */
  uses: number | null;
  held: HeldToken[];
  /** Highest generation handed back, per token index. */
  finished: Record<string, number>;
  /** Time of wanting without a token so far, ms, and when that was counted on the claimant's clock; absent: none. */
  waited?: { ms: number; countedAt: number };
}

/** The check that the simulation's mutant removes. */
export interface ClaimRules {
  mayTake(claim: Claim, token: Token): boolean;
}

/** Longest span between two Demands that counts as waiting: a clock that leaps belongs to another process. */
const MAX_WAIT_STEP_MS = 60_000;

export const CLAIM_RULES: ClaimRules = { mayTake: isUnfinished };

/** A token whose generation was handed back may still be named by Grants under way: it belongs to others by now. */
export function isUnfinished(claim: Claim, token: Token): boolean {
  return token.gen > (claim.finished[token.i] ?? -1);
}

export function createClaim(): Claim {
  return { v: 0, want: 0, seenV: 0, ranMs: 0, uses: null, held: [], finished: {} };
}

/** Applies a Grant if it is newer than the last. True when tokens were handed back by it: a Demand is due. */
export function applyGrant(
  claim: Claim,
  grant: Pick<Grant, 'tokens' | 'uses' | 'revoke' | 'v'>,
  now: number,
  rules: ClaimRules = CLAIM_RULES,
): boolean {
  if (grant.v <= claim.seenV) return false;
  claim.seenV = grant.v;
  claim.uses = grant.uses;
  for (const held of claim.held) {
    const isGranted = grant.tokens.some((token) => isSameToken(token, held));
    if (!isGranted || grant.revoke.includes(held.i)) held.revoked = true;
  }
  for (const { i, gen } of grant.tokens) {
    const isHeld = claim.held.some((held) => isSameToken(held, { i, gen }));
    if (isHeld || !rules.mayTake(claim, { i, gen })) continue;
    claim.held.push({ i, gen, running: false, lanes: 0, idleAt: now, revoked: grant.revoke.includes(i) });
    delete claim.waited;
  }
  return dropWhere(claim, isOver(claim));
}

/** Tokens that `takeToken` would give now. */
export function takeableTokens(claim: Claim): number {
  return claim.held.filter((held) => isTakeable(claim, held)).length;
}

/** A token for one lane, null when none is idle. Give it back with `returnToken` when the lane has ended. */
export function takeToken(claim: Claim, _now: number): Token | null {
  const held = claim.held.find((candidate) => isTakeable(claim, candidate));
  if (held === undefined) return null;
  held.running = true;
  return { i: held.i, gen: held.gen };
}

/** The lane has ended after `ranMs`; true when the token was handed back to the pool with it. */
export function returnToken(claim: Claim, token: Token, ranMs: number, now: number): boolean {
  claim.ranMs += Math.max(0, Math.round(ranMs));
  const held = claim.held.find((candidate) => isSameToken(candidate, token));
  if (held === undefined) return false;
  held.running = false;
  held.lanes++;
  held.idleAt = now;
  return dropWhere(claim, isOver(claim));
}

/**
 * Hands back tokens that have not been used for `idleMs` while others wait for them, or that exceed the own wish. True
 * when there were some.
 */
export function dropIdleTokens(claim: Claim, now: number, idleMs: number): boolean {
  let spare = claim.uses === null ? claim.held.length - claim.want : claim.held.length;
  return dropWhere(claim, (held) => {
    if (held.running || spare <= 0) return false;
    // A clock that went back belongs to another process: idle time starts anew.
    if (held.idleAt > now) held.idleAt = now;
    if (now - held.idleAt < idleMs) return false;
    spare--;
    return true;
  });
}

/** Tokens wished for in all, those held included. Zero hands back every idle one. True when anything changed. */
export function setWant(claim: Claim, want: number): boolean {
  const wanted = Math.max(0, Math.floor(want));
  const changed = wanted !== claim.want;
  claim.want = wanted;
  const dropped = wanted === 0 && dropWhere(claim, (held) => !held.running);
  return changed || dropped;
}

/** The full current wish and holdings, under a new version; with `now` also how long it has waited without any token. */
export function demandFor(
  claim: Claim,
  now?: number,
): Pick<Demand, 'want' | 'held' | 'seenV' | 'ranMs' | 'waitedMs' | 'v'> {
  claim.v++;
  return {
    ...(now === undefined ? {} : { waitedMs: countWait(claim, now) }),
    want: claim.want,
    held: claim.held.map(({ i, gen }) => ({ i, gen })),
    seenV: claim.seenV,
    ranMs: claim.ranMs,
    v: claim.v,
  };
}

function countWait(claim: Claim, now: number): number {
  if (claim.want === 0 || claim.held.length > 0) {
    delete claim.waited;
    return 0;
  }
  const { ms, countedAt } = claim.waited ?? { ms: 0, countedAt: now };
  claim.waited = { ms: ms + Math.min(MAX_WAIT_STEP_MS, Math.max(0, now - countedAt)), countedAt: now };
  return claim.waited.ms;
}

function isSameToken(a: Token, b: Token): boolean {
  return a.i === b.i && a.gen === b.gen;
}

/** An index runs one lane at a time, even when it came back under a new generation while the old one still runs. */
function isTakeable(claim: Claim, held: HeldToken): boolean {
  if (held.running || held.revoked || isUsedUp(claim, held)) return false;
  return !claim.held.some((other) => other.i === held.i && other.running);
}

function isUsedUp(claim: Claim, held: HeldToken): boolean {
  return claim.uses !== null && held.lanes >= claim.uses;
}

function isOver(claim: Claim): (held: HeldToken) => boolean {
  return (held) => !held.running && (held.revoked || isUsedUp(claim, held));
}

function dropWhere(claim: Claim, isDropped: (held: HeldToken) => boolean): boolean {
  const kept: HeldToken[] = [];
  for (const held of claim.held) {
    if (isDropped(held)) claim.finished[held.i] = Math.max(held.gen, claim.finished[held.i] ?? -1);
    else kept.push(held);
  }
  const dropped = kept.length < claim.held.length;
  claim.held = kept;
  return dropped;
}
