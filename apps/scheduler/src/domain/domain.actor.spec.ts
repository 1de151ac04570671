import { describe, expect, it } from '@jest/globals';
import type { HostFeedback, HostTrouble, RobotsDone, TroubleKind } from '@troupe/contracts';
import { grantsOf, PoolTurns } from '../pool/turns.fixture.js';
import { domainActor } from './domain.actor.js';

const HOST = 'h.test';
const hostOf = (key = HOST) => new PoolTurns(domainActor({ maxConn: 4, gapMs: 100 }), `domain/${key}`);
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

const trouble = (kind: TroubleKind, retryMs: number | null = null): HostTrouble => ({
  kind,
  status: 0,
  urlH: '00000000000000aa',
  team: null,
  retryMs,
});

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

  it('does not wait for robots.txt for ever, and asks again', () => {
    const host = hostOf();
    const asked = host.turn(host.demand('crawl/a', 1, obeying));
    expect(asked).toContainEqual({ t: 'timer', name: 'robots', inMs: 15_000 });
    host.now += 15_000;
    expect(grantsOf(host.turn({ type: 'Timer', name: 'robots' }))['crawl/a']!.tokens).toHaveLength(1);
    expect(host.turn(host.demand('crawl/a', 1, obeying)).filter(({ t }) => t === 'work')).toHaveLength(1);
  });

  it('reads robots.txt again after a day', () => {
    const host = hostOf();
    host.turn(host.demand('crawl/a', 1, obeying), robots());
    expect(host.turn(host.demand('crawl/a', 1, obeying)).filter(({ t }) => t === 'work')).toEqual([]);
    host.now += 24 * 3_600_000;
    expect(host.turn(host.demand('crawl/a', 1, obeying)).filter(({ t }) => t === 'work')).toHaveLength(1);
  });

  it('tells every claimant of a penalty, and of its end', () => {
    const host = hostOf();
    host.turn(host.demand('crawl/a', 1), host.demand('batch/b', 1));
    const grants = grantsOf(host.turn(feedback({ troubles: [trouble('rateLimited', 5_000)] })));
    for (const name of ['crawl/a', 'batch/b'])
      expect(grants[name]).toMatchObject({ gapMs: 1_000, pauseMs: 5_000, tokens: [{}] });
    expect(grantsOf(host.turn(feedback({ ok: 1, meanMs: 50 })))).toEqual({});
    host.now += 5_000;
    expect(Object.keys(grantsOf(host.turn(feedback({ ok: 1, meanMs: 50 })))).sort()).toEqual(['batch/b', 'crawl/a']);
  });

  it('revokes slots when the host bears fewer', () => {
    const host = hostOf();
    const { tokens } = grantsOf(host.turn(host.demand('crawl/a', 4)))['crawl/a']!;
    expect(tokens).toHaveLength(4);
    expect(grantsOf(host.turn(feedback({ troubles: [trouble('unavailable')] })))['crawl/a']).toMatchObject({
      revoke: [2, 3],
    });
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

  it('keeps looking after itself while it lives', () => {
    const host = hostOf();
    expect(host.turn(host.demand('crawl/a', 1))).toContainEqual({ t: 'timer', name: 'check', inMs: 30_000 });
    expect(host.turn(host.demand('crawl/a', 1)).filter(({ t }) => t === 'timer')).toEqual([]);
    host.now += 30_000;
    expect(host.turn({ type: 'Timer', name: 'check' })).toContainEqual({ t: 'timer', name: 'check', inMs: 30_000 });
  });
});
