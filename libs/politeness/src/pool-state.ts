/** State of a pool of tokens: plain JSON inside a `domain` or `team` actor. */
import type { Token, Uuid } from '@troupe/contracts';

export interface Account {
  /** Lane time earned and not used, ms; below zero = owed. */
  creditMs: number;
  /** Place in the order of service: the claimant served longest ago wins a draw. */
  servedAt: number;
}

/** A token that is out. Indexes without an entry are free. */
export interface PoolToken extends Token {
  owner: string;
  /** Version of the first Grant that names it under this `gen`. */
  v: number;
  revoked: boolean;
  /** Assigned without contention, so that it need not come back by itself: only such a token is ever revoked. */
  lasting: boolean;
  /** When it was assigned, or contention began, on the pool's clock. */
  at: number;
}

export interface Claimant extends Account {
  team: Uuid;
  replyTo: string;
  want: number;
  /** Version of the newest Demand. */
  v: number;
  /** When it was heard of, on the pool's clock. */
  seenAt: number;
  /** Lane time already charged, ms. */
  ranMs: number;
  /** Version of its current Grant. */
  grantV: number;
  /** Its Grant has changed since `grantV`. */
  dirty: boolean;
  /** It got a token since it came in. @default false */
  served?: boolean;
  /** Since when it has wanted without a token, on the pool's clock, as it last said; absent: it does not say. */
  waitingSince?: number;
}

export interface Pool {
  size: number;
  tokens: PoolToken[];
  claimants: Record<string, Claimant>;
  teams: Record<Uuid, Account>;
  /** Newest Grant version. From the generation counter, so that it keeps growing when an idle pool starts anew. */
  v: number;
  /** Picks so far: the order of service. */
  served: number;
  contended: boolean;
  /** When a claimant found no place in the window, on the pool's clock; absent: none has. */
  turnedAwayAt?: number;
  /**
   * Time during which the pool was awake, ms. Silence is measured on it: after a pause or a move to another process,
   * whose clock is another one, no claimant counts as silent before it has had time to speak.
   */
  clock: { ms: number; lastNow: number | null };
}
