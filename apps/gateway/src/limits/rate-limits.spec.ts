import { afterEach, describe, expect, it } from '@jest/globals';
import { type RateTotal, type RateUse } from '@troupe/persistence';
import { RateLimits } from './rate-limits.js';

const MINUTE = 60_000;

/** The shared counts, as the database keeps them. */
class SharedCounts {
  nowMs = 0;
  isAway = false;
  /** Lead of the database's clock. */
  aheadMs = 0;
  calls = 0;
  private readonly used = new Map<string, { minute: number; n: number }>();

  add(uses: readonly RateUse[]): Promise<RateTotal[]> {
    this.calls++;
    if (this.isAway) return Promise.reject(new Error('away'));
    const atMs = this.nowMs + this.aheadMs;
    const minute = Math.floor(atMs / MINUTE);
    const totals = uses.map(({ team, group, n }) => {
      const known = this.used.get(`${team} ${group}`);
      const total = n + (known?.minute === minute ? known.n : 0);
      this.used.set(`${team} ${group}`, { minute, n: total });
      return { team, group, n: total, leftMs: (minute + 1) * MINUTE - atMs };
    });
    return Promise.resolve(totals);
  }
}

const running: RateLimits[] = [];
afterEach(() => Promise.all(running.splice(0).map((gateway) => gateway.onApplicationShutdown())));

const caller = (team = 't', crawl?: number) => ({ team, flags: crawl === undefined ? {} : { rateLimits: { crawl } } });

function replicas(n: number) {
  const counter = new SharedCounts();
  const warnings: string[] = [];
  const log = { warn: (_: unknown, text: string) => warnings.push(text) } as never;
  const listeners: ((totals: RateTotal[]) => void)[] = [];
  const news = {
    publish: (totals: RateTotal[]) => listeners.forEach((hear) => hear(totals)),
    listen: (hear: (totals: RateTotal[]) => void) => void listeners.push(hear),
  };
  const gateways = Array.from({ length: n }, () => {
    const gateway = new RateLimits(counter, news, { rateLimits: true }, log, () => counter.nowMs);
    gateway.onApplicationBootstrap();
    return gateway;
  });
  running.push(...gateways);
  return { counter, gateways, warnings };
}

const letIn = (gateway: RateLimits, times: number, who = caller()): number => {
  let n = 0;
  for (let i = 0; i < times; i++) {
    try {
      gateway.admit(who, 'crawl');
      n++;
    } catch {
      // counted by its absence
    }
  }
  return n;
};

describe('RateLimits', () => {
  it('lets a team in up to its limit and says when to come back', async () => {
    const { counter, gateways } = replicas(1);
    const [gateway] = gateways as [RateLimits];
    expect(letIn(gateway, 1)).toBe(1);
    await gateway.tell();
    counter.nowMs = 20_500;
    expect(letIn(gateway, 20)).toBe(14);
    expect(() => gateway.admit(caller(), 'crawl')).toThrow(
      expect.objectContaining({ status: 429, retryAfterS: 40, message: expect.stringMatching(/^Rate limit exceeded/) }),
    );
  });

  it('counts groups and teams apart, and honours the limits of a team’s own', () => {
    const [gateway] = replicas(1).gateways as [RateLimits];
    expect(letIn(gateway, 20)).toBe(15);
    expect(letIn(gateway, 20, caller('other'))).toBe(15);
    expect(letIn(gateway, 5, caller('small', 2))).toBe(2);
    expect(() => gateway.admit(caller(), 'map')).not.toThrow();
  });

  it('is one limit over all gateways once they have told each other', async () => {
    const { gateways } = replicas(2);
    const [one, two] = gateways as [RateLimits, RateLimits];
    expect(letIn(one, 9)).toBe(9);
    await one.tell();
    expect(letIn(two, 1)).toBe(1);
    await two.tell();
    expect(letIn(two, 20)).toBe(5);
    await two.tell();
    expect(letIn(one, 1)).toBe(0);
  });

  it('starts anew with the database’s minute, and keeps nothing of the last one', async () => {
    const { counter, gateways } = replicas(1);
    const [gateway] = gateways as [RateLimits];
    letIn(gateway, 1);
    await gateway.tell();
    expect(letIn(gateway, 20)).toBe(14);
    await gateway.tell();
    counter.nowMs = MINUTE;
    expect(letIn(gateway, 20)).toBe(15);
  });

  it('forgets the last minute for every team when the database’s turns a moment before its own', async () => {
    const { counter, gateways } = replicas(1);
    const [gateway] = gateways as [RateLimits];
    letIn(gateway, 1);
    await gateway.tell();
    expect(letIn(gateway, 20, caller('quiet'))).toBe(15);
    await gateway.tell();
    counter.aheadMs = 50;
    counter.nowMs = MINUTE - 20;
    letIn(gateway, 1);
    await gateway.tell();
    expect(letIn(gateway, 20, caller('quiet'))).toBe(15);
    expect(letIn(gateway, 20)).toBe(14);
  });

  it('costs one statement for many requests, and none without any', async () => {
    const { counter, gateways } = replicas(1);
    const [gateway] = gateways as [RateLimits];
    letIn(gateway, 10);
    letIn(gateway, 10, caller('other'));
    await gateway.tell();
    await gateway.tell();
    expect(counter.calls).toBe(1);
  });

  it('counts by itself while the database is away, says so once, and tells what it let in afterwards', async () => {
    const { counter, gateways, warnings } = replicas(2);
    const [one, two] = gateways as [RateLimits, RateLimits];
    counter.isAway = true;
    expect(letIn(one, 10)).toBe(10);
    await one.tell();
    await one.tell();
    expect(warnings).toHaveLength(1);
    expect(letIn(one, 10)).toBe(5);
    counter.isAway = false;
    await one.tell();
    expect(letIn(two, 1)).toBe(0);
  });
});
