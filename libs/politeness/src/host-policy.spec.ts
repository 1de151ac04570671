import { beforeEach, describe, expect, it } from '@jest/globals';
import type { HostFeedback, HostTrouble, TroubleKind } from '@troupe/contracts';
import * as fc from 'fast-check';
import {
  applyFeedback,
  applyRobotsDelay,
  configureHost,
  createHostPolicy,
  hostLimits,
  hostPlateau,
  hostRecord,
  hostVerdict,
  laneSize,
  nextChangeMs,
  releaseHost,
  resumeHost,
  settleHost,
  takeProbe,
  type HostConfig,
  type HostPolicy,
} from './host-policy.js';

const CONFIG: HostConfig = {
  maxConn: 8,
  gapMs: 100,
  maxRate: null,
  giveUpMs: 1_800_000,
  hold: false,
  crawlDelayMs: null,
  maxCrawlDelayMs: 60_000,
};
const TOP = 80;

let policy: HostPolicy;
let now: number;
let urls: number;

const at = () => ({ now, wallMs: 1_764_000_000_000 + now });
const limits = () => hostLimits(policy, now);

function start(config: Partial<HostConfig> = {}): void {
  policy = createHostPolicy({ ...CONFIG, ...config });
  now = 100_500;
  urls = 0;
  settleHost(policy, at());
}

beforeEach(() => start());

/** One trouble each of `count` URLs that were not seen before. */
function some(kind: TroubleKind, count: number, retryMs: number | null = null): HostTrouble[] {
  const status = { rateLimited: 429, unavailable: 503, refused: 0, timeout: 0 }[kind];
  return Array.from({ length: count }, () => {
    const url = `http://h/${++urls}`;
    return { kind, status, urlH: url, url, team: 't', retryMs };
  });
}

function see(seen: Partial<HostFeedback>): boolean {
  applyFeedback(policy, { type: 'HostFeedback', host: 'h', ok: 0, meanMs: 80, troubles: [], ...seen }, at());
  return settleHost(policy, at());
}

/** Clean answers at this rate for so many seconds. */
function clean(perS: number, seconds: number, meanMs = 80): void {
  for (let i = 0; i < seconds; i++) {
    now += 1000;
    see({ ok: perS, meanMs });
  }
}

function probe(isClean: boolean): void {
  now += nextChangeMs(policy, now)!;
  expect(takeProbe(policy, now)).not.toBeNull();
  see({ probe: { clean: isClean } });
}

describe('limits of a host', () => {
  it('are those of its settings at first', () => {
    expect(limits()).toEqual({
      maxConn: 8,
      gapMs: 100,
      pauseMs: 0,
      meanMs: null,
      state: 'open',
      limitedMs: null,
      givenUp: false,
      deaf: false,
    });
    expect(hostVerdict(policy, 7, now)).toEqual({ v: 7, state: 'open', restMs: 0, gapMs: 0, share: 1 });
    expect(nextChangeMs(policy, now)).toBeNull();
  });

  it('with a crawl-delay are one connection and the longer gap, up to a minute', () => {
    for (const [delay, maxConn, gapMs] of [
      [3000, 1, 3000],
      [50, 1, 100],
      [3_600_000, 1, 60_000],
      [null, 8, 100],
      [0, 8, 100],
      [-1, 8, 100],
    ] as const) {
      applyRobotsDelay(policy, delay);
      settleHost(policy, at());
      expect(limits()).toMatchObject({ maxConn, gapMs, state: 'open' });
    }
  });

  it('obey an operator who sets another delay, a rate or a hold', () => {
    applyRobotsDelay(policy, 30_000);
    configureHost(policy, { ...CONFIG, crawlDelayMs: 0 });
    settleHost(policy, at());
    expect(limits()).toMatchObject({ maxConn: 8, gapMs: 100 });
    configureHost(policy, { ...CONFIG, crawlDelayMs: 2000 });
    settleHost(policy, at());
    expect(limits()).toMatchObject({ maxConn: 1, gapMs: 2000 });
    configureHost(policy, { ...CONFIG, crawlDelayMs: 0, maxRate: 1 });
    settleHost(policy, at());
    expect(limits()).toMatchObject({ maxConn: 1, gapMs: 1000, state: 'open' });
    configureHost(policy, { ...CONFIG, hold: true });
    expect(settleHost(policy, at())).toBe(true);
    expect(limits()).toMatchObject({ maxConn: 0, state: 'held', pauseMs: 60_000 });
  });

  it('with a rate have as many connections as that needs', () => {
    configureHost(policy, { ...CONFIG, maxRate: 4 });
    see({ ok: 1, meanMs: 900 });
    expect(limits()).toMatchObject({ maxConn: 5, gapMs: 1250 });
  });

  it('survive a JSON round trip', () => {
    see({ troubles: some('rateLimited', 2, 500), ok: 3 });
    expect(JSON.parse(JSON.stringify(policy))).toEqual(policy);
  });
});

describe('a trouble of one URL', () => {
  it.each(['rateLimited', 'unavailable', 'refused', 'timeout'] as const)('%s is not its host’s', (kind) => {
    clean(20, 3);
    const [trouble] = some(kind, 1, 60_000);
    for (let i = 0; i < 2; i++) {
      now += 300;
      expect(see({ troubles: [trouble!] })).toBe(false);
    }
    expect(limits()).toMatchObject({ state: 'open', maxConn: 8, gapMs: 100, pauseMs: 0 });
  });

  it('counts as two when it is a 429 for the third time in half a minute', () => {
    const [trouble] = some('rateLimited', 1);
    for (let i = 0; i < 3; i++) {
      now += 14_000;
      see({ troubles: [trouble!] });
    }
    expect(limits().state).toBe('slowed');
  });

  it('is no vote for overload twice in ten minutes', () => {
    clean(20, 3);
    const broken = some('unavailable', 2);
    for (let i = 0; i < 5; i++) {
      now += 5_000;
      see({ troubles: broken });
    }
    expect(limits().state).toBe('open');
  });
});

describe('a limit', () => {
  it.each([
    ['rateLimited', 100, 2],
    ['rateLimited', 0, 2],
    ['unavailable', 100, 3],
  ] as const)(
    '(%s) of a host that was hardly asked for anything (gap %i ms) only halves its rate',
    (kind, gapMs, urls) => {
      start({ gapMs, maxConn: 4 });
      clean(1, 2);
      now += 20_000;
      clean(1, 1);
      see({ troubles: some(kind, urls) });
      expect(limits().state).toBe('slowed');
      expect(policy.rate.perS).toBeGreaterThan(15);
    },
  );

  it('that only URLs speak of which were refused before is none of the host', () => {
    const always = some('rateLimited', 2);
    clean(20, 10);
    see({ ok: 20, troubles: always });
    const { perS } = policy.rate;
    for (let i = 0; i < 5; i++) {
      clean(10, 5);
      see({ ok: 10, troubles: always });
      expect(policy.rate.perS).toBeGreaterThanOrEqual(perS!);
    }
    see({ ok: 10, troubles: [always[0]!, ...some('rateLimited', 1)] });
    expect(policy.cut!.at).toBe(now);
  });

  it('of two URLs cuts the rate to what was answered well', () => {
    clean(10, 20);
    expect(see({ troubles: some('rateLimited', 2) })).toBe(true);
    const record = hostRecord(policy, 'h', at());
    expect(record).toMatchObject({ state: 'slowed', untilMs: null, sinceMs: at().wallMs });
    expect(record.pagesPerSecond).toBeGreaterThan(7);
    expect(record.pagesPerSecond).toBeLessThan(8.5);
    expect(record.reasons).toEqual([
      {
        at: new Date(at().wallMs).toISOString(),
        kind: 'rateLimited',
        status: 429,
        url: 'http://h/2',
        team: 't',
        retryAfterMs: null,
        effect: `rate cut to ${record.pagesPerSecond} pages/s`,
      },
    ]);
    expect((limits().maxConn * 1000) / limits().gapMs).toBeCloseTo(record.pagesPerSecond!, 1);
    expect(limits().limitedMs).toBe(0);
    expect(hostVerdict(policy, 1, now).share).toBeCloseTo(record.pagesPerSecond! / TOP, 1);
  });

  it('cuts once for a burst that several fetchers report', () => {
    clean(10, 20);
    see({ troubles: some('rateLimited', 2) });
    const { perS } = policy.rate;
    now += 900;
    see({ troubles: some('rateLimited', 4) });
    expect(policy.rate.perS).toBe(perS);
  });

  it('with Retry-After pauses the host, at most for fifteen minutes', () => {
    clean(10, 20);
    see({ troubles: [...some('rateLimited', 1, 5_000), ...some('rateLimited', 1, 30_000)] });
    expect(limits()).toMatchObject({ state: 'paused', pauseMs: 30_000 });
    expect(hostRecord(policy, 'h', at()).untilMs).toBe(at().wallMs + 30_000);
    expect(nextChangeMs(policy, now)).toBe(30_000);
    now += 30_000;
    expect(settleHost(policy, at())).toBe(true);
    expect(limits()).toMatchObject({ state: 'slowed', pauseMs: 0 });
    see({ troubles: some('rateLimited', 2, 86_400_000) });
    expect(limits().pauseMs).toBe(900_000);
  });

  it('is left by time and clean answers, in ten minutes at most, and forgotten', () => {
    clean(10, 20);
    see({ troubles: some('rateLimited', 2) });
    expect(hostPlateau(policy)).not.toBeNull();
    const rates: number[] = [];
    while (policy.state !== 'open') {
      clean(10, 1);
      rates.push(policy.rate.perS ?? TOP);
      expect(rates.length).toBeLessThan(600);
    }
    expect(rates).toEqual([...rates].sort((a, b) => a - b));
    expect(limits()).toMatchObject({ maxConn: 8, gapMs: 100 });
    expect(hostPlateau(policy)).toBeNull();
    now += 600_000;
    expect(limits().limitedMs).toBeNull();
  });

  it('that is met again is tried more rarely', () => {
    for (const ms of [20_000, 40_000, 80_000, 120_000, 120_000]) {
      clean(10, 20);
      see({ troubles: some('rateLimited', 2) });
      expect(policy.rate.limit!.ms).toBe(ms);
    }
    clean(2, 20);
    see({ troubles: some('rateLimited', 2) });
    expect(policy.rate.limit!.ms).toBe(20_000);
  });

  it('is resumed by the next job', () => {
    resumeHost(policy, { pagesPerSecond: 10, ms: 40_000 }, at());
    expect(settleHost(policy, at())).toBe(true);
    expect(policy.rate.perS).toBeCloseTo(9);
    expect(limits().state).toBe('slowed');
    start({ maxRate: 2 });
    resumeHost(policy, { pagesPerSecond: 10, ms: 40_000 }, at());
    settleHost(policy, at());
    expect(limits().state).toBe('open');
  });

  it('slows a host without a gap down from nothing but what was seen', () => {
    start({ gapMs: 0 });
    clean(50, 20);
    see({ troubles: some('rateLimited', 2) });
    expect(policy.rate.perS!).toBeGreaterThan(30);
    expect(policy.rate.ceiling!).toBeGreaterThan(90);
    for (let i = 0; policy.state !== 'open'; i++) {
      clean(50, 1);
      expect(i).toBeLessThan(600);
    }
    expect(limits().gapMs).toBe(0);
  });
});

describe('an overload', () => {
  const overload = () => see({ ok: 12, troubles: some('unavailable', 3) });

  it('needs three URLs and a tenth of the answers', () => {
    clean(40, 10);
    see({ troubles: some('timeout', 3) });
    expect(limits().state).toBe('open');
    start();
    see({ ok: 10, troubles: some('refused', 2) });
    expect(limits().state).toBe('open');
    see({ ok: 5, troubles: some('refused', 1) });
    expect(limits().state).toBe('slowed');
  });

  it('that a cut relieves keeps its cut', () => {
    overload();
    clean(5, 15);
    expect(limits()).toMatchObject({ state: 'slowed', deaf: false });
    expect(policy.useless.cuts).toBe(0);
  });

  it('that two cuts do not relieve has its rate back, and its host is deaf for ten minutes', () => {
    for (let i = 0; i < 60 && !limits().deaf; i++) {
      now += 1000;
      see({ ok: 3, troubles: some('unavailable', 2) });
    }
    expect(limits()).toMatchObject({ state: 'open', deaf: true });
    expect(policy.reasons[0]!.effect).toMatch(/did not help/);
    for (let i = 0; i < 30; i++) {
      now += 1000;
      see({ ok: 3, troubles: some('unavailable', 2) });
    }
    expect(limits().state).toBe('open');
    see({ troubles: some('rateLimited', 2) });
    expect(limits().state).toBe('slowed');
    now += 600_000;
    expect(limits().deaf).toBe(false);
  });
});

describe('a host that is down', () => {
  const fail = (count = 4) => see({ troubles: some('refused', count) });

  it('has given no clean answer to four URLs', () => {
    clean(10, 5);
    fail(3);
    expect(limits().state).not.toBe('down');
    fail(1);
    expect(limits()).toMatchObject({ state: 'down', maxConn: 0, pauseMs: 2000 });
  });

  it('is none when clean answers came between', () => {
    see({ ok: 8, troubles: some('refused', 8) });
    expect(limits().state).not.toBe('down');
  });

  it('takes more votes when one is a 429', () => {
    see({ troubles: [...some('rateLimited', 1), ...some('unavailable', 6)] });
    expect(limits().state).not.toBe('down');
    fail(1);
    expect(limits().state).toBe('down');
  });

  it('is asked by nothing but a probe, after 2, 4, 8 … 60 s, for the last URL that was clean', () => {
    see({ ok: 5, okUrl: 'http://h/well' });
    fail();
    const waits: number[] = [];
    for (let i = 0; i < 8; i++) {
      expect(takeProbe(policy, now)).toBeNull();
      waits.push(nextChangeMs(policy, now)!);
      now += waits.at(-1)!;
      expect(takeProbe(policy, now)).toEqual({ url: 'http://h/well' });
      see({ probe: { clean: false } });
    }
    expect(waits).toEqual([2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    expect(limits().state).toBe('down');
  });

  it('is asked for its start page and for a URL that failed when none was clean, and again when nothing is heard of a probe', () => {
    fail();
    now += 2000;
    expect(takeProbe(policy, now)).toEqual({ url: null });
    expect(takeProbe(policy, now)).toBeNull();
    now += 60_000;
    expect(takeProbe(policy, now)).toEqual({ url: null });
    see({ probe: { clean: false } });
    now += 4000;
    expect(takeProbe(policy, now)).toEqual({ url: 'http://h/4' });
    see({ probe: { clean: true }, okUrl: 'http://h/well' });
    fail();
    now += nextChangeMs(policy, now)!;
    expect(takeProbe(policy, now)).toEqual({ url: 'http://h/well' });
  });

  it('is slowly asked again after a clean probe', () => {
    fail();
    probe(true);
    expect(limits()).toMatchObject({ state: 'slowed', pauseMs: 0 });
    expect(policy.rate.perS).toBeLessThanOrEqual(TOP / 8);
    clean(10, 30);
    expect(limits().state).toBe('open');
  });

  it('is not taken for well because of reports that were under way', () => {
    fail();
    now += 1500;
    see({ ok: 3 });
    expect(limits().state).toBe('down');
    now += 1000;
    see({ ok: 3 });
    expect(limits().state).toBe('slowed');
  });

  it('for the fifth time though its probes are clean is deaf for ten minutes', () => {
    const waits: number[] = [];
    for (let i = 0; i < 4; i++) {
      fail();
      expect(limits().state).toBe('down');
      waits.push(nextChangeMs(policy, now)!);
      probe(true);
      now += 1000;
    }
    expect(waits).toEqual([2000, 4000, 8000, 16_000]);
    fail();
    expect(limits()).toMatchObject({ deaf: true });
    expect(limits().state).not.toBe('down');
    fail(20);
    expect(limits().state).not.toBe('down');
  });

  it('waits from the start when items were clean between', () => {
    for (let i = 0; i < 6; i++) {
      fail();
      expect(nextChangeMs(policy, now)).toBe(2000);
      probe(true);
      clean(5, 2);
    }
  });

  it('is given up after half an hour, and asked each five minutes from then on', () => {
    fail();
    const since = now;
    while (now - since < 1_800_000) {
      expect(limits().givenUp).toBe(false);
      now += nextChangeMs(policy, now)!;
      if (takeProbe(policy, now) !== null) see({ probe: { clean: false } });
    }
    expect(limits()).toMatchObject({ givenUp: true, state: 'down' });
    probe(false);
    expect(nextChangeMs(policy, now)).toBe(300_000);
    probe(true);
    expect(limits()).toMatchObject({ givenUp: false, state: 'slowed' });
  });

  it('is not asked while an operator holds it', () => {
    fail();
    configureHost(policy, { ...CONFIG, hold: true });
    now += 5_000;
    expect(takeProbe(policy, now)).toBeNull();
    expect(nextChangeMs(policy, now)).toBeNull();
  });
});

describe('slow answers', () => {
  it('of a host that was quick take half of its connections, which come back when that changes nothing', () => {
    clean(5, 10, 100);
    for (let i = 0; policy.conns.cap === null; i++) {
      clean(1, 1, 4000);
      expect(i).toBeLessThan(60);
    }
    expect(limits()).toMatchObject({ maxConn: 4, gapMs: 100, state: 'slowed' });
    expect(policy.reasons[0]).toMatchObject({ kind: 'slow', effect: 'slow answers: 4 of 8 connections' });
    clean(1, 30, 4000);
    expect(limits()).toMatchObject({ maxConn: 8, state: 'open' });
    expect(policy.reasons[0]!.effect).toMatch(/did not help/);
  });

  it('that become shorter keep fewer connections until they are short', () => {
    clean(5, 10, 100);
    for (let i = 0; policy.conns.cap === null; i++) clean(1, 1, 4000);
    clean(1, 40, 500);
    expect(limits()).toMatchObject({ maxConn: 4, state: 'slowed' });
    for (let i = 0; policy.state !== 'open'; i++) {
      clean(5, 1, 100);
      expect(i).toBeLessThan(300);
    }
    expect(limits().maxConn).toBe(8);
  });

  it('of a host that was never quicker cost nothing', () => {
    clean(2, 100, 3000);
    expect(limits()).toMatchObject({ maxConn: 8, state: 'open' });
    expect(limits().meanMs).toBeCloseTo(3000);
  });
});

describe('a release', () => {
  it('makes the host as its settings allow, whatever was held against it', () => {
    clean(10, 20);
    see({ troubles: some('rateLimited', 2, 60_000) });
    see({ troubles: some('refused', 10) });
    expect(limits().state).toBe('down');
    releaseHost(policy, now);
    expect(settleHost(policy, at())).toBe(true);
    expect(limits()).toMatchObject({ maxConn: 8, gapMs: 100, pauseMs: 0, state: 'open', deaf: false });
    see({ troubles: some('rateLimited', 1) });
    expect(limits().state).toBe('open');
  });

  it.each<TroubleKind>(['rateLimited', 'refused'])('is not undone by what was under way: %s', (kind) => {
    clean(10, 20);
    see({ troubles: some('rateLimited', 2) });
    releaseHost(policy, now);
    now += 1_900;
    see({ troubles: some(kind, 20) });
    expect(limits().state).toBe('open');
    now += 200;
    see({ troubles: some(kind, kind === 'refused' ? 20 : 2) });
    expect(limits().state).toBe(kind === 'refused' ? 'down' : 'slowed');
  });
});

describe('the policy', () => {
  it('keeps every limit within its bounds, and its state small, whatever is reported', () => {
    const trouble = fc.record({
      kind: fc.constantFrom<TroubleKind>('rateLimited', 'unavailable', 'refused', 'timeout'),
      status: fc.constant(0),
      urlH: fc.nat({ max: 5_000 }).map((no) => no.toString(16).padStart(16, '0')),
      team: fc.constant(null),
      retryMs: fc.option(fc.integer({ min: -1_000, max: 10_000_000 }), { nil: null }),
    });
    const report = fc.record({
      ok: fc.nat({ max: 200 }),
      meanMs: fc.nat({ max: 60_000 }),
      troubles: fc.array(trouble, { maxLength: 32 }),
    });
    const step = fc.tuple(fc.nat({ max: 40_000 }), report, fc.boolean());
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.constantFrom(0, 100), (steps, gapMs) => {
        start({ gapMs });
        for (const [ms, seen, isClean] of steps) {
          now += ms;
          const asked = takeProbe(policy, now);
          see(asked === null ? seen : { ...seen, probe: { clean: isClean } });
          const { maxConn, gapMs: gap, pauseMs, state } = limits();
          expect(maxConn).toBeLessThanOrEqual(8);
          expect(maxConn).toBeGreaterThanOrEqual(state === 'down' ? 0 : 1);
          expect(gap).toBeGreaterThanOrEqual(gapMs);
          expect(gap).toBeLessThanOrEqual(8 / 0.05 / 0.001);
          expect(pauseMs).toBeGreaterThanOrEqual(0);
          expect(pauseMs).toBeLessThanOrEqual(15 * 60_000);
        }
        expect(JSON.stringify(policy).length).toBeLessThan(60_000);
      }),
    );
  });

  it('bounds votes, troubles and reasons', () => {
    for (let i = 0; i < 100; i++) {
      now += 1100;
      see({ ok: 20, troubles: some('rateLimited', 32) });
    }
    expect(policy.evidence.voted).toHaveLength(256);
    expect(policy.evidence.troubles.length).toBeLessThanOrEqual(64);
    expect(policy.evidence.seconds.length).toBeLessThanOrEqual(121);
    expect(policy.reasons).toHaveLength(5);
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
