/** How the cluster treats a host, why, and what operators have set for it. */
import type { Fingerprint, Uuid } from './ids.js';

/**
 * - `open`: as its settings allow.
 * - `slowed`: fewer page starts a second than its settings allow, because of its answers.
 * - `paused`: it asked for a rest (Retry-After); no request before its end.
 * - `down`: it gives no good answer; only probes are sent.
 * - `held`: an operator has stopped all requests to it.
 */
export const HOST_STATES = ['open', 'slowed', 'paused', 'down', 'held'] as const;
export type HostState = (typeof HOST_STATES)[number];

/** `unavailable`: 503. `refused`: no connection, or one that was reset. */
export type TroubleKind = 'rateLimited' | 'unavailable' | 'refused' | 'timeout';

/** One answer, or none, that may speak of a host's overload. */
export interface HostTrouble {
  kind: TroubleKind;
  /** HTTP status, 0 when there was no answer. */
  status: number;
  /** Identity of the URL: each has one vote in ten minutes. */
  urlH: Fingerprint;
  /** Absent for zero data retention. */
  url?: string;
  /** Team that asked for the URL: no other team is shown it. */
  team: Uuid | null;
  /** Retry-After in ms. */
  retryMs: number | null;
}

/** Troubles of one report; what exceeds them is dropped. */
export const MAX_TROUBLES = 32;

/** The reason that led to a verdict; the newest five of a host are kept. */
export interface HostReason {
  /** ISO 8601. */
  at: string;
  kind: TroubleKind | 'slow';
  /** 0 when there was no answer. */
  status: number;
  url: string | null;
  team: Uuid | null;
  retryAfterMs: number | null;
  /** Effect of the verdict, in words: `rate cut to 8.2 pages/s`. */
  effect: string;
}

/** A host as its actor last wrote it (table `host`), with every verdict. */
export interface HostRecord {
  host: string;
  state: HostState;
  /** Page starts a second; null = unlimited. */
  pagesPerSecond: number | null;
  /** Connections, and least ms between starts on one, as told to the jobs. */
  maxConn: number;
  gapMs: number;
  /** When the state began, ms since 1970. */
  sinceMs: number;
  /** When it ends by itself, ms since 1970; null when that is not known. */
  untilMs: number | null;
  /** The limit that the policy remembers for the next job: plateau W in pages/s and T in ms; null: none. */
  plateau: { pagesPerSecond: number; ms: number } | null;
  /** Newest first, at most 5. */
  reasons: HostReason[];
}

/** The verdict that fetchers obey at once (KV `pen.<host>`): written after the commit of the turn that decided it. */
export interface HostVerdict {
  /** Grows for ever per host; a smaller one is out of date. */
  v: number;
  state: HostState;
  /** No request before this many ms from receipt; 0 = none. */
  restMs: number;
  /** Least ms between starts on a slot; 0 = what the lane says. */
  gapMs: number;
  /** Page starts a second that express requests may reach as a share of what is allowed, 0 … 1. */
  share: number;
}
