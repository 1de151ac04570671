import { describe, expect, it } from '@jest/globals';
import type { Demand, Token } from '@troupe/contracts';
import * as fc from 'fast-check';
import {
  CLAIM_RULES,
  applyGrant,
  createClaim,
  demandFor,
  dropIdleTokens,
  returnToken,
  setWant,
  takeToken,
  type Claim,
  type ClaimRules,
} from './claim.js';
import { POOL_RULES, applyDemand, createPool, grantFor, rebalance, resizePool, type PoolRules } from './pool.js';

/** Claimants and a pool on a network that loses, repeats and reorders. Everything from one seed. */
interface Outcome {
  violation: string | null;
  /** Lanes finished by each claimant after the network became reliable. */
  lanesAfterwards: number[];
}

type Message = { to: number; demand: Demand } | { to: number; grant: ReturnType<typeof grantFor> };

const CHAOS_STEPS = 250;
/** Enough to pay off the largest debt of lane time; a run ends as soon as every claimant has progressed. */
const MAX_CALM_STEPS = 10_000;
const MIN_CALM_STEPS = 200;
const IDLE_MS = 200;

function simulate(seed: number, rules: { pool?: PoolRules; claim?: ClaimRules } = {}): Outcome {
  const random = randomFrom(seed);
  const below = (n: number): number => Math.floor(random() * n);
  const size = 1 + below(4);
  const pool = createPool(size);
  const claims = Array.from({ length: 2 + below(3) }, () => createClaim());
  const running = new Map<number, { claimant: number; token: Token }>();
  const lanesAfterwards = claims.map(() => 0);
  const network: Message[] = [];
  let now = 1000;
  let gen = 0;
  let violation: string | null = null;
  const ctx = { now, nextGen: () => ++gen };

  const sendDemand = (claimant: number): void => {
    const name = `crawl/${claimant}`;
    const rest = { type: 'Demand' as const, claimant: name, replyTo: name, robotsAgent: null, origin: null };
    network.push({ to: -1, demand: { ...rest, team: `t${claimant % 2}`, ...demandFor(claims[claimant]!) } });
  };
  const receive = (message: Message): void => {
    if ('grant' in message) {
      applyGrant(claims[message.to]!, message.grant, now, rules.claim);
      if (random() < 0.2) sendDemand(message.to);
      return;
    }
    ctx.now = now;
    applyDemand(pool, message.demand, ctx, rules.pool);
    const changed = new Set([...rebalance(pool, ctx), message.demand.claimant]);
    for (const name of changed) network.push({ to: Number(name.slice(6)), grant: grantFor(pool, name) });
  };
  const startLane = (claimant: number): void => {
    const token = takeToken(claims[claimant]!, now);
    if (token === null) return;
    const other = running.get(token.i);
    if (other !== undefined) violation ??= `${claimant} and ${other.claimant} run on token ${token.i}`;
    running.set(token.i, { claimant, token });
    if (running.size > size) violation ??= `${running.size} lanes on ${size} tokens`;
  };
  const endLane = (isCalm: boolean): void => {
    const lane = [...running.values()][below(running.size)];
    if (lane === undefined) return;
    running.delete(lane.token.i);
    returnToken(claims[lane.claimant]!, lane.token, 100 + below(3000), now);
    if (isCalm) lanesAfterwards[lane.claimant]!++;
    if (random() < 0.7) sendDemand(lane.claimant);
  };
  const deliver = (isCalm: boolean): void => {
    if (network.length === 0) return;
    const at = below(network.length);
    const [message] = network.splice(at, 1);
    if (!isCalm && random() < 0.15) return;
    if (!isCalm && random() < 0.25) network.push(message!);
    receive(message!);
  };
  const step = (isCalm: boolean): void => {
    now += below(60);
    const claimant = below(claims.length);
    const choice = random();
    if (choice < 0.55) deliver(isCalm);
    else if (choice < 0.75) startLane(claimant);
    else if (choice < 0.84) endLane(isCalm);
    else if (choice < 0.86) dropIdleTokens(claims[claimant]!, now, IDLE_MS);
    else if (choice < 0.92 && !isCalm) setWant(claims[claimant]!, below(4));
    else sendDemand(claimant);
  };

  for (let i = 0; i < CHAOS_STEPS && violation === null; i++) step(false);
  for (const claim of claims) setWant(claim, 1);
  const isOver = (i: number): boolean => i >= MIN_CALM_STEPS && Math.min(...lanesAfterwards) > 0;
  for (let i = 0; i < MAX_CALM_STEPS && violation === null && !isOver(i); i++) {
    deliver(true);
    step(true);
  }
  return { violation, lanesAfterwards };
}

function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The first of the seeds at which a mutant breaks the rule of one lane per token. */
function firstViolation(seeds: number, rules: Parameters<typeof simulate>[1]): number | null {
  for (let seed = 1; seed <= seeds; seed++) {
    if (simulate(seed, rules).violation !== null) return seed;
  }
  return null;
}

describe('grant protocol under loss, repetition and reordering', () => {
  it('never runs two lanes on one token nor more lanes than tokens, and every claimant progresses afterwards', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), (seed) => {
        const { violation, lanesAfterwards } = simulate(seed);
        expect(violation).toBeNull();
        expect(Math.min(...lanesAfterwards)).toBeGreaterThan(0);
      }),
      { numRuns: 100 },
    );
  });

  it('double-uses a token when a Demand need not have seen the Grant it lacks', () => {
    const isReleased: PoolRules['isReleased'] = (token, { held }) =>
      !held.some(({ i, gen }) => i === token.i && gen === token.gen);
    expect(firstViolation(100, { pool: { ...POOL_RULES, isReleased } })).not.toBeNull();
  });

  it('double-uses a token when the claimant forgets which generations it handed back', () => {
    expect(firstViolation(200, { claim: { ...CLAIM_RULES, mayTake: () => true } })).not.toBeNull();
  });
});

describe('a claim', () => {
  const grant = (v: number, tokens: Token[], uses: number | null = null, revoke: number[] = []) => ({
    v,
    tokens,
    uses,
    revoke,
  });
  const granted = (...tokens: Token[]): Claim => {
    const claim = createClaim();
    setWant(claim, 5);
    applyGrant(claim, grant(1, tokens), 0);
    return claim;
  };

  it('keeps a token over several lanes while no other claimant waits for it', () => {
    const claim = granted({ i: 0, gen: 1 });
    for (let lane = 0; lane < 3; lane++) {
      const token = takeToken(claim, 0)!;
      expect(returnToken(claim, token, 10, 10)).toBe(false);
    }
    expect(demandFor(claim)).toMatchObject({ held: [{ i: 0, gen: 1 }], ranMs: 30 });
  });

  it('hands a token back after one lane under contention', () => {
    const claim = createClaim();
    applyGrant(claim, grant(1, [{ i: 0, gen: 1 }], 1), 0);
    expect(returnToken(claim, takeToken(claim, 0)!, 10, 10)).toBe(true);
    expect(takeToken(claim, 10)).toBeNull();
    expect(demandFor(claim).held).toEqual([]);
  });

  it('finishes the running lane of a revoked token and hands idle ones back at once', () => {
    const claim = granted({ i: 0, gen: 1 }, { i: 1, gen: 2 });
    const token = takeToken(claim, 0)!;
    applyGrant(
      claim,
      grant(
        2,
        [
          { i: 0, gen: 1 },
          { i: 1, gen: 2 },
        ],
        null,
        [0, 1],
      ),
      5,
    );
    expect(demandFor(claim).held).toEqual([token]);
    expect(returnToken(claim, token, 10, 10)).toBe(true);
    expect(demandFor(claim).held).toEqual([]);
  });

  it('drops what a newer Grant no longer names, and ignores older Grants', () => {
    const claim = granted({ i: 0, gen: 1 });
    expect(applyGrant(claim, grant(3, []), 0)).toBe(true);
    applyGrant(claim, grant(2, [{ i: 0, gen: 7 }]), 0);
    expect(takeToken(claim, 0)).toBeNull();
  });

  it('does not run two lanes on one index that came back under a new generation', () => {
    const claim = granted({ i: 0, gen: 1 });
    const old = takeToken(claim, 0)!;
    applyGrant(claim, grant(2, [{ i: 0, gen: 9 }]), 0);
    expect(takeToken(claim, 0)).toBeNull();
    returnToken(claim, old, 10, 10);
    expect(takeToken(claim, 10)).toEqual({ i: 0, gen: 9 });
  });

  it('gives idle tokens back after the idle time, only under contention or beyond its wish', () => {
    const claim = granted({ i: 0, gen: 1 }, { i: 1, gen: 2 });
    expect(dropIdleTokens(claim, 1000, 250)).toBe(false);
    setWant(claim, 1);
    expect(dropIdleTokens(claim, 1000, 250)).toBe(true);
    expect(claim.held).toHaveLength(1);
    applyGrant(claim, grant(2, [{ i: 1, gen: 2 }], 1), 0);
    expect(dropIdleTokens(claim, 249, 250)).toBe(false);
    expect(dropIdleTokens(claim, 250, 250)).toBe(true);
    expect(claim.held).toHaveLength(0);
  });

  it('survives a JSON round trip', () => {
    const claim = granted({ i: 0, gen: 1 });
    expect(JSON.parse(JSON.stringify(claim))).toEqual(claim);
  });
});

describe('a pool', () => {
  it('revokes the tokens beyond a smaller size and assigns none while more than the size are out', () => {
    let gen = 0;
    const ctx = { now: 0, nextGen: () => ++gen };
    const pool = createPool(3);
    const demand = (claimant: string, rest: Partial<Demand>): boolean =>
      applyDemand(
        pool,
        { claimant, replyTo: claimant, team: 't', want: 3, held: [], seenV: 0, ranMs: 0, v: 1, ...rest },
        ctx,
      );
    demand('a', {});
    rebalance(pool, ctx);
    const { tokens, v } = grantFor(pool, 'a');
    resizePool(pool, 1);
    rebalance(pool, ctx);
    expect(grantFor(pool, 'a').revoke).toEqual([1, 2]);
    demand('a', { v: 2, seenV: v, held: tokens.slice(1) });
    demand('b', { want: 1 });
    rebalance(pool, ctx);
    expect(grantFor(pool, 'b').tokens).toEqual([]);
    demand('a', { v: 3, seenV: v, held: [] });
    rebalance(pool, ctx);
    expect(pool.tokens).toHaveLength(1);
  });
});
