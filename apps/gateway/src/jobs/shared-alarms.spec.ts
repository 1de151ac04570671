import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { SharedAlarms } from './shared-alarms.js';

const GRAIN_MS = 100;
let alarms: SharedAlarms;
let rung: string[];
beforeEach(() => {
  jest.useFakeTimers();
  alarms = new SharedAlarms(GRAIN_MS);
  rung = [];
});
afterEach(() => void jest.useRealTimers());

describe('shared alarms', () => {
  it('ring together what is due at about the same time, with one timer', () => {
    for (const name of ['a', 'b', 'c']) alarms.set(1000, () => rung.push(name));
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(1000 + GRAIN_MS);
    expect(rung).toEqual(['a', 'b', 'c']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('ring up to a grain late and never early', () => {
    const heard: number[] = [];
    for (let i = 0; i < 20; i++) {
      const askedMs = performance.now();
      alarms.set(1000, () => heard.push(performance.now() - askedMs));
      jest.advanceTimersByTime(33);
    }
    jest.advanceTimersByTime(1000 + GRAIN_MS);
    expect(heard).toHaveLength(20);
    expect(Math.min(...heard)).toBeGreaterThanOrEqual(1000);
    expect(Math.max(...heard)).toBeLessThanOrEqual(1001 + GRAIN_MS);
  });

  it('do not ring what was forgotten', () => {
    const forget = alarms.set(1000, () => rung.push('forgotten'));
    alarms.set(1000, () => rung.push('kept'));
    forget();
    jest.advanceTimersByTime(1000 + GRAIN_MS);
    expect(rung).toEqual(['kept']);
  });
});
