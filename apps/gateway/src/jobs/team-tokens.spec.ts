import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { NO_TRACES, type Demand, type Envelope, type Grant } from '@troupe/contracts';
import { applyDemand, createPool, grantFor, rebalance } from '@troupe/politeness';
import { TeamTokens } from './team-tokens.js';

const TEAM = '5b1d0000-0000-4000-8000-000000000000';
const never = new AbortController().signal;

/** A team actor in memory; `answers` false = its grants are lost. */
function cluster(size: number) {
  const pool = createPool(size);
  const sent: Demand[] = [];
  const state = { answers: true, gen: 0, nowMs: 0 };
  const ctx = () => ({ now: state.nowMs, nextGen: () => ++state.gen });
  const publisher = {
    publishActor: async (envelope: Envelope) => {
      const demand = envelope.body as Demand;
      sent.push(demand);
      applyDemand(pool, demand, ctx());
      rebalance(pool, ctx());
      if (state.answers) deliver(demand.claimant);
    },
  };
  const listener = { listen: () => () => undefined };
  const log = { warn: () => undefined };
  const tokens = new TeamTokens(publisher, listener, 'one', log, NO_TRACES, () => state.nowMs);
  const deliver = (claimant: string) => {
    const grant = {
      type: 'Grant',
      pool: `team/${TEAM}`,
      gapMs: 0,
      meanMs: null,
      pauseMs: 0,
      ...grantFor(pool, claimant),
    };
    tokens.onGrant(structuredClone(grant) as Grant);
  };
  return { tokens, sent, state, pool, deliver };
}

describe('TeamTokens', () => {
  it('asks the pool once and serves the next scrape from the warm token', async () => {
    const { tokens, sent } = cluster(4);
    (await tokens.acquire(TEAM, 1000, never)).release();
    await turn();
    const before = sent.length;
    const lease = await tokens.acquire(TEAM, 1000, never);
    expect(lease).toMatchObject({ limited: false, queuedMs: 0 });
    expect(sent.length).toBe(before);
  });

  it('never has more places in use than the pool has', async () => {
    const { tokens } = cluster(2);
    const first = await tokens.acquire(TEAM, 1000, never);
    await tokens.acquire(TEAM, 1000, never);
    let third = false;
    const waiting = tokens.acquire(TEAM, 1000, never).then(() => (third = true));
    await turn();
    expect(third).toBe(false);
    first.release();
    await waiting;
    expect(third).toBe(true);
  });

  it('serves waiters in the order in which they came', async () => {
    const { tokens } = cluster(1);
    const first = await tokens.acquire(TEAM, 1000, never);
    const order: string[] = [];
    const second = tokens.acquire(TEAM, 1000, never).then((lease) => (order.push('second'), lease));
    const third = tokens.acquire(TEAM, 1000, never).then(() => order.push('third'));
    first.release();
    (await second).release();
    await third;
    expect(order).toEqual(['second', 'third']);
  });

  it('ends the wait with CONCURRENCY_QUEUE_TIMEOUT', async () => {
    const { tokens } = cluster(1);
    await tokens.acquire(TEAM, 1000, never);
    await expect(tokens.acquire(TEAM, 5, never)).rejects.toMatchObject({
      code: 'CONCURRENCY_QUEUE_TIMEOUT',
      httpStatus: 408,
    });
  });

  it('forgets a caller that has gone', async () => {
    const { tokens } = cluster(1);
    const first = await tokens.acquire(TEAM, 1000, never);
    const gone = new AbortController();
    const waiting = tokens.acquire(TEAM, 1000, gone.signal);
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    first.release();
    await expect(tokens.acquire(TEAM, 1000, never)).resolves.toBeDefined();
  });

  it('repeats an unmet demand until a grant arrives', async () => {
    const { tokens, sent, state } = cluster(1);
    state.answers = false;
    tokens.onApplicationBootstrap();
    const waiting = tokens.acquire(TEAM, 10_000, never);
    await turn();
    expect(sent).toHaveLength(1);
    state.answers = true;
    state.nowMs += 2_500;
    await expect(waiting).resolves.toBeDefined();
    expect(sent.length).toBeGreaterThan(1);
    await tokens.onApplicationShutdown();
  });

  it('reports a wait that was a lack of places', async () => {
    const { tokens, state } = cluster(1);
    const first = await tokens.acquire(TEAM, 1000, never);
    const waiting = tokens.acquire(TEAM, 1000, never);
    state.nowMs += 700;
    first.release();
    await expect(waiting).resolves.toMatchObject({ limited: true, queuedMs: 700 });
  });

  it('hands everything idle back when it stops', async () => {
    const { tokens, sent } = cluster(3);
    (await tokens.acquire(TEAM, 1000, never)).release();
    await turn();
    await tokens.onApplicationShutdown();
    expect(sent.at(-1)).toMatchObject({ want: 0, held: [] });
  });

  it('releases a lease once, however often it is told', async () => {
    const { tokens } = cluster(1);
    const lease = await tokens.acquire(TEAM, 1000, never);
    lease.release();
    await tokens.acquire(TEAM, 1000, never);
    lease.release();
    await expect(tokens.acquire(TEAM, 5, never)).rejects.toMatchObject({ code: 'CONCURRENCY_QUEUE_TIMEOUT' });
  });
});
