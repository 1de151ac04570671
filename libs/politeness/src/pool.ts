/**
 * Pool's side of the grant protocol (docs/design/politeness.md, "Grants"): which claimant holds which token of a host or of a team.
 *
 * Single writer: the state of a `domain` or `team` actor, plain JSON, mutated in place. Level-triggered: every Demand
 * and every Grant is the full current truth with a version, so that loss, repetition and reordering cost time only.
 *
 * A turn: `applyDemand` for each Demand, `expireClaimants` when its timer fired, one `rebalance`, then a Grant
 * (`grantFor`) to all claimants that asked and all that `rebalance` named.
 */
import type { Demand, Grant } from '@troupe/contracts';
import { chargeLaneTime, chooseReceiver, contendingTeams, forgetDebts, openAccounts } from './fair-share.js';
import type { Claimant, Pool, PoolToken } from './pool-state.js';
import { revokeUnfairTokens } from './revocation.js';
import { findPlaceFor } from './window.js';

export interface PoolContext {
  now: number;
  /** Grows for ever inside the partition, across owners. */
  nextGen(): number;
}

/** The check that the simulation's mutant removes. */
export interface PoolRules {
  isReleased(token: PoolToken, demand: Pick<Demand, 'held' | 'seenV'>): boolean;
}

export const POOL_RULES: PoolRules = { isReleased: isKnownAndNotHeld };

/** Longest span between two looks at the clock that counts as time awake. */
const MAX_CLOCK_STEP_MS = 60_000;
/** Longer than the longest wait between two Demands of a claimant. */
const CROWDED_MS = 60_000;

/** A token the claimant has heard of and does not hold is released; one it may not have heard of is under way. */
export function isKnownAndNotHeld(token: PoolToken, demand: Pick<Demand, 'held' | 'seenV'>): boolean {
  return token.v <= demand.seenV && !demand.held.some(({ i, gen }) => i === token.i && gen === token.gen);
}

export function createPool(size: number): Pool {
  return {
    size,
    tokens: [],
    claimants: {},
    teams: {},
    v: 0,
    served: 0,
    contended: false,
    clock: { ms: 0, lastNow: null },
  };
}

/** Tokens beyond a smaller size are revoked, and nothing is assigned while more than `size` are out. */
export function resizePool(pool: Pool, size: number): void {
  pool.size = Math.max(0, Math.floor(size));
  for (const token of pool.tokens) {
    if (token.i >= pool.size) revokeToken(pool, token);
  }
}

/**
 * Takes in a claimant's wish and holdings. False for one that is not newer than the last, which changes nothing, and for
 * one that finds no place in the window: its Grant is empty, and its next Demand tries again.
 */
export function applyDemand(
  pool: Pool,
  demand: Pick<Demand, 'claimant' | 'replyTo' | 'team' | 'want' | 'held' | 'seenV' | 'ranMs' | 'waitedMs' | 'v'>,
  ctx: PoolContext,
  rules: PoolRules = POOL_RULES,
): boolean {
  const nowMs = advanceClock(pool, ctx.now);
  const known = pool.claimants[demand.claimant];
  if (known !== undefined && demand.v <= known.v) return false;
  if (known === undefined && !makePlace(pool, demand, nowMs)) return false;
  const claimant = known ?? admitClaimant(pool, demand, nowMs);
  claimant.v = demand.v;
  claimant.seenAt = nowMs;
  claimant.replyTo = demand.replyTo;
  claimant.want = Math.max(0, Math.floor(demand.want));
  if (demand.waitedMs !== undefined) claimant.waitingSince = nowMs - Math.max(0, demand.waitedMs);
  charge(pool, demand.claimant, demand.ranMs);
  releaseTokens(pool, (token) => token.owner === demand.claimant && rules.isReleased(token, demand));
  return true;
}

/**
 * Hands every free token to the most entitled claimant, revokes what is held beyond the fair share while others have
 * less, and returns the claimants whose Grant changed.
 */
export function rebalance(pool: Pool, ctx: PoolContext): string[] {
  advanceClock(pool, ctx.now);
  forgetDebts(pool);
  updateContention(pool);
  const assigned = assignFreeTokens(pool, ctx);
  revokeUnfairTokens(pool, (token) => revokeToken(pool, token));
  return publishGrants(pool, assigned, ctx);
}

/** The claimant's full current Grant; for one that is unknown (expired), an empty one under the newest version. */
export function grantFor(pool: Pool, claimant: string): Pick<Grant, 'claimant' | 'tokens' | 'uses' | 'revoke' | 'v'> {
  const tokens = pool.tokens.filter((token) => token.owner === claimant).sort((a, b) => a.i - b.i);
  return {
    claimant,
    tokens: tokens.map(({ i, gen }) => ({ i, gen })),
    uses: pool.contended ? 1 : null,
    revoke: tokens.filter((token) => token.revoked).map((token) => token.i),
    v: pool.claimants[claimant]?.grantV ?? pool.v,
  };
}

/** Forgets claimants that were silent longer than `silentMs` of waking time; their tokens are free. Returns them. */
export function expireClaimants(pool: Pool, now: number, silentMs: number): string[] {
  const nowMs = advanceClock(pool, now);
  const silent = Object.keys(pool.claimants).filter((name) => nowMs - pool.claimants[name]!.seenAt > silentMs);
  for (const name of silent) removeClaimant(pool, name);
  return silent;
}

/** No token is held or wanted: the actor may end. */
export function isPoolIdle(pool: Pool): boolean {
  return pool.tokens.length === 0 && Object.values(pool.claimants).every((claimant) => claimant.want === 0);
}

/** A full window gives up a claimant that can wait. One that wants nothing needs no place in it. */
function makePlace(
  pool: Pool,
  { team, want, waitedMs = 0 }: Pick<Demand, 'team' | 'want' | 'waitedMs'>,
  nowMs: number,
): boolean {
  const place = findPlaceFor(pool, team, nowMs - waitedMs);
  if (place === 'free') return true;
  if (want <= 0) return false;
  pool.turnedAwayAt = nowMs;
  if (place === null) return false;
  removeClaimant(pool, place.claimant);
  return true;
}

function admitClaimant(
  pool: Pool,
  demand: Pick<Demand, 'claimant' | 'replyTo' | 'team' | 'ranMs'>,
  nowMs: number,
): Claimant {
  pool.teams[demand.team] ??= { creditMs: 0, servedAt: pool.served };
  const claimant: Claimant = {
    team: demand.team,
    replyTo: demand.replyTo,
    want: 0,
    v: 0,
    seenAt: nowMs,
    ranMs: demand.ranMs,
    grantV: 0,
    dirty: true,
    creditMs: 0,
    servedAt: pool.served,
  };
  pool.claimants[demand.claimant] = claimant;
  return claimant;
}

/** Before the tokens of the lanes are released: they bound what can have been used. */
function charge(pool: Pool, name: string, ranMs: number): void {
  const claimant = pool.claimants[name]!;
  const usedMs = Math.max(0, ranMs - claimant.ranMs);
  claimant.ranMs = Math.max(ranMs, claimant.ranMs);
  if (pool.contended) chargeLaneTime(pool, name, usedMs);
}

function removeClaimant(pool: Pool, name: string): void {
  const { team } = pool.claimants[name]!;
  releaseTokens(pool, (token) => token.owner === name);
  delete pool.claimants[name];
  if (!Object.values(pool.claimants).some((claimant) => claimant.team === team)) delete pool.teams[team];
}

function releaseTokens(pool: Pool, isReleased: (token: PoolToken) => boolean): void {
  pool.tokens = pool.tokens.filter((token) => {
    if (!isReleased(token)) return true;
    pool.claimants[token.owner]!.dirty = true;
    return false;
  });
}

function revokeToken(pool: Pool, token: PoolToken): void {
  if (token.revoked) return;
  token.revoked = true;
  pool.claimants[token.owner]!.dirty = true;
}

/** A wish counts up to the pool's size: no claimant contends with itself. Claimants outside the window contend, too. */
function updateContention(pool: Pool): void {
  const wanted = Object.values(pool.claimants).reduce((sum, { want }) => sum + Math.min(want, pool.size), 0);
  const { turnedAwayAt } = pool;
  const isCrowded = turnedAwayAt !== undefined && pool.clock.ms - turnedAwayAt < CROWDED_MS;
  const contended = isCrowded || wanted > pool.size;
  if (contended === pool.contended) return;
  pool.contended = contended;
  if (contended) openAccounts(pool);
  for (const token of pool.tokens) pool.claimants[token.owner]!.dirty = true;
}

function assignFreeTokens(pool: Pool, ctx: PoolContext): PoolToken[] {
  const assigned: PoolToken[] = [];
  const free = freeIndexes(pool);
  if (free.length === 0) return assigned;
  const teams = contendingTeams(pool);
  while (free.length > 0 && pool.tokens.length < pool.size) {
    const owner = chooseReceiver(pool, teams);
    if (owner === null) break;
    const token: PoolToken = {
      i: free.shift()!,
      gen: ctx.nextGen(),
      owner,
      v: 0,
      revoked: false,
      lasting: !pool.contended,
      at: pool.clock.ms,
    };
    pool.tokens.push(token);
    pool.claimants[owner]!.dirty = true;
    assigned.push(token);
  }
  return assigned;
}

function freeIndexes(pool: Pool): number[] {
  const out = new Set(pool.tokens.map((token) => token.i));
  return Array.from({ length: pool.size }, (_, i) => i).filter((i) => !out.has(i));
}

function publishGrants(pool: Pool, assigned: PoolToken[], ctx: PoolContext): string[] {
  const changed = Object.keys(pool.claimants).filter((name) => pool.claimants[name]!.dirty);
  if (changed.length === 0) return changed;
  pool.v = Math.max(ctx.nextGen(), pool.v + 1);
  for (const token of assigned) token.v = pool.v;
  for (const name of changed) {
    pool.claimants[name]!.grantV = pool.v;
    pool.claimants[name]!.dirty = false;
  }
  return changed;
}

function advanceClock(pool: Pool, now: number): number {
  const { clock } = pool;
  if (clock.lastNow !== null) clock.ms += Math.min(MAX_CLOCK_STEP_MS, Math.max(0, now - clock.lastNow));
  clock.lastNow = now;
  return clock.ms;
}
