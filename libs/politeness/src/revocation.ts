/** Tokens that must come back so that a claimant with less gets a place, when none is free. */
import type { Pool, PoolToken } from './pool-state.js';

interface Holding {
  name: string;
  team: string;
  /** Tokens it will have once everything under way has settled. */
  tokens: number;
  /** Those of them that may be revoked. */
  revocable: PoolToken[];
  want: number;
}

/**
 * Revokes one token after another from the one with most for the one with least, teams before claimants, only while
 * that evens things out, and only tokens that were assigned without contention. All others come back after one lane by
 * themselves (`uses` = 1); revoking them too would move an unused token to and fro for ever.
 */
export function revokeUnfairTokens(pool: Pool, revoke: (token: PoolToken) => void): void {
  if (!pool.contended || !pool.tokens.some(({ lasting, revoked }) => lasting && !revoked)) return;
  const holdings = settledHoldings(pool);
  const teams = teamTotals(holdings);
  const move = (holding: Holding, tokens: 1 | -1): void => {
    holding.tokens += tokens;
    teams.set(holding.team, teams.get(holding.team)! + tokens);
  };
  for (let spare = comingFree(pool); ; spare = Math.max(0, spare - 1)) {
    const receiver = poorest(holdings, teams);
    if (receiver === null) return;
    if (spare === 0) {
      const donor = richest(holdings, teams);
      if (donor === null || !isUnfair(donor, receiver, teams)) return;
      revoke(donor.revocable.pop()!);
      move(donor, -1);
    }
    move(receiver, 1);
  }
}

function settledHoldings(pool: Pool): Holding[] {
  const keptBy = new Map<string, PoolToken[]>(Object.keys(pool.claimants).map((name) => [name, []]));
  for (const token of pool.tokens) if (!token.revoked) keptBy.get(token.owner)!.push(token);
  return Object.entries(pool.claimants).map(([name, { team, want }]) => {
    const kept = keptBy.get(name)!;
    const revocable = kept.filter(({ lasting }) => lasting).sort((a, b) => a.gen - b.gen);
    return { name, team, want, tokens: kept.length, revocable };
  });
}

/** Places that are free or revoked already. */
function comingFree(pool: Pool): number {
  return Math.max(0, pool.size - pool.tokens.filter((token) => !token.revoked).length);
}

function teamTotals(holdings: Holding[]): Map<string, number> {
  const totals = new Map<string, number>();
  for (const { team, tokens } of holdings) totals.set(team, (totals.get(team) ?? 0) + tokens);
  return totals;
}

function poorest(holdings: Holding[], teams: Map<string, number>): Holding | null {
  const waiting = holdings.filter(({ tokens, want }) => tokens < want);
  if (waiting.length === 0) return null;
  return waiting.reduce((best, next) => (compareWealth(next, best, teams) < 0 ? next : best));
}

function richest(holdings: Holding[], teams: Map<string, number>): Holding | null {
  const holding = holdings.filter(({ revocable }) => revocable.length > 0);
  if (holding.length === 0) return null;
  return holding.reduce((best, next) => (compareWealth(next, best, teams) > 0 ? next : best));
}

function compareWealth(a: Holding, b: Holding, teams: Map<string, number>): number {
  return teams.get(a.team)! - teams.get(b.team)! || a.tokens - b.tokens;
}

function isUnfair(donor: Holding, receiver: Holding, teams: Map<string, number>): boolean {
  if (donor.team === receiver.team) return donor.tokens > receiver.tokens + 1;
  return teams.get(donor.team)! > teams.get(receiver.team)! + 1;
}
