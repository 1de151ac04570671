import { describe, expect, it } from '@jest/globals';
import type { ScrapeUsage } from '@troupe/contracts';
import { grantsOf, PoolTurns } from '../pool/turns.fixture.js';
import { teamActor } from './team.actor.js';

const teamOf = (concurrency = 3) => new PoolTurns(teamActor({ concurrencyOf: () => concurrency }), 'team/t');

function usage(id: string): ScrapeUsage {
  return {
    type: 'ScrapeUsage',
    id,
    team: 't',
    keyId: 'k',
    credits: 2,
    url: 'http://h.test/',
    statusCode: 200,
    ms: 50,
    atMs: 7,
  };
}

describe('a team', () => {
  it('writes one row for every scrape it hears of', () => {
    const rows = teamOf()
      .turn(usage('s1'), usage('s2'))
      .flatMap((effect) => (effect.t === 'row' ? [effect.row] : []));
    expect(rows).toEqual(
      ['s1', 's2'].map((id) => ({
        op: 'scrape.insert',
        id,
        team: 't',
        keyId: 'k',
        credits: 2,
        url: 'http://h.test/',
        statusCode: 200,
        ms: 50,
        atMs: 7,
      })),
    );
  });

  it('answers jobs by mail and gateways by a note on their subject', () => {
    const team = teamOf();
    const effects = team.turn(team.demand('crawl/a', 1), team.demand('gw/one', 1));
    expect(Object.keys(grantsOf(effects))).toEqual(['crawl/a']);
    expect(effects.filter(({ t }) => t === 'notify')).toMatchObject([
      {
        subject: 'grant.one',
        msg: { type: 'Grant', pool: 'team/t', claimant: 'gw/one', tokens: [{ gen: expect.any(Number) }] },
      },
    ]);
  });

  it('never has more tokens out than its concurrency, and says that lanes are short when a claimant waits', () => {
    const team = teamOf(3);
    const first = grantsOf(team.turn(team.demand('crawl/a', 10)))['crawl/a']!;
    expect(first).toMatchObject({ uses: null, gapMs: 0, pauseMs: 0 });
    expect(first.tokens).toHaveLength(3);
    const grants = grantsOf(team.turn(team.demand('crawl/b', 10)));
    expect(grants['crawl/b']).toMatchObject({ tokens: [], uses: 1 });
    expect(grants['crawl/a']!.revoke).toHaveLength(1);
    const kept = first.tokens.filter(({ i }) => !grants['crawl/a']!.revoke.includes(i));
    const after = grantsOf(team.turn(team.demand('crawl/a', 10, { held: kept, seenV: grants['crawl/a']!.v })));
    expect(after['crawl/b']!.tokens).toHaveLength(1);
  });

  it('takes another concurrency into account at its next turn, up and down', () => {
    let places = 1;
    const team = new PoolTurns(teamActor({ concurrencyOf: (id) => (id === 't' ? places : 0) }), 'team/t');
    expect(grantsOf(team.turn(team.demand('crawl/a', 3)))['crawl/a']!.tokens).toHaveLength(1);
    places = 3;
    const more = grantsOf(team.turn({ type: 'Timer', name: 'check' }))['crawl/a']!;
    expect(more.tokens).toHaveLength(3);
    places = 2;
    expect(grantsOf(team.turn({ type: 'Timer', name: 'check' }))['crawl/a']!.revoke).toEqual([2]);
  });

  it('answers a repeated Demand with the same Grant', () => {
    const team = teamOf();
    const wish = team.demand('crawl/a', 2);
    expect(grantsOf(team.turn(wish))).toEqual(grantsOf(team.turn(wish)));
  });

  it('ends after ten minutes without use, though scrapes were billed', () => {
    const team = teamOf();
    team.turn(team.demand('crawl/a', 0));
    team.rest(300_000);
    team.turn(usage('s1'));
    team.rest(300_000);
    expect(team.isOver).toBe(false);
    team.rest(30_000);
    expect(team.isOver).toBe(true);
  });
});
