import { describe, expect, it } from '@jest/globals';
import type { Token } from '@troupe/contracts';
import {
  applyGrant,
  createClaim,
  demandFor,
  dropIdleTokens,
  returnToken,
  setWant,
  takeableTokens,
  takeToken,
  type Claim,
} from './claim.js';

const A: Token = { i: 0, gen: 1 };
const B: Token = { i: 1, gen: 2 };

function grant(v: number, tokens: Token[], rest: { uses?: number | null; revoke?: number[] } = {}) {
  return { v, tokens, uses: null, revoke: [], ...rest };
}

function claimOf(...tokens: Token[]): Claim {
  const claim = createClaim();
  setWant(claim, tokens.length);
  applyGrant(claim, grant(1, tokens), 0);
  return claim;
}

describe('a claim at its edges', () => {
  it('has nothing to give before its first Grant', () => {
    const claim = createClaim();
    expect(takeToken(claim, 0)).toBeNull();
    expect(takeableTokens(claim)).toBe(0);
    expect(demandFor(claim)).toEqual({ want: 0, held: [], seenV: 0, ranMs: 0, v: 1 });
  });

  it('numbers its Demands, so that the pool can tell the newest', () => {
    const claim = claimOf(A);
    expect([demandFor(claim).v, demandFor(claim).v, demandFor(claim).v]).toEqual([1, 2, 3]);
  });

  it('takes each token once, and the same Grant twice changes nothing', () => {
    const claim = claimOf(A, B);
    expect([takeToken(claim, 0), takeToken(claim, 0), takeToken(claim, 0)]).toEqual([A, B, null]);
    expect(applyGrant(claim, grant(1, [A, B]), 9)).toBe(false);
    expect(takeToken(claim, 9)).toBeNull();
  });

  it('never takes a generation again that it handed back, whatever Grants under way still say', () => {
    const claim = claimOf(A);
    setWant(claim, 0);
    applyGrant(claim, grant(2, [A]), 0);
    expect(takeToken(claim, 0)).toBeNull();
    applyGrant(claim, grant(3, [{ i: 0, gen: 9 }]), 0);
    expect(takeToken(claim, 0)).toEqual({ i: 0, gen: 9 });
  });

  it('remembers the highest generation that it handed back, also when an older one ends after it', () => {
    const claim = claimOf(A);
    const newer: Token = { i: A.i, gen: 9 };
    const running = takeToken(claim, 0)!;
    applyGrant(claim, grant(2, [newer]), 0);
    setWant(claim, 0);
    expect(demandFor(claim).held).toEqual([A]);
    expect(returnToken(claim, running, 10, 0)).toBe(true);
    applyGrant(claim, grant(3, [newer]), 0);
    expect(takeToken(claim, 0)).toBeNull();
    expect(demandFor(claim).held).toEqual([]);
  });

  it('counts lane time for tokens it no longer holds, and never less than before', () => {
    const claim = claimOf(A);
    expect(returnToken(claim, { i: 5, gen: 5 }, 70, 0)).toBe(false);
    returnToken(claim, A, -50, 0);
    expect(demandFor(claim).ranMs).toBe(70);
  });

  it('runs no new lane on a token that is revoked while a lane runs, and names it as held until the end', () => {
    const claim = claimOf(A);
    const token = takeToken(claim, 0)!;
    expect(applyGrant(claim, grant(2, []), 5)).toBe(false);
    expect(demandFor(claim)).toMatchObject({ held: [A], seenV: 2 });
    expect(returnToken(claim, token, 10, 10)).toBe(true);
    expect(demandFor(claim).held).toEqual([]);
  });

  it('obeys the number of lanes per token of the newest Grant', () => {
    const claim = claimOf(A);
    applyGrant(claim, grant(2, [A], { uses: 2 }), 0);
    expect(returnToken(claim, takeToken(claim, 0)!, 1, 0)).toBe(false);
    expect(returnToken(claim, takeToken(claim, 0)!, 1, 0)).toBe(true);
    expect(takeToken(claim, 0)).toBeNull();
  });

  it('hands a token back that has had its lanes when contention begins', () => {
    const claim = claimOf(A, B);
    for (let lane = 0; lane < 3; lane++) returnToken(claim, takeToken(claim, 0)!, 1, 0);
    expect(applyGrant(claim, grant(2, [A, B], { uses: 1 }), 0)).toBe(true);
    expect(demandFor(claim).held).toEqual([B]);
  });

  it('hands a token back that arrives revoked', () => {
    const claim = createClaim();
    expect(applyGrant(claim, grant(1, [A], { revoke: [0] }), 0)).toBe(true);
    expect(takeToken(claim, 0)).toBeNull();
  });

  it('without a wish hands back every idle token and keeps those that run', () => {
    const claim = claimOf(A, B);
    const token = takeToken(claim, 0)!;
    expect(setWant(claim, 0)).toBe(true);
    expect(demandFor(claim)).toMatchObject({ want: 0, held: [token] });
    expect(setWant(claim, 0)).toBe(false);
  });

  it('asks for whole tokens, none below zero', () => {
    const claim = createClaim();
    setWant(claim, 2.9);
    expect(claim.want).toBe(2);
    setWant(claim, -3);
    expect(claim.want).toBe(0);
  });

  it('measures idleness anew when the clock went back, instead of keeping a token for ever', () => {
    const claim = claimOf(A);
    applyGrant(claim, grant(2, [A], { uses: 1 }), 0);
    claim.held[0]!.idleAt = 1_000_000;
    expect(dropIdleTokens(claim, 100, 250)).toBe(false);
    expect(dropIdleTokens(claim, 349, 250)).toBe(false);
    expect(dropIdleTokens(claim, 350, 250)).toBe(true);
  });

  it('gives up no running token, however long its lane takes', () => {
    const claim = claimOf(A);
    applyGrant(claim, grant(2, [A], { uses: 1 }), 0);
    takeToken(claim, 0);
    expect(dropIdleTokens(claim, 1_000_000, 250)).toBe(false);
  });
});

describe('the time a claim has waited without a token', () => {
  const waitedMs = (claim: Claim, now: number) => demandFor(claim, now).waitedMs;

  it('runs while it wants and holds none, and begins again after a token', () => {
    const claim = createClaim();
    expect(waitedMs(claim, 1_000)).toBe(0);
    setWant(claim, 1);
    expect([waitedMs(claim, 2_000), waitedMs(claim, 32_000)]).toEqual([0, 30_000]);
    applyGrant(claim, { tokens: [{ i: 0, gen: 1 }], uses: 1, revoke: [], v: 1 }, 40_000);
    expect(waitedMs(claim, 41_000)).toBe(0);
    returnToken(claim, takeToken(claim, 41_000)!, 1_000, 42_000);
    expect([waitedMs(claim, 42_000), waitedMs(claim, 44_000)]).toEqual([0, 2_000]);
    setWant(claim, 0);
    expect(waitedMs(claim, 50_000)).toBe(0);
  });

  it('takes a clock that leaps for that of another process', () => {
    const claim = createClaim();
    setWant(claim, 1);
    expect([waitedMs(claim, 10_000), waitedMs(claim, 5), waitedMs(claim, 9_000_000)]).toEqual([0, 0, 60_000]);
    expect(demandFor(claim)).not.toHaveProperty('waitedMs');
  });
});
