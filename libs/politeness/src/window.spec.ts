import { describe, expect, it } from '@jest/globals';
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
        askAt: this.now,
        waitMs: 0,
        lanes: [],
      });
    }
  }

  run(ms: number): void {
    for (const end = this.now + ms; this.now < end; this.now += 250) this.step();
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
      applyDemand(this.pool, { claimant: name, replyTo: name, team, ...demandFor(claim) }, ctx);
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

  it('takes no place from one that holds a token', () => {
    const pool = createPool(600);
    const ctx: PoolContext = {
      now: 0,
      nextGen: (() => {
        let gen = 0;
        return () => ++gen;
      })(),
    };
    const ask = (name: string) =>
      applyDemand(pool, { claimant: name, replyTo: name, team: 'a', want: 1, held: [], seenV: 0, ranMs: 0, v: 1 }, ctx);
    for (let n = 0; n < windowOf(600); n++) ask(`crawl/${n}`);
    rebalance(pool, ctx);
    expect(pool.tokens).toHaveLength(600);
    expect(ask('crawl/late')).toBe(false);
    expect(grantFor(pool, 'crawl/late')).toMatchObject({ tokens: [] });
    expect(Object.keys(pool.claimants)).toHaveLength(600);
  });
});
