/**
 * Deficit round robin over two levels: teams, then the claimants of a team, so that a thousand crawls of one team
 * share what one crawl of another gets.
 *
 * Under contention every claimant earns lane time and pays for the lane time really used; a lane that is
 * not yet reported counts with the time its token has been out, one quantum at least. The next token goes to the one
 * with most credit. Credit above one quantum is not kept (no saved-up bursts), and a wish that ends takes its credit
 * and debt along.
 */
import type { Account, Pool, PoolToken } from './pool-state.js';

/** One lane-second. */
export const QUANTUM_MS = 1000;
/** Most that can be owed: one very slow lane does not shut its job out for as long again. */
const MAX_DEBT_MS = 30 * QUANTUM_MS;

/** A contender for tokens: a team, or a claimant inside its team. */
interface Contender {
  name: string;
  account: Account;
  /** Lane time of its tokens that are out. */
  openMs: number;
  /** Tokens it wants beyond those it has. */
  missing: number;
}

/** Claimants of a team that want tokens. */
export interface ContendingTeam extends Contender {
  members: Contender[];
}

/** Tokens that are out, by claimant and by team. */
export interface Holdings {
  tokens: Map<string, number>;
  openMs: Map<string, number>;
}

/** Contention begins: no claimant has used more than others yet. */
export function openAccounts(pool: Pool): void {
  for (const account of [...Object.values(pool.teams), ...Object.values(pool.claimants)]) account.creditMs = 0;
  for (const token of pool.tokens) token.at = pool.clock.ms;
}

/** Charges reported lane time to the claimant and its team: at most the time its tokens have been out. */
export function chargeLaneTime(pool: Pool, claimant: string, reportedMs: number): void {
  const account = pool.claimants[claimant]!;
  const usedMs = Math.min(reportedMs, holdingsBy(pool, ({ owner }) => owner).openMs.get(claimant) ?? 0);
  for (const payer of [account, pool.teams[account.team]!]) {
    payer.creditMs = Math.max(-MAX_DEBT_MS, payer.creditMs - usedMs);
  }
}

/** A claimant that wants nothing starts from zero the next time. */
export function forgetDebts(pool: Pool): void {
  const wishing = new Set<string>();
  for (const claimant of Object.values(pool.claimants)) {
    if (claimant.want > 0) wishing.add(claimant.team);
    else claimant.creditMs = 0;
  }
  for (const [team, account] of Object.entries(pool.teams)) {
    if (!wishing.has(team)) account.creditMs = 0;
  }
}

/** Those that want tokens, as the pool is now. `chooseReceiver` keeps it up to date: it is listed once for all free tokens. */
export function contendingTeams(pool: Pool): ContendingTeam[] {
  const byOwner = holdingsBy(pool, ({ owner }) => owner);
  const byTeam = holdingsBy(pool, ({ owner }) => pool.claimants[owner]!.team);
  const teams = new Map<string, ContendingTeam>();
  for (const [name, account] of Object.entries(pool.claimants)) {
    if (account.want === 0) continue;
    const team = teams.get(account.team) ?? {
      name: account.team,
      account: pool.teams[account.team]!,
      openMs: byTeam.openMs.get(account.team) ?? 0,
      missing: 0,
      members: [],
    };
    const missing = Math.max(0, account.want - (byOwner.tokens.get(name) ?? 0));
    team.members.push({ name, account, openMs: byOwner.openMs.get(name) ?? 0, missing });
    team.missing += missing;
    teams.set(account.team, team);
  }
  return [...teams.values()];
}

/** The claimant that gets the next free token, null when none wants more than it has. Moves the order of service. */
export function chooseReceiver(pool: Pool, teams: ContendingTeam[]): string | null {
  const team = elect(teams);
  if (team === null) return null;
  const member = elect(team.members)!;
  pool.served++;
  for (const receiver of [team, member]) {
    receiver.account.servedAt = pool.served;
    receiver.openMs += QUANTUM_MS;
    receiver.missing--;
  }
  pool.claimants[member.name]!.served = true;
  return member.name;
}

export function holdingsBy(pool: Pool, keyOf: (token: PoolToken) => string): Holdings {
  const holdings: Holdings = { tokens: new Map(), openMs: new Map() };
  for (const token of pool.tokens) {
    const key = keyOf(token);
    const openMs = Math.max(QUANTUM_MS, pool.clock.ms - token.at);
    holdings.tokens.set(key, (holdings.tokens.get(key) ?? 0) + 1);
    holdings.openMs.set(key, (holdings.openMs.get(key) ?? 0) + openMs);
  }
  return holdings;
}

/** The claimant with most credit wins. When none of those that wait has any left, all earn until one of them has. */
function elect<C extends Contender>(contenders: C[]): C | null {
  const waiting = contenders.filter(({ missing }) => missing > 0);
  if (waiting.length === 0) return null;
  const highest = waiting.reduce((most, contender) => Math.max(most, balance(contender)), -Infinity);
  const earnedMs = highest > 0 ? 0 : (Math.floor(-highest / QUANTUM_MS) + 1) * QUANTUM_MS;
  for (const { account, openMs } of contenders) {
    account.creditMs = Math.min(QUANTUM_MS + openMs, account.creditMs + earnedMs);
  }
  return waiting.reduce((best, next) => (precedes(next, best) ? next : best));
}

function balance({ account, openMs }: Contender): number {
  return account.creditMs - openMs;
}

function precedes(a: Contender, b: Contender): boolean {
  return balance(a) > balance(b) || (balance(a) === balance(b) && a.account.servedAt < b.account.servedAt);
}
