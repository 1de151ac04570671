import { describe, expect, it } from '@jest/globals';
import type { Effect } from '@troupe/actors';
import type { Grant, HostFeedback, HostSetting, HostTrouble, RobotsDone, TroubleKind } from '@troupe/contracts';
import { grantsOf, PoolTurns } from '../pool/turns.fixture.js';
import { hostActor, type HostOptions, type HostActorState } from './host.actor.js';

const HOST = 'h.test';
const hostOf = (key = HOST, rest: Partial<HostOptions> = {}) =>
  new PoolTurns(hostActor({ maxConn: 4, gapMs: 100, ...rest }), `domain/${key}`);
const obeying = { robotsAgent: 'Troupe', origin: 'https://h.test' };

function robots(rest: Partial<RobotsDone> = {}): RobotsDone {
  return { type: 'RobotsDone', host: HOST, status: 200, crawlDelayMs: null, sitemaps: [], error: null, ...rest };
}

function feedback(rest: Partial<HostFeedback>): HostFeedback {
  return {
    type: 'HostFeedback',
    host: HOST,
    ok: 0,
    meanMs: 0,
    troubles: [],
    ...rest,
  };
}

/** One each of `count` URLs, always the same. */
function troubles(kind: TroubleKind, count: number, retryMs: number | null = null): HostTrouble[] {
  return Array.from({ length: count }, (_, n) => ({
    kind,
    status: 0,
    urlH: `00000000000000a${n}`,
    url: `https://h.test/${n}`,
    team: null,
    retryMs,
  }));
}

const kicksOf = (effects: Effect[]) => effects.flatMap((effect) => (effect.t === 'work' ? [effect.msg] : []));
const verdictsOf = (effects: Effect[]) => effects.flatMap((effect) => (effect.t === 'tell' ? [effect.verdict] : []));
const recordsOf = (effects: Effect[]) => effects.flatMap((effect) => (effect.t === 'row' ? [effect.row] : []));

describe('a host', () => {
  it('grants at once to those who do not consult robots.txt', () => {
    const host = hostOf();
    const effects = host.turn(host.demand('batch/a', 3));
    expect(grantsOf(effects)['batch/a']).toMatchObject({
      pool: 'domain/h.test',
      claimant: 'batch/a',
      tokens: [{ i: 0 }, { i: 1 }, { i: 2 }],
      gapMs: 100,
      pauseMs: 0,
    });
    expect(effects.filter(({ t }) => t === 'work')).toEqual([]);
  });

  it('grants no more slots than it has', () => {
    const host = hostOf();
    expect(grantsOf(host.turn(host.demand('crawl/a', 50)))['crawl/a']!.tokens).toHaveLength(4);
  });

  it('asks for robots.txt first, once, with the scheme and port of the asker, and grants when it is known', () => {
    const host = hostOf('h.test:8443');
    const effects = host.turn(
      host.demand('crawl/a', 3, { robotsAgent: 'Troupe', origin: 'https://h.test:8443' }),
      host.demand('crawl/b', 3, obeying),
    );
    expect(effects.flatMap((effect) => (effect.t === 'work' ? [effect.msg] : []))).toEqual([
      {
        type: 'Kick',
        task: 'robots',
        actor: 'domain/h.test:8443',
        host: 'h.test:8443',
        url: 'https://h.test:8443/robots.txt',
        agent: 'Troupe',
      },
    ]);
    expect(grantsOf(effects)['crawl/a']!.tokens).toEqual([]);
    const grants = grantsOf(host.turn(robots()));
    expect([...grants['crawl/a']!.tokens, ...grants['crawl/b']!.tokens]).toHaveLength(4);
  });

  it('gives one slot with the gap of the crawl-delay', () => {
    const host = hostOf();
    host.turn(host.demand('crawl/a', 3, obeying));
    const grants = grantsOf(host.turn(robots({ crawlDelayMs: 2_500 })));
    expect(grants['crawl/a']).toMatchObject({ tokens: [{ i: 0 }], gapMs: 2_500 });
  });

  it('does not wait for robots.txt for ever, grants one slot without knowing it, and asks again', () => {
    const host = hostOf();
    const asked = host.turn(host.demand('crawl/a', 3, obeying));
    expect(asked).toContainEqual({ t: 'timer', name: 'robots', inMs: 15_000 });
    host.now += 15_000;
    const later = host.turn({ type: 'Timer', name: 'robots' });
    expect(grantsOf(later)['crawl/a']!.tokens).toHaveLength(1);
    expect(later).toContainEqual({ t: 'timer', name: 'robots', inMs: 5_000 });
    host.now += 5_000;
    expect(kicksOf(host.turn({ type: 'Timer', name: 'robots' }))).toHaveLength(1);
    expect(grantsOf(host.turn(robots()))['crawl/a']!.tokens).toHaveLength(3);
  });

  it('asks for a robots.txt without a good answer again after its Retry-After, or 5 s, 30 s, 2 min, 10 min', () => {
    const host = hostOf();
    host.turn(host.demand('crawl/a', 3, obeying));
    const waits = [null, null, 7_000, null, null].map((retryAfterMs) => {
      const effects = host.turn(robots({ ok: false, status: 503, retryAfterMs }));
      const timer = effects.find((effect) => effect.t === 'timer' && effect.name === 'robots');
      const inMs = timer?.t === 'timer' ? timer.inMs! : 0;
      const asked = host.wait(inMs, 'robots', () => host.demand('crawl/a', 3, obeying));
      expect(kicksOf(asked)).toHaveLength(1);
      return inMs;
    });
    expect(waits).toEqual([5_000, 30_000, 7_000, 600_000, 600_000]);
  });

  it('keeps the last known crawl-delay until the next good answer', () => {
    const host = hostOf();
    host.turn(host.demand('crawl/a', 3, obeying), robots({ crawlDelayMs: 2_500 }));
    host.turn(robots({ ok: false, status: 0 }));
    expect(grantsOf(host.turn(host.demand('crawl/a', 3, obeying)))['crawl/a']).toMatchObject({ gapMs: 2_500 });
    host.turn(robots({ ok: false, status: 0, crawlDelayMs: 4_000 }));
    expect(grantsOf(host.turn(host.demand('crawl/a', 3, obeying)))['crawl/a']).toMatchObject({ gapMs: 4_000 });
    host.turn(robots());
    expect(grantsOf(host.turn(host.demand('crawl/a', 3, obeying)))['crawl/a']).toMatchObject({ gapMs: 100 });
  });

  it('reads robots.txt again after a day', () => {
    const host = hostOf();
    host.turn(host.demand('crawl/a', 1, obeying), robots());
    const day = host.wait(24 * 3_600_000 - 30_000, 'check', () => host.demand('crawl/a', 1, obeying));
    expect(kicksOf(day)).toEqual([]);
    host.now += 30_000;
    expect(kicksOf(host.turn(host.demand('crawl/a', 1, obeying)))).toHaveLength(1);
  });

  it('tells every claimant and the fetchers of a pause, and of its end, and writes both', () => {
    const host = hostOf();
    host.turn(host.demand('crawl/a', 1), host.demand('batch/b', 1), feedback({ ok: 9, meanMs: 50 }));
    const effects = host.turn(feedback({ troubles: troubles('rateLimited', 2, 5_000) }));
    for (const name of ['crawl/a', 'batch/b'])
      expect(grantsOf(effects)[name]).toMatchObject({ state: 'paused', pauseMs: 5_000, limitedMs: 0, tokens: [{}] });
    expect(verdictsOf(effects)).toMatchObject([{ state: 'paused', restMs: 5_000 }]);
    expect(recordsOf(effects)).toMatchObject([{ host: HOST, state: 'paused', reasons: [{ kind: 'rateLimited' }] }]);
    expect(effects).toContainEqual({ t: 'timer', name: 'change', inMs: 5_000 });
    host.now += 2_000;
    const calm = host.turn(feedback({ ok: 1, meanMs: 50 }));
    expect([grantsOf(calm), verdictsOf(calm), recordsOf(calm)]).toEqual([{}, [], []]);
    host.now += 3_000;
    const ended = host.turn({ type: 'Timer', name: 'change' });
    expect(Object.keys(grantsOf(ended)).sort()).toEqual(['batch/b', 'crawl/a']);
    expect(grantsOf(ended)['crawl/a']).toMatchObject({ state: 'slowed', pauseMs: 0 });
    expect(verdictsOf(ended)).toMatchObject([{ state: 'slowed', restMs: 0 }]);
    expect(recordsOf(ended)).toMatchObject([{ state: 'slowed' }]);
  });

  it('is no other for one URL that fails', () => {
    const host = hostOf();
    host.turn(host.demand('crawl/a', 4));
    for (let i = 0; i < 3; i++) {
      host.now += 8_000;
      const effects = host.turn(feedback({ ok: 20, meanMs: 50, troubles: troubles('unavailable', 1).slice(0, 1) }));
      expect([grantsOf(effects), verdictsOf(effects), recordsOf(effects)]).toEqual([{}, [], []]);
    }
  });

  it('tells fetchers a change of state at once, others at most once a second, and what lasts each half minute', () => {
    const host = hostOf();
    host.turn(host.demand('crawl/a', 4), feedback({ ok: 10, meanMs: 500 }));
    const versions = verdictsOf(host.turn(feedback({ troubles: troubles('rateLimited', 2) }))).map(({ v }) => v);
    for (let i = 0; i < 40; i++) {
      host.now += 100;
      const effects = host.turn(feedback({ ok: 1, meanMs: 500 }), { type: 'Timer', name: 'tell' });
      versions.push(...verdictsOf(effects).map(({ v }) => v));
    }
    expect(versions.length).toBeGreaterThan(1);
    expect(versions.length).toBeLessThan(6);
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
    host.turn(feedback({ troubles: troubles('rateLimited', 4, 100_000).slice(2) }));
    host.now += 30_000;
    expect(verdictsOf(host.turn({ type: 'Timer', name: 'check' }))).toMatchObject([
      { state: 'paused', restMs: 70_000 },
    ]);
  });

  it('that is down is left alone but for probes, without slots for jobs, and comes back slowly', () => {
    const host = hostOf();
    host.turn(host.demand('crawl/a', 4, { origin: 'https://h.test' }));
    const down = host.turn(feedback({ troubles: troubles('refused', 4) }));
    expect(grantsOf(down)['crawl/a']).toMatchObject({ state: 'down', pauseMs: 2_000, revoke: [0, 1, 2, 3] });
    expect(recordsOf(down)).toMatchObject([{ state: 'down' }]);
    expect(grantsOf(host.turn(host.demand('batch/b', 1)))['batch/b']).toMatchObject({ tokens: [], state: 'down' });
    host.now += 2_000;
    const asks = host.turn({ type: 'Timer', name: 'change' });
    expect(kicksOf(asks)).toEqual([
      { type: 'Kick', task: 'probe', actor: 'domain/h.test', host: HOST, url: 'https://h.test/' },
    ]);
    expect(kicksOf(host.turn(feedback({ probe: { clean: false } })))).toEqual([]);
    host.now += 4_000;
    expect(kicksOf(host.turn({ type: 'Timer', name: 'change' }))).toHaveLength(1);
    const back = host.turn(feedback({ probe: { clean: true } }));
    expect(grantsOf(back)['crawl/a']).toMatchObject({ state: 'slowed', pauseMs: 0 });
    expect(recordsOf(back)).toMatchObject([{ state: 'slowed' }]);
  });

  it('is asked for its front page when no URL of it may be named', () => {
    const host = hostOf();
    host.turn(host.demand('crawl/a', 4, { origin: 'https://h.test' }));
    host.turn(feedback({ troubles: troubles('refused', 4).map(({ url: _url, ...secret }) => secret) }));
    host.now += 2_000;
    expect(kicksOf(host.turn({ type: 'Timer', name: 'change' }))).toMatchObject([{ url: 'https://h.test/' }]);
  });

  it('is given up when it has been down for long, which every claimant hears', () => {
    const host = hostOf(HOST, { giveUpMs: 60_000 });
    host.turn(host.demand('crawl/a', 4));
    host.turn(feedback({ troubles: troubles('refused', 4) }));
    let given: Grant | undefined;
    for (let s = 0; s < 70 && given === undefined; s++) {
      host.now += 1_000;
      const effects = host.turn({ type: 'Timer', name: 'change' });
      if (kicksOf(effects).length > 0) host.turn(feedback({ probe: { clean: false } }));
      const grant = grantsOf(effects)['crawl/a'];
      if (grant?.givenUp === true) given = grant;
      else expect(s).toBeLessThan(60);
    }
    expect(given).toMatchObject({ state: 'down', givenUp: true });
  });

  it('does what an operator sets, within five seconds of the release of a hold', () => {
    const settings: { now: HostSetting | null } = { now: null };
    const host = hostOf(HOST, { settingOf: () => settings.now });
    host.turn(host.demand('crawl/a', 4));
    settings.now = { pattern: HOST, maxConn: 2, gapMs: 500 };
    expect(grantsOf(host.turn(host.demand('crawl/a', 4)))['crawl/a']).toMatchObject({ gapMs: 500, revoke: [2, 3] });
    settings.now = { pattern: HOST, hold: true };
    const held = host.turn(host.demand('crawl/a', 4));
    expect(grantsOf(held)['crawl/a']).toMatchObject({ state: 'held', revoke: [0, 1, 2, 3] });
    expect(recordsOf(held)).toMatchObject([{ state: 'held' }]);
    expect(held).toContainEqual({ t: 'timer', name: 'check', inMs: 3_000 });
    settings.now = { pattern: HOST, maxRate: 2 };
    host.now += 3_000;
    const free = host.turn({ type: 'Timer', name: 'check' });
    expect(grantsOf(free)['crawl/a']).toMatchObject({ state: 'open', gapMs: 500 });
  });

  it('keeps the crawl-delay of robots.txt unless the installation lets operators ignore it', () => {
    const settingOf = (): HostSetting => ({ pattern: HOST, crawlDelay: 0 });
    for (const allowIgnoreRobots of [false, true]) {
      const host = hostOf(HOST, { settingOf, allowIgnoreRobots });
      host.turn(host.demand('crawl/a', 1, obeying), robots({ crawlDelayMs: 2_500 }));
      const grant = grantsOf(host.turn(host.demand('crawl/a', 1)))['crawl/a'];
      expect(grant).toMatchObject({ gapMs: allowIgnoreRobots ? 100 : 2_500 });
    }
  });

  it('has its full rate at once when an operator releases it', () => {
    const host = hostOf();
    host.turn(host.demand('crawl/a', 4));
    host.turn(feedback({ troubles: troubles('refused', 4) }));
    const effects = host.turn({ type: 'HostRelease', host: HOST });
    expect(grantsOf(effects)['crawl/a']).toMatchObject({ state: 'open', pauseMs: 0, gapMs: 100 });
    expect(verdictsOf(effects)).toMatchObject([{ state: 'open', restMs: 0, share: 1 }]);
    expect(recordsOf(effects)).toMatchObject([{ state: 'open' }]);
  });

  it('does not end a pause early because its actor has moved to another process and clock', () => {
    const host = hostOf();
    host.turn(host.demand('crawl/a', 1), feedback({ troubles: troubles('rateLimited', 2, 50_000) }));
    host.moveTo(host.now + 3_600_000);
    expect(grantsOf(host.turn(host.demand('crawl/a', 1)))['crawl/a']).toMatchObject({ pauseMs: 50_000 });
    host.now += 20_000;
    host.moveTo(5);
    expect(grantsOf(host.turn(host.demand('crawl/a', 1)))['crawl/a']).toMatchObject({ pauseMs: 50_000 });
    host.now += 20_000;
    expect(grantsOf(host.turn(host.demand('crawl/a', 1)))['crawl/a']).toMatchObject({ pauseMs: 30_000 });
  });

  it('goes on with its slots when it was kept by a version that knew no verdicts', () => {
    const host = hostOf();
    const { tokens, v } = grantsOf(host.turn(host.demand('crawl/a', 2)))['crawl/a']!;
    const old = host.state as Partial<HostActorState>;
    for (const name of ['clock', 'dueAt', 'granted', 'told', 'kept'] as const) delete old[name];
    Object.assign(old, { policy: { level: 4 }, robots: { st: 'unknown' } });
    const grant = grantsOf(host.turn(host.demand('crawl/a', 2, { held: tokens, seenV: v })))['crawl/a']!;
    expect(grant).toMatchObject({ tokens, gapMs: 100, state: 'open' });
  });

  it('takes clean answers from a fetcher of the version before, whose troubles have no URLs', () => {
    const host = hostOf();
    const { troubles: _none, ...old } = feedback({ ok: 3, meanMs: 50 });
    const effects = host.turn(host.demand('crawl/a', 1), { ...old, rateLimited: 1 } as unknown as HostFeedback);
    expect(grantsOf(effects)['crawl/a']).toMatchObject({ state: 'open', meanMs: 50 });
  });

  it('gives the slots of a claimant that fell silent to others', () => {
    const host = hostOf();
    host.turn(host.demand('crawl/dead', 4));
    let grant = grantsOf(host.turn(host.demand('crawl/b', 4)))['crawl/b']!;
    expect(grant.tokens).toEqual([]);
    for (let i = 0; i < 5; i++) {
      host.now += 30_000;
      grant = grantsOf(host.turn(host.demand('crawl/b', 4, { seenV: grant.v, held: grant.tokens })))['crawl/b']!;
    }
    expect(grant.tokens).toHaveLength(4);
  });

  it('ends after ten minutes without use, not before', () => {
    const host = hostOf();
    host.turn(host.demand('crawl/a', 1));
    host.turn(host.demand('crawl/a', 0, { seenV: 1_000 }));
    host.rest(600_000);
    expect(host.isOver).toBe(false);
    host.rest(30_000);
    expect(host.isOver).toBe(true);
  });

  it('that ends slowed is written as open, and its limit and crawl-delay outlive it by an hour', () => {
    for (const [awayMs, state] of [
      [600_000, 'slowed'],
      [3_600_000, 'open'],
    ] as const) {
      const host = hostOf();
      host.turn(host.demand('crawl/a', 1, obeying), robots({ crawlDelayMs: 50 }), feedback({ ok: 10, meanMs: 50 }));
      host.turn(feedback({ troubles: troubles('rateLimited', 2) }));
      host.turn(host.demand('crawl/a', 0, { seenV: 1_000 }));
      const ended: Effect[] = [];
      while (!host.isOver) {
        host.now += 30_000;
        ended.push(...host.turn({ type: 'Timer', name: 'check' }));
      }
      expect(recordsOf(ended).at(-1)).toMatchObject({ state: 'open', plateau: { ms: 20_000 } });
      expect(verdictsOf(ended).at(-1)).toMatchObject({ state: 'open', gapMs: 0 });
      host.now += awayMs;
      host.startAnew();
      const again = host.turn(host.demand('crawl/a', 4));
      expect(grantsOf(again)['crawl/a']).toMatchObject({ state, tokens: [{}] });
      expect(recordsOf(again).map((row) => row.op)).toEqual(state === 'slowed' ? ['host.upsert'] : []);
    }
  });

  it('keeps looking after itself while it lives', () => {
    const host = hostOf();
    expect(host.turn(host.demand('crawl/a', 1))).toContainEqual({ t: 'timer', name: 'check', inMs: 30_000 });
    expect(host.turn(host.demand('crawl/a', 1)).filter(({ t }) => t === 'timer')).toEqual([]);
    host.now += 30_000;
    expect(host.turn({ type: 'Timer', name: 'check' })).toContainEqual({ t: 'timer', name: 'check', inMs: 30_000 });
  });
});
