import { describe, expect, it } from '@jest/globals';
import type { Demand } from '@troupe/contracts';
import {
  applyGrant,
  createClaim,
  demandFor,
  dropIdleTokens,
  returnToken,
  setWant,
  takeToken,
  type Claim,
} from './claim.js';
import {
  applyDemand,
  createPool,
  expireClaimants,
  grantFor,
  isPoolIdle,
  rebalance,
  resizePool,
  type PoolContext,
} from './pool.js';
import type { Pool } from './pool-state.js';

interface Job {
  name: string;
  team: string;
  want: number;
  laneMs: () => number;
  startsAtMs?: number;
}

interface Lane {
  job: Job;
  claim: Claim;
  token: { i: number; gen: number };
  startedAt: number;
  endsAt: number;
}

interface Run {
  usedMs: Map<string, number>;
  /** Longest time a job that wanted lanes went without starting one. */
  longestWaitMs: Map<string, number>;
  maxLive: number;
}

const STEP_MS = 50;

/** Jobs that always have work, on a reliable network that takes one step each way. */
function contend(pool: Pool, jobs: Job[], totalMs: number): Run {
  const claims = new Map(jobs.map((job) => [job.name, createClaim()]));
  const run: Run = { usedMs: new Map(), longestWaitMs: new Map(), maxLive: 0 };
  const lastStart = new Map<string, number>();
  let lanes: Lane[] = [];
  let gen = 0;
  for (let now = 0; now <= totalMs; now += STEP_MS) {
    const ctx: PoolContext = { now, nextGen: () => ++gen };
    const askers = new Set<string>();
    for (const lane of lanes.filter(({ endsAt }) => endsAt <= now)) {
      const ranMs = lane.endsAt - lane.startedAt;
      returnToken(lane.claim, lane.token, ranMs, now);
      run.usedMs.set(lane.job.name, (run.usedMs.get(lane.job.name) ?? 0) + ranMs);
      askers.add(lane.job.name);
    }
    lanes = lanes.filter(({ endsAt }) => endsAt > now);
    for (const job of jobs.filter(({ startsAtMs }) => (startsAtMs ?? 0) <= now)) {
      const claim = claims.get(job.name)!;
      if (!lastStart.has(job.name)) lastStart.set(job.name, now);
      if (setWant(claim, job.want) || dropIdleTokens(claim, now, 250)) askers.add(job.name);
      for (let token = takeToken(claim, now); token !== null; token = takeToken(claim, now)) {
        const waitedMs = now - lastStart.get(job.name)!;
        run.longestWaitMs.set(job.name, Math.max(waitedMs, run.longestWaitMs.get(job.name) ?? 0));
        lastStart.set(job.name, now);
        lanes.push({ job, claim, token, startedAt: now, endsAt: now + job.laneMs() });
      }
    }
    run.maxLive = Math.max(run.maxLive, lanes.length);
    let asking = askers;
    for (let round = 0; asking.size > 0; round++) {
      if (round > 50) throw new Error('tokens are moved to and fro for ever');
      asking = exchange(pool, jobs, claims, asking, ctx);
    }
  }
  return run;
}

/** Demands up, Grants down; returns who has to report at once that it handed tokens back. */
function exchange(
  pool: Pool,
  jobs: Job[],
  claims: Map<string, Claim>,
  askers: Set<string>,
  ctx: PoolContext,
): Set<string> {
  for (const name of askers) {
    const { team } = jobs.find((job) => job.name === name)!;
    applyDemand(pool, { claimant: name, replyTo: name, team, ...demandFor(claims.get(name)!) }, ctx);
  }
  const answered = new Set([...rebalance(pool, ctx), ...askers]);
  return new Set([...answered].filter((name) => applyGrant(claims.get(name)!, grantFor(pool, name), ctx.now)));
}

function job(name: string, team: string, laneMs: () => number, want = 10): Job {
  return { name, team, want, laneMs };
}

function between(from: number, to: number): () => number {
  let state = from;
  return () => {
    state = (state * 48271 + 11) % 2147483647;
    return from + (state % (to - from));
  };
}

function sum(run: Run, names: string[]): number {
  return names.reduce((total, name) => total + (run.usedMs.get(name) ?? 0), 0);
}

describe('fair share', () => {
  it.each([1, 2, 3, 4, 7])('gives two teams equal lane time on %i tokens, whatever their number of jobs', (size) => {
    const jobs = [
      job('a1', 'a', between(300, 2000)),
      job('b1', 'b', between(300, 2000)),
      job('b2', 'b', between(300, 2000)),
      job('b3', 'b', between(300, 2000)),
    ];
    const run = contend(createPool(size), jobs, 120_000);
    const [a, b] = [sum(run, ['a1']), sum(run, ['b1', 'b2', 'b3'])];
    expect(Math.abs(a - b) / ((a + b) / 2)).toBeLessThan(0.2);
    const each = ['b1', 'b2', 'b3'].map((name) => run.usedMs.get(name)!);
    expect(Math.max(...each) / Math.min(...each)).toBeLessThan(1.4);
    expect(run.maxLive).toBeLessThanOrEqual(size);
  });

  it('does not give slow lanes a bigger share', () => {
    const jobs = [job('slow', 'a', () => 8000), job('fast', 'b', () => 500)];
    const run = contend(createPool(1), jobs, 400_000);
    expect(Math.abs(run.usedMs.get('slow')! / run.usedMs.get('fast')! - 1)).toBeLessThan(0.2);
  });

  it('leaves no claimant without a lane for longer than the others take one each', () => {
    const laneMs = 2000;
    const names = Array.from({ length: 10 }, (_, i) => `j${i}`);
    const run = contend(
      createPool(3),
      names.map((name, i) => job(name, `t${i % 2}`, () => laneMs, 1)),
      200_000,
    );
    const rounds = Math.ceil(names.length / 3);
    for (const name of names) expect(run.longestWaitMs.get(name)!).toBeLessThanOrEqual((rounds + 1) * (laneMs + 200));
  });

  it('gives a newcomer its share as soon as a lane ends, although the others ran alone for long', () => {
    const late: Job = { ...job('late', 'b', () => 1000), startsAtMs: 60_000 };
    const run = contend(createPool(4), [job('early', 'a', () => 1000), late], 120_000);
    expect(run.longestWaitMs.get('late')!).toBeLessThanOrEqual(1500);
    expect(Math.abs(sum(run, ['late']) - 2 * 60_000) / 120_000).toBeLessThan(0.2);
  });

  it('gives no claimant more than it wants and leaves no wanted token free', () => {
    const jobs = [job('small', 'a', () => 1000, 1), job('big', 'b', () => 1000, 10)];
    const run = contend(createPool(4), jobs, 100_000);
    expect(run.usedMs.get('small')! / 100_000).toBeGreaterThan(0.85);
    expect(run.usedMs.get('small')! / 100_000).toBeLessThanOrEqual(1);
    expect(run.usedMs.get('big')! / 100_000).toBeGreaterThan(2.55);
  });
});

describe('a pool that is asked', () => {
  let gen = 0;
  const ctx = (now: number): PoolContext => ({ now, nextGen: () => ++gen });
  const demand = (claimant: string, rest: Partial<Demand> = {}) => ({
    claimant,
    replyTo: claimant,
    team: `team-of-${claimant}`,
    want: 2,
    held: [],
    seenV: 0,
    ranMs: 0,
    v: 1,
    ...rest,
  });

  it('lets tokens be kept while the wishes fit, and for one lane each when they do not', () => {
    const pool = createPool(4);
    applyDemand(pool, demand('a'), ctx(0));
    expect(rebalance(pool, ctx(0))).toEqual(['a']);
    expect(grantFor(pool, 'a')).toMatchObject({ uses: null, revoke: [] });
    applyDemand(pool, demand('b', { want: 3 }), ctx(0));
    expect(new Set(rebalance(pool, ctx(0)))).toEqual(new Set(['a', 'b']));
    expect(grantFor(pool, 'a').uses).toBe(1);
    expect(grantFor(pool, 'b').tokens).toHaveLength(2);
  });

  it('revokes from those above their fair share until a newcomer can have its own', () => {
    const pool = createPool(4);
    applyDemand(pool, demand('a', { want: 9 }), ctx(0));
    rebalance(pool, ctx(0));
    applyDemand(pool, demand('b', { want: 9 }), ctx(0));
    rebalance(pool, ctx(0));
    expect(grantFor(pool, 'a').revoke).toHaveLength(2);
    expect(rebalance(pool, ctx(0))).toEqual([]);
  });

  it.each([
    ['two teams', {}],
    ['one team', { team: 'both' }],
  ])('revokes nothing that would only turn the difference of one round: %s', (_name, team) => {
    const pool = createPool(3);
    applyDemand(pool, demand('a', { want: 9, ...team }), ctx(0));
    rebalance(pool, ctx(0));
    applyDemand(pool, demand('b', { want: 9, ...team }), ctx(0));
    rebalance(pool, ctx(0));
    expect(grantFor(pool, 'a').tokens).toHaveLength(3);
    expect(grantFor(pool, 'a').revoke).toHaveLength(1);
  });

  describe('charges lane time', () => {
    const creditsOf = (pool: Pool, claimant: string): number[] => [
      pool.claimants[claimant]!.creditMs,
      pool.teams[`team-of-${claimant}`]!.creditMs,
    ];
    /** `a` and `b` have a token each since 0, and `b` waits for a second one. */
    function contendedPool(): Pool {
      const pool = createPool(2);
      applyDemand(pool, demand('a', { want: 1 }), ctx(0));
      applyDemand(pool, demand('b', { want: 2 }), ctx(0));
      rebalance(pool, ctx(0));
      expect([pool.contended, creditsOf(pool, 'b')]).toEqual([true, [1_000, 1_000]]);
      return pool;
    }
    const report = (pool: Pool, claimant: 'a' | 'b', ranMs: number, now: number): void => {
      const rest = { v: 2, want: claimant === 'a' ? 1 : 2, seenV: grantFor(pool, claimant).v, ranMs };
      expect(applyDemand(pool, demand(claimant, rest), ctx(now))).toBe(true);
    };

    it('for as long as the tokens have been out at most, whatever is reported', () => {
      const pool = contendedPool();
      report(pool, 'b', 3_600_000, 5_000);
      expect(creditsOf(pool, 'b')).toEqual([1_000 - 5_000, 1_000 - 5_000]);
    });

    it('for half a minute of debt at most', () => {
      const pool = contendedPool();
      report(pool, 'b', 50_000, 50_000);
      expect(creditsOf(pool, 'b')).toEqual([-30_000, -30_000]);
    });

    it('and saves up no credit for those that wait for nothing while others earn their debts', () => {
      const pool = contendedPool();
      report(pool, 'a', 0, 50_000);
      rebalance(pool, ctx(50_000));
      report(pool, 'b', 50_000, 50_000);
      rebalance(pool, ctx(50_000));
      // `b` had to earn thirty seconds; `a`, whose new token counts for one quantum, keeps one beyond that.
      expect(pool.teams['team-of-a']!.creditMs).toBe(2_000);
    });
  });

  it('ignores a Demand that is not newer than the last', () => {
    const pool = createPool(4);
    expect(applyDemand(pool, demand('a', { v: 5 }), ctx(0))).toBe(true);
    expect(applyDemand(pool, demand('a', { v: 4, want: 0 }), ctx(0))).toBe(false);
    rebalance(pool, ctx(0));
    expect(grantFor(pool, 'a').tokens).toHaveLength(2);
  });

  it('grows its version even when it starts anew', () => {
    const first = createPool(1);
    applyDemand(first, demand('a'), ctx(0));
    rebalance(first, ctx(0));
    const again = createPool(1);
    applyDemand(again, demand('a'), ctx(0));
    rebalance(again, ctx(0));
    expect(grantFor(again, 'a').v).toBeGreaterThan(grantFor(first, 'a').v);
    expect(grantFor(again, 'a').tokens[0]!.gen).toBeGreaterThan(grantFor(first, 'a').tokens[0]!.gen);
  });

  it('takes the tokens of a silent claimant, and reassigns them under a higher generation', () => {
    const pool = createPool(1);
    applyDemand(pool, demand('a'), ctx(0));
    rebalance(pool, ctx(0));
    const [old] = grantFor(pool, 'a').tokens;
    applyDemand(pool, demand('b'), ctx(50_000));
    expect(expireClaimants(pool, 70_000, 60_000)).toEqual(['a']);
    rebalance(pool, ctx(70_000));
    const [fresh] = grantFor(pool, 'b').tokens;
    expect(fresh!.i).toBe(old!.i);
    expect(fresh!.gen).toBeGreaterThan(old!.gen);
    expect(grantFor(pool, 'a').tokens).toEqual([]);
  });

  it('does not take a long sleep or another process clock for silence', () => {
    const pool = createPool(1);
    applyDemand(pool, demand('a'), ctx(1000));
    rebalance(pool, ctx(1000));
    expect(expireClaimants(pool, 9_000_000, 90_000)).toEqual([]);
    expect(expireClaimants(pool, 5, 90_000)).toEqual([]);
    expect(expireClaimants(pool, 40_005, 90_000)).toEqual(['a']);
  });

  it('is not idle while a claimant wants what cannot be had', () => {
    const pool = createPool(1);
    resizePool(pool, 0);
    applyDemand(pool, demand('a'), ctx(0));
    rebalance(pool, ctx(0));
    expect(pool.tokens).toEqual([]);
    expect(isPoolIdle(pool)).toBe(false);
    applyDemand(pool, demand('a', { v: 2, want: 0 }), ctx(0));
    expect(isPoolIdle(pool)).toBe(true);
  });

  it('is idle when no token is held or wanted', () => {
    const pool = createPool(1);
    expect(isPoolIdle(pool)).toBe(true);
    applyDemand(pool, demand('a'), ctx(0));
    rebalance(pool, ctx(0));
    expect(isPoolIdle(pool)).toBe(false);
    applyDemand(pool, demand('a', { v: 2, want: 0, seenV: grantFor(pool, 'a').v }), ctx(0));
    expect(isPoolIdle(pool)).toBe(true);
    expect(JSON.parse(JSON.stringify(pool))).toEqual(pool);
  });
});
