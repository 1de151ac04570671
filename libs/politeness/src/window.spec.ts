import { describe, expect, it } from '@jest/globals';
import type { Demand } from '@troupe/contracts';
import { applyGrant, createClaim, demandFor, returnToken, setWant, takeToken, type Claim } from './claim.js';
import { applyDemand, createPool, grantFor, isPoolIdle, rebalance, type PoolContext } from './pool.js';
import type { Pool } from './pool-state.js';
import { spread } from './spread.js';
import { windowOf } from './window.js';

const MOST_BYTES = 64 * 1024;
const LANE_MS = 1_000;
const FIRST_ASK_MS = 2_000;
const LATEST_ASK_MS = 30_000;

interface Job {
  name: string;
  team: string;
  claim: Claim;
  pagesLeft: number;
  started: number;
  /** Since when it wants a token and has none, and the longest that took. */
  wantsSince: number;
  longestWaitMs: number;
  askAt: number;
  waitMs: number;
  lanes: { token: { i: number; gen: number }; endsAt: number }[];
}

/** Claimants that begin in one moment and ask as jobs do: at once when something has changed, else after 2 s, and rarer and rarer. */
class Crowd {
  now = 0;
  mostBytes = 0;
  slowestTurnMs = 0;
  readonly jobs: Job[] = [];
  private gen = 0;
  private readonly running = new Map<number, string>();

  constructor(readonly pool: Pool) {}

  add(count: number, team: string, pages: number): void {
    for (let n = 0; n < count; n++) {
      const name = `crawl/00000000-0000-4000-8000-${`${team}${this.jobs.length}`.padStart(12, '0')}`;
      const claim = createClaim();
      setWant(claim, 1);
      this.jobs.push({
        name,
        team,
        claim,
        pagesLeft: pages,
        started: 0,
        wantsSince: this.now,
        longestWaitMs: 0,
        askAt: this.now,
        waitMs: 0,
        lanes: [],
      });
    }
  }

  run(ms: number): void {
    for (const end = this.now + ms; this.now < end; this.now += 250) this.step();
  }

  /** For jobs without a token this includes the wait until now. */
  get longestWaitMs(): number {
    const waits = this.jobs.map(({ lanes, pagesLeft, wantsSince, longestWaitMs }) =>
      lanes.length > 0 || pagesLeft === 0 ? longestWaitMs : Math.max(longestWaitMs, this.now - wantsSince),
    );
    return Math.max(...waits);
  }

  private step(): void {
    for (const job of this.jobs) this.endLanes(job);
    const asking = this.jobs.filter(({ askAt }) => askAt <= this.now);
    for (let n = 0; n < asking.length; n += 64) this.turn(asking.slice(n, n + 64));
  }

  private endLanes(job: Job): void {
    for (const lane of job.lanes.filter(({ endsAt }) => endsAt <= this.now)) {
      returnToken(job.claim, lane.token, LANE_MS, this.now);
      this.running.delete(lane.token.i);
      job.pagesLeft -= 1;
      job.wantsSince = this.now;
      job.askAt = this.now;
      job.waitMs = FIRST_ASK_MS;
    }
    job.lanes = job.lanes.filter(({ endsAt }) => endsAt > this.now);
    if (job.pagesLeft === 0) setWant(job.claim, 0);
  }

  private turn(jobs: Job[]): void {
    const ctx: PoolContext = { now: this.now, nextGen: () => ++this.gen };
    const startedAt = performance.now();
    const answers = new Set<string>();
    for (const { name, team, claim } of jobs) {
      applyDemand(this.pool, { claimant: name, replyTo: name, team, ...demandFor(claim, this.now) }, ctx);
      answers.add(name);
    }
    for (const name of rebalance(this.pool, ctx)) answers.add(name);
    const grants = new Map([...answers].map((name) => [name, grantFor(this.pool, name)]));
    const json = JSON.stringify(this.pool);
    this.slowestTurnMs = Math.max(this.slowestTurnMs, performance.now() - startedAt);
    this.mostBytes = Math.max(this.mostBytes, json.length);
    for (const job of jobs) {
      const over = job.pagesLeft === 0 && job.claim.held.length === 0;
      job.waitMs = Math.min(LATEST_ASK_MS, Math.max(FIRST_ASK_MS, job.waitMs * 2));
      job.askAt = over ? Infinity : this.now + spread(job.waitMs, job.name, job.claim.v);
    }
    for (const job of this.jobs) {
      const grant = grants.get(job.name);
      if (grant !== undefined && applyGrant(job.claim, grant, this.now)) job.askAt = this.now;
      if (grant !== undefined) this.startLanes(job);
    }
  }

  private startLanes(job: Job): void {
    const token = job.pagesLeft > 0 ? takeToken(job.claim, this.now) : null;
    if (token === null) return;
    if (this.running.has(token.i)) throw new Error(`token ${token.i} of ${this.running.get(token.i)} given twice`);
    this.running.set(token.i, job.name);
    job.started += 1;
    job.longestWaitMs = Math.max(job.longestWaitMs, this.now - job.wantsSince);
    job.lanes.push({ token, endsAt: this.now + LANE_MS });
  }
}

describe('the window of a pool', () => {
  it('lets 5,000 jobs of one page each end, in a state of bounded size', () => {
    const crowd = new Crowd(createPool(50));
    crowd.add(5_000, 'a', 1);
    crowd.run(180_000);
    expect(crowd.jobs.filter(({ pagesLeft }) => pagesLeft > 0)).toHaveLength(0);
    expect(crowd.mostBytes).toBeLessThan(MOST_BYTES);
    expect(Object.keys(crowd.pool.claimants).length).toBeLessThanOrEqual(windowOf(50));
    expect(isPoolIdle(crowd.pool)).toBe(true);
  });

  it('leaves none of 600 jobs out that would never end', () => {
    const crowd = new Crowd(createPool(50));
    crowd.add(600, 'a', 1_000_000);
    crowd.run(400_000);
    expect(Math.min(...crowd.jobs.map(({ started }) => started))).toBeGreaterThanOrEqual(1);
    expect(crowd.mostBytes).toBeLessThan(MOST_BYTES);
  });

  it('lets each of 1,200 jobs that never end have its turn, by order of waiting', () => {
    const crowd = new Crowd(createPool(50));
    crowd.add(1_200, 'a', 1_000_000);
    crowd.run(120_000);
    expect(Math.min(...crowd.jobs.map(({ started }) => started))).toBeGreaterThanOrEqual(1);
    crowd.run(120_000);
    // One round of lanes of all (24 s) and one period of asking (30 s), and the time until a lane ends.
    expect(crowd.longestWaitMs).toBeLessThanOrEqual(60_000);
    expect(crowd.mostBytes).toBeLessThan(MOST_BYTES);
  });

  it('gives the one job of a team half of the host, however many another team has', () => {
    const crowd = new Crowd(createPool(2));
    crowd.add(2_000, 'a', 1_000_000);
    crowd.run(10_000);
    crowd.add(1, 'b', 1_000_000);
    crowd.run(120_000);
    expect(crowd.jobs.at(-1)!.started).toBeGreaterThan(30);
  });

  it('goes round when no job ends and each could keep its token', () => {
    const crowd = new Crowd(createPool(150));
    crowd.add(300, 'a', 1_000_000);
    crowd.run(60_000);
    expect(Math.min(...crowd.jobs.map(({ started }) => started))).toBeGreaterThanOrEqual(1);
    expect(crowd.mostBytes).toBeLessThan(80 * 1024);
  });

  describe('that is full', () => {
    let gen = 0;
    const ctx: PoolContext = { now: 0, nextGen: () => ++gen };
    const ask = (pool: Pool, name: string, waited: Pick<Demand, 'waitedMs'> = {}) => {
      const wish = { team: 'a', want: 1, held: [], seenV: 0, ranMs: 0, v: 1, ...waited };
      return applyDemand(pool, { claimant: name, replyTo: name, ...wish }, ctx);
    };
    const fullPool = (size: number, waitedOf: (n: number) => Pick<Demand, 'waitedMs'>): Pool => {
      const pool = createPool(size);
      for (let n = 0; n < windowOf(size); n++) ask(pool, `crawl/${n}`, waitedOf(n));
      return pool;
    };

    it('takes no place from one that holds a token', () => {
      const pool = fullPool(600, () => ({}));
      rebalance(pool, ctx);
      expect(pool.tokens).toHaveLength(600);
      expect(ask(pool, 'crawl/late')).toBe(false);
      expect(ask(pool, 'crawl/oldest', { waitedMs: 3_600_000 })).toBe(false);
      expect(grantFor(pool, 'crawl/late')).toMatchObject({ tokens: [] });
      expect(Object.keys(pool.claimants)).toHaveLength(600);
    });

    it('gives the place of who has waited least to one that has waited longer', () => {
      const pool = fullPool(1, (n) => ({ waitedMs: 1_000 + n }));
      expect(ask(pool, 'crawl/late', { waitedMs: 1_000 })).toBe(false);
      expect(ask(pool, 'crawl/longer', { waitedMs: 1_001 })).toBe(true);
      expect(Object.keys(pool.claimants)).toHaveLength(windowOf(1));
      expect(pool.claimants['crawl/0']).toBeUndefined();
    });

    it('leaves those in place that do not say how long they have waited, and lets none of them push in', () => {
      expect(
        ask(
          fullPool(1, () => ({})),
          'crawl/new',
          { waitedMs: 3_600_000 },
        ),
      ).toBe(false);
      expect(
        ask(
          fullPool(1, (n) => ({ waitedMs: n })),
          'crawl/old',
        ),
      ).toBe(false);
    });

    it('lists its claimants a few times in a turn, not once for each token', () => {
      const pool = fullPool(600, () => ({}));
      const work = { lists: 0, reads: 0 };
      pool.claimants = counted(pool.claimants, work);
      rebalance(pool, ctx);
      expect(pool.tokens).toHaveLength(600);
      expect(work.lists).toBeLessThanOrEqual(10);
      expect(work.reads).toBeLessThanOrEqual(20 * 600);
    });
  });
});

/** Counts how often the entries are listed, and how often one of them is read. */
function counted<T extends object>(entries: T, work: { lists: number; reads: number }): T {
  return new Proxy(entries, {
    ownKeys: (target) => {
      work.lists++;
      return Reflect.ownKeys(target);
    },
    get: (target, name) => {
      work.reads++;
      return Reflect.get(target, name) as unknown;
    },
  });
}
