/**
 * Decides when a host's actor asks for robots.txt: before its first grant, once a day, and again while there is no good
 * answer.
 */
import type { Demand, RobotsDone } from '@troupe/contracts';

/** Times are ms of the host's waking clock. */
export interface RobotsWatch {
  /** Time of the last good answer. */
  knownAt: number | null;
  /** Time of the question that is under way. */
  askedAt: number | null;
  /** Bad answers in a row. */
  failures: number;
  /** Time before which it is not asked again. */
  askAt: number;
  /** User agent of the job that last asked for pages. */
  agent: string | null;
  origin: string | null;
}

/** Longest wait for an answer. Nothing is granted meanwhile, because the answer may name a crawl-delay. */
const PATIENCE_MS = 15_000;
const FRESH_MS = 24 * 3_600_000;
const AGAIN_MS = [5_000, 30_000, 120_000, 600_000];
const LONGEST_WAIT_MS = 15 * 60_000;

export function createRobotsWatch(): RobotsWatch {
  return { knownAt: null, askedAt: null, failures: 0, askAt: 0, agent: null, origin: null };
}

export function noteAsker(watch: RobotsWatch, { robotsAgent, origin, want }: Demand): void {
  if (origin !== null) watch.origin = origin;
  if (robotsAgent !== null && want > 0) watch.agent = robotsAgent;
}

/** The user agent to ask with, if it is time to ask. The question counts as sent. */
export function takeQuestion(watch: RobotsWatch, now: number): { agent: string } | null {
  const { knownAt, agent } = watch;
  if (watch.askedAt !== null && !isUnderWay(watch, now)) noteFailure(watch, null, now);
  if (agent === null || watch.askedAt !== null || now < watch.askAt) return null;
  if (knownAt !== null && watch.failures === 0 && now - knownAt < FRESH_MS) return null;
  watch.askedAt = now;
  return { agent };
}

export function noteAnswer(watch: RobotsWatch, { ok, retryAfterMs }: RobotsDone, now: number): void {
  if (ok === false) return noteFailure(watch, retryAfterMs ?? null, now);
  watch.askedAt = null;
  watch.knownAt = now;
  watch.failures = 0;
  watch.askAt = 0;
}

function noteFailure(watch: RobotsWatch, retryAfterMs: number | null, now: number): void {
  const pauseMs = retryAfterMs ?? AGAIN_MS[Math.min(watch.failures, AGAIN_MS.length - 1)]!;
  watch.askedAt = null;
  watch.failures += 1;
  watch.askAt = now + Math.min(LONGEST_WAIT_MS, Math.max(1000, pauseMs));
}

/** The first answer of the host is on its way. */
export function isAwaited(watch: RobotsWatch, now: number): boolean {
  return watch.knownAt === null && watch.failures === 0 && isUnderWay(watch, now);
}

/** The host's robots.txt could not be read so far. */
export function isUnreadable({ knownAt, failures }: RobotsWatch): boolean {
  return knownAt === null && failures > 0;
}

/** ms until it is to be looked at again, null: not before a job asks for pages. */
export function robotsDueMs(watch: RobotsWatch, now: number): number | null {
  if (isUnderWay(watch, now)) return watch.askedAt! + PATIENCE_MS - now;
  if (watch.agent === null || watch.failures === 0) return null;
  return Math.max(0, watch.askAt - now);
}

function isUnderWay({ askedAt }: RobotsWatch, now: number): boolean {
  return askedAt !== null && now - askedAt < PATIENCE_MS;
}
