/**
 * Recent answers of a host, as far as verdicts need them: counts by second, troubles, and the URLs that have voted. Plain JSON,
 * bounded whatever comes; times are ms of the host's waking clock.
 */
import type { Fingerprint, HostTrouble } from '@troupe/contracts';

export interface SeenTrouble extends HostTrouble {
  at: number;
  /** Its place in the order of all answers. */
  n: number;
  /** The URL had not voted within ten minutes. */
  isFresh: boolean;
}

interface Second {
  at: number;
  clean: number;
  /** Fresh votes other than 429s. */
  votes: number;
  all: number;
}

export interface Evidence {
  /** Answers so far. */
  answers: number;
  startedAt: number | null;
  /** The newest clean answer by its place; 0: none. */
  cleanN: number;
  /** Counts of the last two minutes, oldest first. */
  seconds: Second[];
  troubles: SeenTrouble[];
  voted: { urlH: Fingerprint; at: number }[];
  /** Best clean rate of each of the last ten minutes, answers a second. */
  best: { minute: number; perS: number }[];
}

/** Evidence of overload and limits is this young. */
export const WINDOW_MS = 30_000;
/** Pages that time out one after another need longer to show that a host is down. */
const SILENCE_MS = 180_000;
const VOTE_MS = 600_000;
const RATE_MS = 10_000;
const KEPT_S = 120;
const KEPT_TROUBLES = 64;
const KEPT_VOTES = 256;
const KEPT_MINUTES = 10;

export function createEvidence(): Evidence {
  return { answers: 0, startedAt: null, cleanN: 0, seconds: [], troubles: [], voted: [], best: [] };
}

export function countClean(evidence: Evidence, count: number, now: number): void {
  const second = secondOf(evidence, now);
  evidence.answers += count;
  evidence.cleanN = evidence.answers;
  second.clean += count;
  second.all += count;
  noteBest(evidence, now);
}

export function countTrouble(evidence: Evidence, trouble: HostTrouble, now: number): SeenTrouble {
  const isFresh = vote(evidence, trouble.urlH, now);
  evidence.answers += 1;
  const second = secondOf(evidence, now);
  second.all += 1;
  if (isFresh && trouble.kind !== 'rateLimited') second.votes += 1;
  const seen = { ...trouble, at: now, n: evidence.answers, isFresh };
  evidence.troubles = [...evidence.troubles.filter(({ at }) => at > now - SILENCE_MS), seen].slice(-KEPT_TROUBLES);
  return seen;
}

/** Fresh votes of different URLs since the host last gave a clean answer. */
export function votesSinceClean({ troubles, cleanN }: Evidence): SeenTrouble[] {
  return troubles.filter(({ isFresh, n }) => isFresh && n > cleanN);
}

/** 429s after answer `n`, in order; repeated ones too. */
export function limitsSince({ troubles }: Evidence, n: number, now: number): SeenTrouble[] {
  return troubles.filter((seen) => seen.kind === 'rateLimited' && seen.n > n && seen.at > now - WINDOW_MS);
}

/** Fresh votes after answer `n` that speak of overload. */
export function overloadsSince({ troubles }: Evidence, n: number, now: number): SeenTrouble[] {
  return troubles.filter(
    ({ kind, isFresh, ...seen }) => kind !== 'rateLimited' && isFresh && seen.n > n && seen.at > now - WINDOW_MS,
  );
}

/** Share of overload among the answers of the window, 0 … 1. */
export function overloadShare({ seconds }: Evidence, now: number): number {
  const recent = seconds.filter(({ at }) => at > now - WINDOW_MS);
  const all = recent.reduce((sum, second) => sum + second.all, 0);
  return all === 0 ? 0 : recent.reduce((sum, second) => sum + second.votes, 0) / all;
}

/** Clean answers a second within the last `windowMs`, spread over `restMs` more. */
export function cleanRate({ seconds, startedAt }: Evidence, now: number, windowMs = RATE_MS, restMs = 0): number {
  const from = now - windowMs;
  const clean = seconds.reduce((sum, second) => sum + second.clean * shareWithin(second.at, from), 0);
  const spanMs = Math.min(windowMs, now - (startedAt ?? now)) + restMs;
  return (clean / Math.max(1000, spanMs)) * 1000;
}

/** Answers of any kind a second, as `cleanRate`. */
export function answerRate({ seconds, startedAt }: Evidence, now: number): number {
  const from = now - RATE_MS;
  const all = seconds.reduce((sum, second) => sum + second.all * shareWithin(second.at, from), 0);
  return (all / Math.max(1000, Math.min(RATE_MS, now - (startedAt ?? now)))) * 1000;
}

/** Best rate of the last ten minutes, 0 when there was no clean answer. */
export function bestCleanRate({ best }: Evidence): number {
  return best.reduce((most, { perS }) => Math.max(most, perS), 0);
}

/** How much of a second lies behind `from`. */
function shareWithin(at: number, from: number): number {
  return Math.min(1, Math.max(0, (at + 1000 - from) / 1000));
}

function vote(evidence: Evidence, urlH: Fingerprint, now: number): boolean {
  const voted = evidence.voted.filter(({ at }) => at > now - VOTE_MS);
  const isFresh = !voted.some((entry) => entry.urlH === urlH);
  if (isFresh) voted.push({ urlH, at: now });
  evidence.voted = voted.slice(-KEPT_VOTES);
  return isFresh;
}

function secondOf(evidence: Evidence, now: number): Second {
  evidence.startedAt ??= now;
  const at = Math.floor(now / 1000) * 1000;
  const last = evidence.seconds.at(-1);
  if (last?.at === at) return last;
  const second = { at, clean: 0, votes: 0, all: 0 };
  evidence.seconds = [...evidence.seconds.filter((old) => old.at > at - KEPT_S * 1000), second];
  return second;
}

/** A rate of the first few seconds says little. */
function noteBest(evidence: Evidence, now: number): void {
  if (now - evidence.startedAt! < RATE_MS / 2) return;
  const minute = Math.floor(now / 60_000);
  const perS = cleanRate(evidence, now);
  const last = evidence.best.at(-1);
  if (last?.minute === minute) last.perS = Math.max(last.perS, perS);
  else evidence.best = [...evidence.best.filter((old) => old.minute > minute - KEPT_MINUTES), { minute, perS }];
}
