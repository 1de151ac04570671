/**
 * What one host allows: connections, gap and pauses, from configuration, robots.txt and the answers seen. Additive
 * increase, multiplicative decrease. Plain JSON, mutated in place; `now` is any clock in ms of which only differences
 * count, and it may be another process's clock from one call to the next.
 */
import type { HostFeedback } from '@troupe/contracts';

const MAX_CRAWL_DELAY_MS = 60_000;
const MAX_BACKOFF_GAP_MS = 120_000;
const MIN_BACKOFF_GAP_MS = 1000;
const MAX_PAUSE_MS = 15 * 60_000;
/** Reports of one burst by several fetchers count once. */
const CUT_INTERVAL_MS = 1000;
const CLEAN_PAGES_PER_STEP = 50;
const GAP_RECOVERY = 0.8;
const TIMEOUT_WINDOW = 20;
const TIMEOUT_SHARE = 0.2;
/** Weight of one new answer in the mean. */
const MEAN_WEIGHT = 0.1;

const LANE_MS = 2000;
const MAX_LANE_ITEMS = 50;
const UNKNOWN_MEAN_MS = 300;

export interface HostPolicy {
  config: { maxConn: number; gapMs: number };
  /** From robots.txt, null when it names none. */
  crawlDelayMs: number | null;
  /** Connections that the host has shown to bear, 1 … config.maxConn. */
  level: number;
  /** 0 when the host was not overloaded lately. */
  backoffGapMs: number;
  /** Clean answers since the last step of recovery. */
  clean: number;
  meanMs: number | null;
  /** Answers and timeouts among about the last `TIMEOUT_WINDOW`. */
  window: { answers: number; timeouts: number };
  /** Length of the penalty, counted from `at`. */
  pause: { ms: number; at: number };
  cutAt: number | null;
}

export interface HostLimits {
  maxConn: number;
  /** Least time from start to start on one slot. */
  gapMs: number;
  /** No request before this long from now. */
  pauseMs: number;
  /** Mean duration of one page, null when unknown. */
  meanMs: number | null;
}

export function createHostPolicy(config: { maxConn: number; gapMs: number }): HostPolicy {
  return {
    config: { maxConn: Math.max(1, config.maxConn), gapMs: Math.max(0, config.gapMs) },
    crawlDelayMs: null,
    level: Math.max(1, config.maxConn),
    backoffGapMs: 0,
    clean: 0,
    meanMs: null,
    window: { answers: 0, timeouts: 0 },
    pause: { ms: 0, at: 0 },
    cutAt: null,
  };
}

/** Takes over the crawl-delay of robots.txt; null removes it. */
export function applyRobotsDelay(policy: HostPolicy, crawlDelayMs: number | null): void {
  policy.crawlDelayMs = crawlDelayMs === null || crawlDelayMs <= 0 ? null : Math.min(crawlDelayMs, MAX_CRAWL_DELAY_MS);
}

/** Learns from what a fetcher saw since its last report. */
export function applyFeedback(policy: HostPolicy, feedback: HostFeedback, now: number): void {
  learnMean(policy, feedback);
  for (const { retryMs } of feedback.troubles) if (retryMs !== null) extendPause(policy, retryMs, now);
  if (isOverloaded(policy, feedback)) backOff(policy, now);
  else recover(policy, feedback.ok);
}

export function hostLimits(policy: HostPolicy, now: number): HostLimits {
  const { config, crawlDelayMs, level, backoffGapMs, meanMs } = policy;
  return {
    maxConn: crawlDelayMs === null ? level : 1,
    gapMs: Math.max(config.gapMs, crawlDelayMs ?? 0, Math.round(backoffGapMs)),
    pauseMs: remainingPause(policy, now),
    meanMs,
  };
}

/** URLs of one lane: about two seconds of work, which bounds what a crash, a revocation or an unfair turn can cost. */
export function laneSize(meanMs: number | null, gapMs: number): number {
  const pageMs = (meanMs ?? UNKNOWN_MEAN_MS) + gapMs;
  return Math.max(1, Math.min(MAX_LANE_ITEMS, Math.floor(LANE_MS / pageMs)));
}

function learnMean(policy: HostPolicy, { ok, meanMs }: HostFeedback): void {
  if (ok <= 0) return;
  const weight = policy.meanMs === null ? 1 : 1 - (1 - MEAN_WEIGHT) ** ok;
  policy.meanMs = (policy.meanMs ?? 0) * (1 - weight) + meanMs * weight;
}

function isOverloaded(policy: HostPolicy, feedback: HostFeedback): boolean {
  const { window } = policy;
  const timeouts = feedback.troubles.filter(({ kind }) => kind === 'timeout').length;
  window.answers += feedback.ok + timeouts;
  window.timeouts += timeouts;
  const share = window.answers === 0 ? 0 : window.timeouts / window.answers;
  if (window.answers > TIMEOUT_WINDOW) policy.window = { answers: TIMEOUT_WINDOW, timeouts: share * TIMEOUT_WINDOW };
  const timedOut = window.answers >= TIMEOUT_WINDOW && share > TIMEOUT_SHARE;
  return timedOut || feedback.troubles.length > timeouts;
}

function backOff(policy: HostPolicy, now: number): void {
  policy.clean = 0;
  const sinceCut = policy.cutAt === null ? Infinity : Math.abs(now - policy.cutAt);
  if (sinceCut < CUT_INTERVAL_MS) return;
  const gap = Math.max(policy.config.gapMs, policy.crawlDelayMs ?? 0, policy.backoffGapMs);
  policy.cutAt = now;
  policy.level = Math.max(1, Math.floor(policy.level / 2));
  policy.backoffGapMs = Math.min(MAX_BACKOFF_GAP_MS, Math.max(2 * gap, MIN_BACKOFF_GAP_MS));
  policy.window = { answers: 0, timeouts: 0 };
}

/** First the gap comes down, then connections come back. */
function recover(policy: HostPolicy, ok: number): void {
  policy.clean += ok;
  while (policy.clean >= CLEAN_PAGES_PER_STEP) {
    policy.clean -= CLEAN_PAGES_PER_STEP;
    if (policy.backoffGapMs > 0) policy.backoffGapMs = reducedGap(policy);
    else policy.level = Math.min(policy.config.maxConn, policy.level + 1);
  }
}

/** Below the configured gap, or 100 ms, the back-off is over. */
function reducedGap(policy: HostPolicy): number {
  const gap = policy.backoffGapMs * GAP_RECOVERY;
  return gap <= Math.max(policy.config.gapMs, 100) ? 0 : gap;
}

function extendPause(policy: HostPolicy, retryMs: number, now: number): void {
  const ms = Math.max(remainingPause(policy, now), Math.min(Math.max(0, retryMs), MAX_PAUSE_MS));
  policy.pause = { ms, at: now };
}

function remainingPause({ pause }: HostPolicy, now: number): number {
  const elapsed = Math.max(0, now - pause.at);
  return Math.max(0, pause.ms - elapsed);
}
