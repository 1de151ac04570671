import { beforeEach, describe, expect, it } from '@jest/globals';
import type { HostFeedback, HostTrouble, TroubleKind } from '@troupe/contracts';
import * as fc from 'fast-check';
import {
  applyFeedback,
  applyRobotsDelay,
  createHostPolicy,
  hostLimits,
  laneSize,
  type HostPolicy,
} from './host-policy.js';

const NOTHING: HostFeedback = {
  type: 'HostFeedback',
  host: 'h',
  ok: 0,
  meanMs: 0,
  troubles: [],
};

const some = (kind: TroubleKind, count: number, retryMs: number | null = null): HostTrouble[] =>
  Array.from({ length: count }, (_, n) => ({ kind, status: 0, urlH: `${n}`, team: null, retryMs }));

let policy: HostPolicy;

/** Reports what is given, nothing else, at `now`. */
function see(now: number, seen: Partial<HostFeedback>): void {
  applyFeedback(policy, { ...NOTHING, ...seen }, now);
}

beforeEach(() => {
  policy = createHostPolicy({ maxConn: 8, gapMs: 100 });
});

describe('limits of a host', () => {
  it('are those of the configuration at first', () => {
    expect(hostLimits(policy, 0)).toEqual({ maxConn: 8, gapMs: 100, pauseMs: 0, meanMs: null });
  });

  it('allow one connection at least, and no gap below zero', () => {
    expect(hostLimits(createHostPolicy({ maxConn: 0, gapMs: -5 }), 0)).toMatchObject({ maxConn: 1, gapMs: 0 });
  });

  it('with a crawl-delay allow one connection and the longer gap, up to a minute', () => {
    applyRobotsDelay(policy, 3000);
    expect(hostLimits(policy, 0)).toMatchObject({ maxConn: 1, gapMs: 3000 });
    applyRobotsDelay(policy, 50);
    expect(hostLimits(policy, 0)).toMatchObject({ maxConn: 1, gapMs: 100 });
    applyRobotsDelay(policy, 3_600_000);
    expect(hostLimits(policy, 0).gapMs).toBe(60_000);
    for (const none of [null, 0, -1]) {
      applyRobotsDelay(policy, none);
      expect(hostLimits(policy, 0)).toMatchObject({ maxConn: 8, gapMs: 100 });
    }
  });

  it('survive a JSON round trip', () => {
    see(0, { troubles: some('rateLimited', 1, 500), ok: 3, meanMs: 80 });
    expect(JSON.parse(JSON.stringify(policy))).toEqual(policy);
  });
});

describe('back-off', () => {
  it.each(['rateLimited', 'unavailable', 'refused'] as const)(
    'halves the connections and doubles the gap on %s',
    (kind) => {
      see(0, { troubles: some(kind, 1) });
      expect(hostLimits(policy, 0)).toMatchObject({ maxConn: 4, gapMs: 1000 });
      see(5_000, { troubles: some(kind, 1) });
      expect(hostLimits(policy, 5_000)).toMatchObject({ maxConn: 2, gapMs: 2000 });
    },
  );

  it('takes the reports of one burst for one', () => {
    for (let i = 0; i < 10; i++) see(i * 90, { troubles: some('rateLimited', 20) });
    expect(hostLimits(policy, 900).maxConn).toBe(4);
    see(1000, { troubles: some('rateLimited', 1) });
    expect(hostLimits(policy, 1000).maxConn).toBe(2);
  });

  it('ends at one connection and a gap of two minutes', () => {
    for (let i = 0; i < 50; i++) see(i * 2_000, { troubles: some('unavailable', 1) });
    expect(hostLimits(policy, 100_000)).toMatchObject({ maxConn: 1, gapMs: 120_000 });
  });

  it('doubles the crawl-delay when that is the gap', () => {
    applyRobotsDelay(policy, 5000);
    see(0, { troubles: some('rateLimited', 1) });
    expect(hostLimits(policy, 0).gapMs).toBe(10_000);
  });

  it('answers to timeouts when more than a fifth of about the last twenty answers were some', () => {
    see(0, { ok: 15, troubles: some('timeout', 4) });
    expect(hostLimits(policy, 0).maxConn).toBe(8);
    see(0, { troubles: some('timeout', 1) });
    expect(hostLimits(policy, 0).maxConn).toBe(4);
  });

  it('overlooks a few timeouts among many answers', () => {
    for (let i = 0; i < 20; i++) see(i * 2_000, { ok: 9, troubles: some('timeout', 1) });
    expect(hostLimits(policy, 0).maxConn).toBe(8);
  });

  it('lets the gap down first, then gives connections back one by one, a step per fifty clean pages', () => {
    see(0, { troubles: some('rateLimited', 1) });
    const seen: [number, number][] = [];
    for (let step = 0; step < 20; step++) {
      see(10_000 + step, { ok: 50, meanMs: 10 });
      const { maxConn, gapMs } = hostLimits(policy, 10_000);
      seen.push([maxConn, gapMs]);
    }
    expect(seen.slice(0, 4)).toEqual([
      [4, 800],
      [4, 640],
      [4, 512],
      [4, 410],
    ]);
    expect(seen.at(-1)).toEqual([8, 100]);
    const gaps = seen.map(([, gapMs]) => gapMs);
    expect(gaps).toEqual([...gaps].sort((a, b) => b - a));
    expect(seen.every(([maxConn, gapMs]) => maxConn === 4 || gapMs === 100)).toBe(true);
  });

  it('begins its recovery anew after the next overload', () => {
    see(0, { troubles: some('rateLimited', 1) });
    see(5_000, { ok: 49 });
    see(10_000, { troubles: some('rateLimited', 1) });
    see(15_000, { ok: 1 });
    expect(hostLimits(policy, 15_000)).toMatchObject({ maxConn: 2, gapMs: 2000 });
  });

  it('keeps every limit within its bounds whatever is reported', () => {
    const reports = fc.record({
      ok: fc.nat({ max: 200 }),
      meanMs: fc.nat({ max: 60_000 }),
      troubles: fc.array(
        fc.record({
          kind: fc.constantFrom<TroubleKind>('rateLimited', 'unavailable', 'refused', 'timeout'),
          status: fc.constant(0),
          urlH: fc.constantFrom('a', 'b', 'c', 'd'),
          team: fc.constant(null),
          retryMs: fc.option(fc.integer({ min: -1_000, max: 10_000_000 }), { nil: null }),
        }),
        { maxLength: 8 },
      ),
    });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: -100_000, max: 1_000_000 }), reports), { maxLength: 40 }),
        (steps) => {
          policy = createHostPolicy({ maxConn: 8, gapMs: 100 });
          for (const [now, report] of steps) {
            see(now, report);
            const limits = hostLimits(policy, now);
            expect(limits.maxConn).toBeGreaterThanOrEqual(1);
            expect(limits.maxConn).toBeLessThanOrEqual(8);
            expect(limits.gapMs).toBeGreaterThanOrEqual(100);
            expect(limits.gapMs).toBeLessThanOrEqual(120_000);
            expect(limits.pauseMs).toBeGreaterThanOrEqual(0);
            expect(limits.pauseMs).toBeLessThanOrEqual(15 * 60_000);
          }
        },
      ),
    );
  });
});

describe('a penalty', () => {
  it('lasts as long as the host asked for, up to fifteen minutes', () => {
    see(1_000, { troubles: some('rateLimited', 1, 5_000) });
    expect(hostLimits(policy, 1_000).pauseMs).toBe(5_000);
    expect(hostLimits(policy, 4_000).pauseMs).toBe(2_000);
    expect(hostLimits(policy, 6_000).pauseMs).toBe(0);
    see(10_000, { troubles: some('rateLimited', 1, 86_400_000) });
    expect(hostLimits(policy, 10_000).pauseMs).toBe(900_000);
  });

  it('is extended by a longer one and not cut short by a shorter one', () => {
    see(0, { troubles: some('timeout', 1, 10_000) });
    see(1_000, { troubles: some('timeout', 1, 2_000) });
    expect(hostLimits(policy, 1_000).pauseMs).toBe(9_000);
    see(2_000, { troubles: some('timeout', 1, 20_000) });
    expect(hostLimits(policy, 2_000).pauseMs).toBe(20_000);
  });

  it('does not grow when the clock is that of another process', () => {
    see(1_000_000, { troubles: some('timeout', 1, 5_000) });
    expect(hostLimits(policy, 0).pauseMs).toBe(5_000);
  });
});

describe('the mean duration of a page', () => {
  it('is that of the first report, then follows the newer ones slowly', () => {
    see(0, { ok: 1, meanMs: 200 });
    expect(hostLimits(policy, 0).meanMs).toBe(200);
    see(0, { ok: 1, meanMs: 1200 });
    expect(hostLimits(policy, 0).meanMs).toBeCloseTo(300);
    see(0, { troubles: some('timeout', 1), meanMs: 9_999 });
    expect(hostLimits(policy, 0).meanMs).toBeCloseTo(300);
    see(0, { ok: 100, meanMs: 500 });
    expect(hostLimits(policy, 0).meanMs).toBeCloseTo(500, 0);
  });
});

describe('the size of a lane', () => {
  it.each([
    [null, 0, 6],
    [null, 100, 5],
    [0, 0, 50],
    [10, 0, 50],
    [100, 100, 10],
    [1_999, 0, 1],
    [60_000, 60_000, 1],
  ])('for pages of %s ms with a gap of %i ms is %i: about two seconds of work', (meanMs, gapMs, size) => {
    expect(laneSize(meanMs, gapMs)).toBe(size);
  });
});
