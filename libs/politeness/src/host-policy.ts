/**
 * Limits of one host, from its settings, robots.txt and the answers seen. A slowdown needs several URLs to speak for it,
 * is cut to what the host has shown to bear, and is undone when it does not help. Plain JSON, mutated in place.
 *
 * A turn: `configureHost`, then `applyFeedback` and its like for each message, then `settleHost`; `hostLimits` says what
 * is allowed. Times are ms of the host's waking clock (`now`) or of the wall, for what is shown to people (`wallMs`).
 */
import type {
  HostFeedback,
  HostReason,
  HostRecord,
  HostState,
  HostTrouble,
  HostVerdict,
  TroubleKind,
} from '@troupe/contracts';
import { createConnections, learnDuration, type ConnectionChange, type HostConnections } from './host-connections.js';
import {
  answerRate,
  bestCleanRate,
  cleanRate,
  countClean,
  countTrouble,
  createEvidence,
  limitsSince,
  overloadShare,
  overloadsSince,
  votesSinceClean,
  type Evidence,
  type SeenTrouble,
} from './host-evidence.js';
import {
  createRate,
  cutRate,
  freeRate,
  growRate,
  MIN_RATE,
  raiseRate,
  resumeRate,
  type HostRate,
} from './host-rate.js';

export interface HostConfig {
  maxConn: number;
  gapMs: number;
  /** Page starts a second; null: whatever connections and gap give. */
  maxRate: number | null;
  giveUpMs: number;
  /** No requests at all. */
  hold: boolean;
  /** A delay instead of that of robots.txt; null: that of robots.txt. */
  crawlDelayMs: number | null;
  /** A longer delay of robots.txt counts as this. */
  maxCrawlDelayMs: number;
}

export interface Moment {
  now: number;
  wallMs: number;
}

export interface HostPolicy {
  config: HostConfig;
  /** From robots.txt, null when it names none. */
  robotsDelayMs: number | null;
  evidence: Evidence;
  rate: HostRate;
  conns: HostConnections;
  /** Connections of the lanes, as last settled. */
  lanes: number;
  pauseUntil: number;
  /** Answers that came before the last cut are no evidence for the next. */
  cut: { n: number; at: number } | null;
  /** When the rate was last cut for 429s. */
  limitedAt: number | null;
  /** When a Retry-After last asked for a pause. */
  retryAt: number | null;
  trial: { at: number; n: number; answers: number; votes: number; share: number } | null;
  /** Whether the last cut for overload has made troubles rarer. */
  hasHelped: boolean;
  /** Cuts in a row that did not help, and the rate before the first of them (null: unlimited). */
  useless: { cuts: number; before: number | null };
  down: { sinceAt: number; waits: number; probeAt: number; restUntil: number } | null;
  /** When it was last down. */
  relapse: { endedAt: number; waits: number; count: number; hadClean: boolean } | null;
  /** Troubles do not count before. */
  deafUntil: number;
  downDeafUntil: number;
  /** Troubles that are reported before belong to the time before a release. */
  troublesFrom: number;
  /** The URL that a probe asks for. */
  cleanUrl: string | null;
  troubledUrl: string | null;
  state: HostState;
  sinceMs: number;
  /** Newest first. */
  reasons: HostReason[];
  /** A decision is not written yet. */
  isNews: boolean;
}

export interface HostLimits {
  /** Lanes at a time; 0 while the host is down or held. */
  maxConn: number;
  /** Least time from start to start on one slot. */
  gapMs: number;
  /** No request before this long from now. */
  pauseMs: number;
  /** Mean duration of one page, null when unknown. */
  meanMs: number | null;
  state: HostState;
  limitedMs: number | null;
  givenUp: boolean;
  deaf: boolean;
}

const MAX_PAUSE_MS = 15 * 60_000;
/** Reports of one burst by several fetchers count once. */
const CUT_INTERVAL_MS = 1000;
const LIMITING_URLS = 2;
const OVERLOADED_URLS = 3;
const OVERLOAD_SHARE = 0.1;
/** Share of that evidence which shows a limit that is known. */
const KNOWN_LIMIT = 0.5;
const DOWN_VOTES = 4;
/** Share of 429s that a limiter gives before the host is as good as down. */
const DOWN_VOTES_WITH_429 = 8;
/** One URL that is refused this often counts as two. */
const REPEATS = 3;
const CUT_SHARE = 0.8;
/** A host that says when to come again knows its limit exactly. */
const CUT_SHARE_RETRY = 0.9;
const RATE_MS = 10_000;
const LONGEST_RATE_MS = 120_000;
/** An overload cuts to this part of the rate at least, since it does not show an exact limit. */
const OVERLOAD_CUT = 8;
/** A host that gave this part of the answers it might have given was in use. */
const IN_USE = 8;
const TRIAL_ANSWERS = 12;
const TRIAL_MS = 10_000;
const TRIAL_GAIN = 0.5;
const USELESS_CUTS = 2;
const DEAF_MS = 600_000;
const FIRST_PROBE_MS = 2000;
const LONGEST_PROBE_MS = 60_000;
const PROBE_OF_GIVEN_UP_MS = 300_000;
/** A probe without an answer is sent again. */
const PROBE_PATIENCE_MS = 60_000;
/** Answers of the time before an outage or a release are under way for this long. */
const LATE_REPORT_MS = 2000;
const RELAPSE_MS = 30_000;
const MAX_RELAPSES = 4;
const RESTART_PART = 8;
const LEAST_RESTART = 0.5;
const LATELY_MS = 600_000;
const MAX_REASONS = 5;
const CONNECTION_ROOM = 1.3;
const LEAST_MEAN_MS = 50;
const UNKNOWN_MEAN_MS = 300;
/** Below this number of connections none is given up because the mean wavers. */
const WAVERING = 1.25;
const LANE_MS = 2000;
const MAX_LANE_ITEMS = 50;

export function createHostPolicy(config: HostConfig): HostPolicy {
  return {
    config,
    robotsDelayMs: null,
    evidence: createEvidence(),
    rate: createRate(),
    conns: createConnections(),
    lanes: config.maxConn,
    pauseUntil: 0,
    cut: null,
    limitedAt: null,
    retryAt: null,
    trial: null,
    hasHelped: false,
    useless: { cuts: 0, before: null },
    down: null,
    relapse: null,
    deafUntil: 0,
    downDeafUntil: 0,
    troublesFrom: 0,
    cleanUrl: null,
    troubledUrl: null,
    state: 'open',
    sinceMs: 0,
    reasons: [],
    isNews: false,
  };
}

/** Settings may change at any time; what was learned stays. */
export function configureHost(policy: HostPolicy, config: HostConfig): void {
  policy.config = { ...config, maxConn: Math.max(1, config.maxConn), gapMs: Math.max(0, config.gapMs) };
  const top = topRate(policy);
  if (policy.rate.perS !== null && top !== null && policy.rate.perS >= top) freeRate(policy.rate);
}

/** Takes over the crawl-delay of robots.txt; null removes it. */
export function applyRobotsDelay(policy: HostPolicy, crawlDelayMs: number | null): void {
  policy.robotsDelayMs = crawlDelayMs === null || crawlDelayMs <= 0 ? null : crawlDelayMs;
}

/** Goes on with what another run has learned of the host. */
export function resumeHost(policy: HostPolicy, limit: { pagesPerSecond: number; ms: number }, moment: Moment): void {
  resumeRate(policy.rate, { perS: limit.pagesPerSecond, ms: limit.ms }, CUT_SHARE_RETRY, moment.now);
  if (topRate(policy) === null) policy.rate.ceiling = 2 * limit.pagesPerSecond;
  if (policy.rate.perS! >= (topRate(policy) ?? Infinity)) freeRate(policy.rate);
  policy.isNews = true;
}

/** Learns from what a fetcher saw since its last report. */
export function applyFeedback(policy: HostPolicy, feedback: HostFeedback, moment: Moment): void {
  const { okUrl, probe, meanMs } = feedback;
  if (probe !== undefined) endProbe(policy, probe.clean, moment);
  if (okUrl !== undefined) policy.cleanUrl = okUrl;
  for (const seen of inOrder(feedback)) {
    if (typeof seen === 'number') seeClean(policy, seen, meanMs, moment);
    else seeTrouble(policy, seen, moment);
  }
}

/** An operator releases the host: troubles held against it are forgotten, and answers under way do not count. */
export function releaseHost(policy: HostPolicy, now: number): void {
  const { answers, startedAt, cleanN, seconds, best } = policy.evidence;
  const { conns } = policy;
  policy.evidence = { answers, startedAt, cleanN, seconds, best, troubles: [], voted: [] };
  freeRate(policy.rate);
  policy.conns = { ...createConnections(), meanMs: conns.meanMs, lowMs: conns.lowMs, answers: conns.answers };
  policy.useless = { cuts: 0, before: null };
  policy.hasHelped = false;
  policy.pauseUntil = 0;
  Object.assign(policy, { cut: null, limitedAt: null, retryAt: null, trial: null, down: null, relapse: null });
  policy.deafUntil = 0;
  policy.downDeafUntil = 0;
  policy.troublesFrom = now + LATE_REPORT_MS;
  policy.isNews = true;
}

/**
 * Time for a request that finds out whether the host answers again; it counts as sent. Where no URL was ever clean the start
 * page (null) is asked for in turn with one that failed: a job may know nothing but broken addresses.
 */
export function takeProbe(policy: HostPolicy, now: number): { url: string | null } | null {
  const { down } = policy;
  if (down === null || policy.config.hold || now < down.probeAt) return null;
  down.probeAt = now + PROBE_PATIENCE_MS;
  down.restUntil = now + FIRST_PROBE_MS;
  return { url: policy.cleanUrl ?? (down.waits % 2 === 0 ? null : policy.troubledUrl) };
}

/** Ends a turn: what changes by time alone. True: the host's record is to be written. */
export function settleHost(policy: HostPolicy, moment: Moment): boolean {
  policy.lanes = lanesOf(policy);
  const state = stateOf(policy, moment.now);
  const isNews = policy.isNews || state !== policy.state;
  if (state !== policy.state || policy.sinceMs === 0) policy.sinceMs = moment.wallMs;
  policy.state = state;
  policy.isNews = false;
  return isNews;
}

/** ms until something changes without a message, null when nothing does. */
export function nextChangeMs(policy: HostPolicy, now: number): number | null {
  if (policy.config.hold) return null;
  const { down, pauseUntil, config } = policy;
  const due = pauseUntil > now ? [pauseUntil] : [];
  if (down !== null) due.push(down.probeAt, ...(isGivenUp(policy, now) ? [] : [down.sinceAt + config.giveUpMs]));
  return due.length === 0 ? null : Math.max(0, Math.min(...due) - now);
}

export function hostLimits(policy: HostPolicy, now: number): HostLimits {
  const { conns, limitedAt } = policy;
  const state = stateOf(policy, now);
  const isShut = state === 'down' || state === 'held';
  const limitedMs = limitedAt === null ? null : now - limitedAt;
  return {
    maxConn: isShut ? 0 : policy.lanes,
    gapMs: Math.round(gapOf(policy)),
    pauseMs: restMs(policy, state, now),
    meanMs: conns.meanMs,
    state,
    limitedMs: limitedMs !== null && limitedMs < LATELY_MS ? limitedMs : null,
    givenUp: isGivenUp(policy, now),
    deaf: now < policy.deafUntil,
  };
}

/** The verdict that fetchers are told; `v` grows with each telling. */
export function hostVerdict(policy: HostPolicy, v: number, now: number): HostVerdict {
  const state = stateOf(policy, now);
  const top = topRate(policy);
  const { perS } = policy.rate;
  const share = perS === null ? 1 : Math.min(1, perS / (top ?? perS));
  return {
    v,
    state,
    restMs: Math.round(restMs(policy, state, now)),
    gapMs: state === 'open' ? 0 : Math.round(gapOf(policy)),
    share: Math.round(share * 1000) / 1000,
  };
}

export function hostRecord(policy: HostPolicy, host: string, { now, wallMs }: Moment): HostRecord {
  const { rate, state, pauseUntil } = policy;
  return {
    host,
    state,
    pagesPerSecond: round(rate.perS ?? topRate(policy)),
    maxConn: policy.lanes,
    gapMs: Math.round(gapOf(policy)),
    sinceMs: policy.sinceMs,
    untilMs: state === 'paused' ? wallMs + pauseUntil - now : null,
    plateau: hostPlateau(policy),
    reasons: policy.reasons,
  };
}

/** The host's limit, as the next job should know it. */
export function hostPlateau({ rate }: HostPolicy): HostRecord['plateau'] {
  return rate.limit === null ? null : { pagesPerSecond: rate.limit.perS, ms: rate.limit.ms };
}

/** URLs of one lane: about two seconds of work, which bounds what a crash, a revocation or an unfair turn can cost. */
export function laneSize(meanMs: number | null, gapMs: number): number {
  const pageMs = (meanMs ?? UNKNOWN_MEAN_MS) + gapMs;
  return Math.max(1, Math.min(MAX_LANE_ITEMS, Math.floor(LANE_MS / pageMs)));
}

// ------------------------------------------------------------------------------------------------ evidence

/** Counts of clean answers and troubles as if they had come evenly: within one report their order is not known. */
function inOrder({ ok, troubles }: HostFeedback): (number | HostTrouble)[] {
  if (troubles.length === 0) return ok > 0 ? [ok] : [];
  const upTo = (i: number): number => Math.ceil((i * ok) / troubles.length);
  return troubles.flatMap((trouble, i) => {
    const clean = upTo(i + 1) - upTo(i);
    return clean > 0 ? [clean, trouble] : [trouble];
  });
}

function seeClean(policy: HostPolicy, count: number, meanMs: number, moment: Moment): void {
  const { now } = moment;
  if (policy.down !== null) {
    if (now - policy.down.sinceAt < LATE_REPORT_MS) return;
    reopen(policy, moment);
  }
  if (policy.relapse !== null) policy.relapse.hadClean = true;
  countClean(policy.evidence, count, now);
  const most = policy.config.maxConn;
  noteConnections(policy, learnDuration(policy.conns, { count, meanMs, most, now }), moment);
  if (now >= policy.pauseUntil) grow(policy, moment);
  countTrial(policy, count, 0, moment);
}

function seeTrouble(policy: HostPolicy, trouble: HostTrouble, moment: Moment): void {
  const { now } = moment;
  if (now < policy.troublesFrom) return;
  policy.troubledUrl = trouble.url ?? policy.troubledUrl;
  const seen = countTrouble(policy.evidence, trouble, now);
  if (policy.down !== null) return;
  if (goesDown(policy, now)) return goDown(policy, seen, moment);
  judge(policy, moment);
  countTrial(policy, 1, seen.isFresh && seen.kind !== 'rateLimited' ? 1 : 0, moment);
}

function judge(policy: HostPolicy, moment: Moment): void {
  const { now } = moment;
  const { cut, evidence } = policy;
  if (cut !== null && now - cut.at < CUT_INTERVAL_MS) return;
  const since = cut?.n ?? 0;
  const limits = limitsSince(evidence, since, now);
  // URLs that were refused before the last cut and are refused after it show that the rate is not their reason.
  const isNews = limits.some(({ isFresh }) => isFresh);
  if (isNews && speakers(limits) >= LIMITING_URLS) return cutForLimit(policy, limits, moment);
  const overloads = overloadsSince(evidence, since, now);
  const share = overloadShare(evidence, now);
  const part = isBeyondLimit(policy) ? KNOWN_LIMIT : 1;
  if (overloads.length < OVERLOADED_URLS * part || share < OVERLOAD_SHARE * part) return;
  cutForOverload(policy, { newest: overloads.at(-1)!, share }, moment);
}

/** A cut has helped, and the rate has grown past its new value: the same cut again needs less evidence. */
function isBeyondLimit({ rate, hasHelped }: HostPolicy): boolean {
  return hasHelped && rate.limit !== null && rate.perS !== null && rate.perS > rate.limit.perS;
}

/** Number of URLs that speak. One that is refused again and again (single scrapes repeat theirs) counts as two. */
function speakers(troubles: readonly SeenTrouble[]): number {
  const times = new Map<string, number>();
  for (const { urlH } of troubles) times.set(urlH, (times.get(urlH) ?? 0) + 1);
  return [...times.values()].reduce((sum, count) => sum + (count >= REPEATS ? 2 : 1), 0);
}

// ------------------------------------------------------------------------------------------------ rate

function cutForLimit(policy: HostPolicy, limits: readonly SeenTrouble[], moment: Moment): void {
  const { now } = moment;
  const retryMs = Math.max(...limits.map(({ retryMs: ms, at }) => (ms === null ? 0 : ms - (now - at))));
  const isTold = retryMs > 0;
  const pauseMs = Math.min(Math.max(0, retryMs), MAX_PAUSE_MS);
  const lasted = now - (policy.retryAt ?? policy.evidence.startedAt ?? now);
  const windowMs = isTold ? Math.min(LONGEST_RATE_MS, Math.max(RATE_MS, lasted)) : RATE_MS;
  const clean = cleanRate(policy.evidence, now, windowMs, pauseMs);
  policy.pauseUntil = Math.max(policy.pauseUntil, now + pauseMs);
  if (isTold) policy.retryAt = now;
  policy.limitedAt = now;
  const share = isTold ? CUT_SHARE_RETRY : CUT_SHARE;
  cut(policy, { bearable: bearableRate(policy, clean, now), share }, now);
  const pause = isTold ? `, paused for ${Math.ceil(pauseMs / 1000)} s` : '';
  note(policy, limits.at(-1)!, `rate cut to ${shown(policy.rate.perS)}${pause}`, moment);
}

/** The rate that was answered well. For a host that was hardly asked for anything it says little. */
function bearableRate(policy: HostPolicy, clean: number, now: number): number {
  const current = currentRate(policy);
  const isTelling = clean > 0 && isInUse(policy, now);
  return Math.max(MIN_RATE, Math.min(current, isTelling ? clean : Math.max(clean, current / 2)));
}

function isInUse(policy: HostPolicy, now: number): boolean {
  return answerRate(policy.evidence, now) >= currentRate(policy) / IN_USE;
}

/** An experiment: the share of troubles must fall to half of it. */
function cutForOverload(policy: HostPolicy, why: { newest: SeenTrouble; share: number }, moment: Moment): void {
  const { now } = moment;
  if (now < policy.deafUntil || policy.trial !== null) return;
  const { useless, evidence } = policy;
  if (useless.cuts === 0) useless.before = policy.rate.perS;
  policy.trial = { at: now, n: evidence.answers, answers: 0, votes: 0, share: why.share };
  const current = currentRate(policy);
  const least = current / (isInUse(policy, now) ? OVERLOAD_CUT : 2);
  const bearable = Math.min(current, Math.max(cleanRate(evidence, now), least));
  cut(policy, { bearable, share: CUT_SHARE }, now);
  note(policy, why.newest, `rate cut to ${shown(policy.rate.perS)}`, moment);
}

function cut(policy: HostPolicy, to: { bearable: number; share: number }, now: number): void {
  if (settingsRate(policy) === null) policy.rate.ceiling = Math.max(unlimitedRate(policy), policy.rate.ceiling ?? 0);
  cutRate(policy.rate, to.bearable, to.share, now);
  policy.cut = { n: policy.evidence.answers, at: now };
}

function grow(policy: HostPolicy, { now }: Moment): void {
  if (policy.rate.perS === null) return;
  growRate(policy.rate, topRate(policy)!, now);
}

function countTrial(policy: HostPolicy, answers: number, votes: number, moment: Moment): void {
  const { trial, useless, conns } = policy;
  if (trial === null || policy.evidence.answers <= trial.n) return;
  trial.answers += answers;
  trial.votes += votes;
  const isOver = moment.now - trial.at > Math.min(TRIAL_MS, 3 * (conns.meanMs ?? 1000));
  if (trial.answers < TRIAL_ANSWERS || !isOver) return;
  policy.trial = null;
  const hasHelped = trial.votes / trial.answers <= trial.share * TRIAL_GAIN;
  useless.cuts = hasHelped ? 0 : useless.cuts + 1;
  policy.hasHelped = hasHelped;
  if (useless.cuts >= USELESS_CUTS) undoCuts(policy, moment);
}

function undoCuts(policy: HostPolicy, moment: Moment): void {
  const { rate, useless } = policy;
  rate.limit = null;
  const top = topRate(policy);
  if (useless.before === null || top === null) freeRate(rate);
  else raiseRate(rate, useless.before, top, moment.now);
  policy.useless = { cuts: 0, before: null };
  policy.deafUntil = moment.now + DEAF_MS;
  noteAgain(policy, `rate back to ${shown(rate.perS)}: slower did not help`, moment);
}

// ------------------------------------------------------------------------------------------------ outages

function goesDown({ evidence, downDeafUntil }: HostPolicy, now: number): boolean {
  if (now < downDeafUntil) return false;
  const votes = votesSinceClean(evidence);
  const needed = votes.some(({ kind }) => kind === 'rateLimited') ? DOWN_VOTES_WITH_429 : DOWN_VOTES;
  return votes.length >= needed;
}

/** A host that a probe finds well and its items do not, again and again, only fails for some of its URLs. */
function goDown(policy: HostPolicy, seen: SeenTrouble, moment: Moment): void {
  const { now } = moment;
  const { relapse } = policy;
  const isRelapse = relapse !== null && !relapse.hadClean && now - relapse.endedAt < RELAPSE_MS;
  policy.relapse = null;
  if (isRelapse && relapse.count >= MAX_RELAPSES) {
    policy.downDeafUntil = now + DEAF_MS;
    policy.deafUntil = now + DEAF_MS;
    policy.trial = null;
    return noteAgain(policy, 'probes are answered, pages are not: troubles count for their URLs only', moment);
  }
  const waits = isRelapse ? relapse.waits : 0;
  const probeAt = now + probeWait(waits);
  policy.down = { sinceAt: now, waits, probeAt, restUntil: probeAt };
  policy.relapse = { endedAt: now, waits, count: isRelapse ? relapse.count : 0, hadClean: false };
  policy.trial = null;
  note(policy, seen, 'down: nothing but probes until it answers', moment);
}

function endProbe(policy: HostPolicy, isClean: boolean, moment: Moment): void {
  const { down } = policy;
  if (down === null) return;
  if (isClean) {
    policy.evidence.cleanN = policy.evidence.answers;
    return reopen(policy, moment);
  }
  down.waits += 1;
  const waitMs = isGivenUp(policy, moment.now) ? PROBE_OF_GIVEN_UP_MS : probeWait(down.waits);
  down.probeAt = moment.now + waitMs;
  down.restUntil = down.probeAt;
}

function probeWait(waits: number): number {
  return Math.min(LONGEST_PROBE_MS, FIRST_PROBE_MS * 2 ** Math.min(waits, 10));
}

function reopen(policy: HostPolicy, moment: Moment): void {
  const { now } = moment;
  const { down, relapse, rate } = policy;
  policy.down = null;
  policy.relapse = { endedAt: now, waits: down!.waits + 1, count: (relapse?.count ?? 0) + 1, hadClean: false };
  if (settingsRate(policy) === null) rate.ceiling = Math.max(unlimitedRate(policy), rate.ceiling ?? 0);
  const top = topRate(policy)!;
  const from = Math.min(rate.perS ?? top, Math.max(LEAST_RESTART, top / RESTART_PART));
  raiseRate(rate, from, top, now);
  noteAgain(policy, `answers again: ${shown(rate.perS)}`, moment);
}

function isGivenUp({ down, config }: HostPolicy, now: number): boolean {
  return down !== null && now - down.sinceAt >= config.giveUpMs;
}

// ------------------------------------------------------------------------------------------------ limits

function stateOf({ config, down, pauseUntil, rate, conns }: HostPolicy, now: number): HostState {
  if (config.hold) return 'held';
  if (down !== null) return 'down';
  if (pauseUntil > now) return 'paused';
  const isSlowed = rate.perS !== null || (conns.cap !== null && conns.cap < config.maxConn);
  return isSlowed ? 'slowed' : 'open';
}

function restMs(policy: HostPolicy, state: HostState, now: number): number {
  if (state === 'held') return LONGEST_PROBE_MS;
  const until = state === 'down' ? policy.down!.restUntil : policy.pauseUntil;
  return Math.max(0, until - now);
}

function crawlDelayMs({ config, robotsDelayMs }: HostPolicy): number {
  return config.crawlDelayMs ?? Math.min(robotsDelayMs ?? 0, config.maxCrawlDelayMs);
}

/** Page starts a second that the settings allow, null: any number. */
function settingsRate(policy: HostPolicy): number | null {
  const { maxConn, gapMs, maxRate } = policy.config;
  const delayMs = crawlDelayMs(policy);
  const rates = [
    ...(gapMs > 0 ? [(maxConn * 1000) / gapMs] : []),
    ...(delayMs > 0 ? [1000 / delayMs] : []),
    ...(maxRate === null ? [] : [maxRate]),
  ];
  return rates.length === 0 ? null : Math.min(...rates);
}

/** At this rate the host is not slowed any more; null: it is not, and nothing limits it. */
function topRate(policy: HostPolicy): number | null {
  return settingsRate(policy) ?? policy.rate.ceiling;
}

/** As good as unlimited: twice what was seen in ten minutes, or what its connections can have done. */
function unlimitedRate({ evidence, config, conns }: HostPolicy): number {
  const possible = (config.maxConn * 1000) / Math.max(LEAST_MEAN_MS, conns.meanMs ?? UNKNOWN_MEAN_MS);
  return Math.max(2 * bestCleanRate(evidence), possible);
}

/** The most that the rate can be now. */
function currentRate(policy: HostPolicy): number {
  return policy.rate.perS ?? topRate(policy) ?? unlimitedRate(policy);
}

/** As many connections as the rate needs, so that the gap on each of them is short. */
function lanesOf(policy: HostPolicy): number {
  const { config, conns, rate, lanes } = policy;
  const most = Math.min(conns.cap ?? config.maxConn, config.maxConn);
  if (crawlDelayMs(policy) > 0) return 1;
  if (rate.perS === null && config.maxRate === null) return most;
  const perS = rate.perS ?? settingsRate(policy)!;
  const meanMs = Math.max(LEAST_MEAN_MS, conns.meanMs ?? UNKNOWN_MEAN_MS);
  const needed = (CONNECTION_ROOM * perS * meanMs) / 1000;
  const isEnough = needed <= lanes && needed > lanes - WAVERING;
  return Math.max(1, Math.min(most, isEnough ? lanes : Math.ceil(needed)));
}

function gapOf(policy: HostPolicy): number {
  const { config, rate } = policy;
  const perS = rate.perS ?? config.maxRate;
  const spread = perS === null ? 0 : (policy.lanes * 1000) / perS;
  return Math.max(config.gapMs, crawlDelayMs(policy), spread);
}

// ------------------------------------------------------------------------------------------------ reasons

function noteConnections(policy: HostPolicy, change: ConnectionChange | null, moment: Moment): void {
  if (change === null) return;
  const { conns, config } = policy;
  const count = `${conns.cap ?? config.maxConn} of ${config.maxConn} connections`;
  const effect = { fewer: `slow answers: ${count}`, undone: `${count}: fewer did not help`, more: count }[change];
  add(policy, { kind: 'slow', status: 0, url: null, team: null, retryAfterMs: null }, effect, moment);
}

function note(policy: HostPolicy, trouble: HostTrouble, effect: string, moment: Moment): void {
  const { kind, status, url, team, retryMs } = trouble;
  add(policy, { kind, status, url: url ?? null, team, retryAfterMs: retryMs }, effect, moment);
}

/** A change or an end of a verdict has that verdict's reason. */
function noteAgain(policy: HostPolicy, effect: string, moment: Moment): void {
  const last = policy.reasons[0];
  const none = { kind: 'unavailable' as TroubleKind, status: 0, url: null, team: null, retryAfterMs: null };
  const { kind, status, url, team, retryAfterMs } = last ?? none;
  add(policy, { kind, status, url, team, retryAfterMs }, effect, moment);
}

function add(policy: HostPolicy, why: Omit<HostReason, 'at' | 'effect'>, effect: string, { wallMs }: Moment): void {
  const reason = { at: new Date(wallMs).toISOString(), ...why, effect };
  policy.reasons = [reason, ...policy.reasons].slice(0, MAX_REASONS);
  policy.isNews = true;
}

function shown(perS: number | null): string {
  return perS === null ? 'what its settings allow' : `${round(perS)} pages/s`;
}

function round<T extends number | null>(perS: T): T {
  return (perS === null ? null : Number(perS.toPrecision(3))) as T;
}
