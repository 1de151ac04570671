import { describe, expect, it } from '@jest/globals';
import { SlotClock } from './slot-clock.js';

const clockAt = (state: { now: number }) => {
  const waits: number[] = [];
  let early = 0;
  const clock = new SlotClock(() => state.now, {
    waited: (ms) => waits.push(ms),
    early: () => early++,
  });
  return { clock, waits, early: () => early };
};

describe('the clock of slots', () => {
  it('counts the gap from start to start, and each slot on its own', () => {
    const state = { now: 1000 };
    const { clock } = clockAt(state);
    clock.begin('a.test', 0, 100);
    state.now = 1040;
    expect(clock.dueInMs('a.test', 0, 100)).toBe(60);
    expect(clock.dueInMs('a.test', 1, 100)).toBe(0);
    expect(clock.dueInMs('b.test', 0, 100)).toBe(0);
  });

  it('tells of every wait and of requests that do not wait', () => {
    const state = { now: 1000 };
    const { clock, waits, early } = clockAt(state);
    clock.begin('a.test', 0, 100);
    state.now = 1030;
    expect(clock.waitMs('a.test', 0, 100)).toBe(70);
    state.now = 1099;
    clock.begin('a.test', 0, 100);
    expect(early()).toBe(0);
    state.now = 1150;
    clock.begin('a.test', 0, 100);
    expect(early()).toBe(1);
    expect(waits).toEqual([70]);
  });
});
