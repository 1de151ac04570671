import { describe, expect, it } from '@jest/globals';
import { billingMonth } from './billing-month.js';
import { CreditGate } from './credit-gate.js';

const TEAM = { team: 't', creditsLimit: 10 };

function gateWith(used: number, isOn = true) {
  const state = { used, reads: 0, nowMs: 1_000 };
  const usedIn = () => {
    state.reads++;
    return Promise.resolve(state.used);
  };
  return { state, gate: new CreditGate({ usedIn }, { billing: isOn }, () => state.nowMs) };
}

describe('CreditGate', () => {
  it('lets a request in while its credits are there, and answers 402 naming them when not', async () => {
    const { gate } = gateWith(7);
    await gate.charge(TEAM, 3);
    await expect(gate.charge(TEAM, 1)).rejects.toMatchObject({
      status: 402,
      code: undefined,
      message: expect.stringContaining('credits'),
    });
  });

  it('asks for the balance once for requests that come together, and again after 5 s', async () => {
    const { gate, state } = gateWith(8);
    const results = await Promise.allSettled([1, 2, 3].map(() => gate.charge(TEAM, 1)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    expect(state.reads).toBe(1);
    state.nowMs += 5_001;
    await gate.charge(TEAM, 1);
    expect(state.reads).toBe(2);
  });

  it('shortens a crawl to what can be paid, and refuses it only when that is nothing', async () => {
    const { gate, state } = gateWith(6);
    expect(await gate.affordable(TEAM, 3)).toBe(3);
    expect(await gate.affordable(TEAM, 100)).toBe(4);
    state.used = 12;
    state.nowMs += 6_000;
    await expect(gate.affordable(TEAM, 1)).rejects.toMatchObject({ status: 402 });
  });

  it.each([
    ['a team without a limit', gateWith(1e9), { team: 't', creditsLimit: null }],
    ['an installation without billing', gateWith(1e9, false), TEAM],
  ])('asks nothing for %s', async (_, { gate, state }, payer) => {
    await gate.charge(payer, 1_000_000);
    expect(await gate.affordable(payer, 5)).toBe(5);
    expect(state.reads).toBe(0);
  });
});

describe('billingMonth', () => {
  it('is the calendar month in UTC, over the turn of the year too', () => {
    const { start, end, fromDay, toDay } = billingMonth(new Date('2026-12-31T23:59:59.999Z'));
    expect([start.toISOString(), end.toISOString()]).toEqual(['2026-12-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z']);
    expect(toDay - fromDay).toBe(31);
  });
});
