/**
 * Connections of a host that answers slowly. Fewer of them are an experiment: if its answers do not become a quarter
 * shorter, the connections were not the cause, and they come back. Times are ms of the host's waking clock.
 */
export interface HostConnections {
  /** null: all that the settings allow. */
  cap: number | null;
  /** Mean duration of an answer, null when unknown, and its own low. */
  meanMs: number | null;
  lowMs: number | null;
  answers: number;
  trial: { from: number; meanMs: number; answers: number; sumMs: number } | null;
  /** From one useless trial to the next. */
  waitMs: number;
  /** No change before. */
  nextAt: number;
}

export type ConnectionChange = 'fewer' | 'undone' | 'more';

const MEAN_WEIGHT = 0.1;
const LOW_DRIFT = 1.002;
const LEAST_ANSWERS = 20;
const TRIAL_ANSWERS = 15;
const SLOW_FACTOR = 3;
const SLOW_MS = 1000;
const WELL_FACTOR = 2;
const SHORTER = 0.75;
const CALM_MS = 20_000;
const REST_MS = 5_000;
const FIRST_WAIT_MS = 60_000;
const LONGEST_WAIT_MS = 600_000;

export function createConnections(): HostConnections {
  return {
    cap: null,
    meanMs: null,
    lowMs: null,
    answers: 0,
    trial: null,
    waitMs: FIRST_WAIT_MS,
    nextAt: 0,
  };
}

/** Learns from `count` clean answers; returns what it changes. */
export function learnDuration(
  conns: HostConnections,
  { count, meanMs, most, now }: { count: number; meanMs: number; most: number; now: number },
): ConnectionChange | null {
  learnMean(conns, count, meanMs);
  conns.answers += count;
  if (conns.trial !== null) return judge(conns, { count, meanMs, most, now });
  if (conns.answers < LEAST_ANSWERS || now < conns.nextAt) return null;
  const current = conns.cap ?? most;
  if (conns.meanMs! > Math.max(SLOW_FACTOR * conns.lowMs!, SLOW_MS) && current > 1) {
    conns.trial = { from: current, meanMs: conns.meanMs!, answers: 0, sumMs: 0 };
    conns.cap = current >> 1;
    return 'fewer';
  }
  const isWell = conns.meanMs! < WELL_FACTOR * conns.lowMs!;
  if (!isWell || conns.cap === null || now <= conns.nextAt + CALM_MS) return null;
  conns.cap = current + 1 >= most ? null : current + 1;
  conns.nextAt = now;
  return 'more';
}

function learnMean(conns: HostConnections, count: number, meanMs: number): void {
  const weight = conns.meanMs === null ? 1 : 1 - (1 - MEAN_WEIGHT) ** count;
  conns.meanMs = (conns.meanMs ?? 0) * (1 - weight) + meanMs * weight;
  conns.lowMs = Math.min((conns.lowMs ?? Infinity) * LOW_DRIFT ** count, conns.meanMs);
}

/** The first answers of a trial belong to requests from before it. */
function judge(
  conns: HostConnections,
  { count, meanMs, most, now }: { count: number; meanMs: number; most: number; now: number },
): ConnectionChange | null {
  const trial = conns.trial!;
  const before = trial.answers;
  trial.answers += count;
  const counted = Math.max(0, trial.answers - Math.max(before, trial.from));
  trial.sumMs += counted * meanMs;
  const judged = trial.answers - trial.from;
  if (judged < TRIAL_ANSWERS) return null;
  conns.trial = null;
  if (trial.sumMs / judged <= SHORTER * trial.meanMs) {
    conns.nextAt = now + REST_MS;
    conns.waitMs = FIRST_WAIT_MS;
    return null;
  }
  conns.cap = trial.from >= most ? null : trial.from;
  conns.nextAt = now + conns.waitMs;
  conns.waitMs = Math.min(LONGEST_WAIT_MS, 2 * conns.waitMs);
  return 'undone';
}
