/**
 * Page starts a second that a host bears: cut to what it answered well, then back on a cubic curve: fast far below the
 * rate that failed, slowly near it, fast again beyond it. Times are ms of the host's waking clock.
 */
export interface RateCurve {
  /** Plateau W, page starts a second. */
  perS: number;
  /** From the cut to the plateau, T. */
  ms: number;
  /** Rate at its beginning. */
  from: number;
  at: number;
}

export interface HostRate {
  /** Page starts a second; null: as the settings allow. */
  perS: number | null;
  curve: RateCurve | null;
  /** Plateau of the last cut: what the host is known to bear. */
  limit: { perS: number; ms: number } | null;
  /** Set for a host whose settings know no limit: at this rate it is unlimited again. */
  ceiling: number | null;
}

export const MIN_RATE = 0.05;
const FIRST_PLATEAU_MS = 20_000;
const LONGEST_PLATEAU_MS = 120_000;
const RECOVERY_MS = 10_000;
/** A cut to this part of the last plateau, at least and at most, has met the same limit again. */
const SAME_LIMIT = { least: 0.7, most: 1.4 };

export function createRate(): HostRate {
  return { perS: null, curve: null, limit: null, ceiling: null };
}

/** @param bearable what the host has shown to bear; @param share how much of it is asked for at first */
export function cutRate(rate: HostRate, bearable: number, share: number, now: number): void {
  const { limit } = rate;
  const isKnown = limit !== null && bearable > limit.perS * SAME_LIMIT.least && bearable < limit.perS * SAME_LIMIT.most;
  const ms = isKnown ? Math.min(LONGEST_PLATEAU_MS, 2 * limit.ms) : FIRST_PLATEAU_MS;
  rate.limit = { perS: bearable, ms };
  begin(rate, { perS: bearable, ms, from: Math.max(MIN_RATE, share * bearable), at: now });
}

/** From `from` back to what the settings allow, `top`: after an outage, or a cut that did not help. */
export function raiseRate(rate: HostRate, from: number, top: number, now: number): void {
  if (from >= top) return freeRate(rate);
  begin(rate, { perS: top / 2, ms: RECOVERY_MS, from, at: now });
}

/** A job that comes later goes on with what is known of the host. */
export function resumeRate(rate: HostRate, limit: { perS: number; ms: number }, share: number, now: number): void {
  rate.limit = { ...limit };
  begin(rate, { ...limit, from: Math.max(MIN_RATE, share * limit.perS), at: now });
}

/** The curve at `now`; at `top` the host is as its settings allow. */
export function growRate(rate: HostRate, top: number, now: number): void {
  if (rate.perS === null || rate.curve === null) return;
  const { perS, ms, from, at } = rate.curve;
  const x = (now - at) / ms - 1;
  const span = x < 0 ? perS - from : perS / 2;
  rate.perS = Math.max(from, perS + span * x ** 3);
  if (rate.perS >= top) freeRate(rate);
}

export function freeRate(rate: HostRate): void {
  Object.assign(rate, createRate());
}

function begin(rate: HostRate, curve: RateCurve): void {
  rate.curve = curve;
  rate.perS = curve.from;
}
