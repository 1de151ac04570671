/**
 * Time of an actor that several processes own in turn: what passed while one of them owned it. Their clocks need not
 * agree, so that a change of owner counts as no time at all, and a leap of a clock as a minute at most.
 */
export interface WakingClock {
  ms: number;
  lastNow: number | null;
  /** Epoch of the owner that looked last. */
  epoch: number;
}

const MAX_STEP_MS = 60_000;

export function createWakingClock(): WakingClock {
  return { ms: 0, lastNow: null, epoch: 0 };
}

/** @param now the owner's clock, ms */
export function advanceClock(clock: WakingClock, now: number, epoch: number): number {
  if (clock.lastNow !== null && clock.epoch === epoch)
    clock.ms += Math.min(MAX_STEP_MS, Math.max(0, now - clock.lastNow));
  clock.lastNow = now;
  clock.epoch = epoch;
  return clock.ms;
}
