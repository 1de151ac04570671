/** Cost of the policy for a crawl and its site, over sites of every temper: medians of seven seeds. */
import { describe, expect, it } from '@jest/globals';
import { Dice, HostWorld, type Answer, type Outcome, type Page, type Site } from './host-world.fixture.js';

const CONFIG = {
  maxConn: 4,
  gapMs: 100,
  maxRate: null,
  giveUpMs: 1_800_000,
  hold: false,
  crawlDelayMs: null,
  maxCrawlDelayMs: 60_000,
};
const SEEDS = [1, 2, 3, 4, 5, 6, 7];
/** A little more than the model that the policy was chosen by. */
const TOLERANCE = 1.15;

type SiteMaker = (dice: Dice) => Site;

const ok = (dice: Dice, mean = 80): Answer => ({ ms: dice.about(mean), status: 200 });

/** Some pages answer as said, all others well. */
const healthyBut =
  (strange: (page: Page) => Answer | null): SiteMaker =>
  (dice) => ({ answer: (_now, page) => strange(page) ?? ok(dice) });

const broken =
  (isBroken: (no: number) => boolean): SiteMaker =>
  (dice) => ({ answer: (_now, { no }) => (isBroken(no) ? { ms: dice.about(80), status: 503 } : ok(dice)) });

/** `perS` answers a second and `burst` at once; the others are refused. */
const limiter =
  (perS: number, burst: number, status: 429 | 503): SiteMaker =>
  (dice) => {
    let tokens = burst;
    let last = 0;
    return {
      answer: (now) => {
        tokens = Math.min(burst, tokens + ((now - last) * perS) / 1000);
        last = now;
        if (tokens < 1) return { ms: 15, status, isViolation: true };
        tokens -= 1;
        return ok(dice);
      },
    };
  };

/** So many answers in each minute; a request that comes too early is told when it ends. */
const minuteLimiter =
  (perMinute: number): SiteMaker =>
  (dice) => {
    let minute = -1;
    let count = 0;
    return {
      answer: (now) => {
        const current = Math.floor(now / 60_000);
        if (current !== minute) count = 0;
        minute = current;
        count += 1;
        if (count <= perMinute) return ok(dice);
        return { ms: 15, status: 429, retryMs: (minute + 1) * 60_000 - now, isViolation: true };
      },
    };
  };

const outage: SiteMaker = (dice) => ({
  answer: (now) => (now > 10_000 && now < 40_000 ? { ms: 10, status: 503, isViolation: true } : ok(dice)),
});

/** One server with visitors of its own; the more wait, the slower it is, and beyond 40 it refuses. */
const overloaded: SiteMaker = (dice) => {
  const queue: number[] = [];
  let freeAt = 0;
  let visitAt = 0;
  let visits = 0;
  let waitedMs = 0;
  const leave = (now: number): void => {
    while (queue.length > 0 && queue[0]! <= now) queue.shift();
  };
  const join = (now: number): number | null => {
    leave(now);
    if (queue.length > 40) return null;
    freeAt = Math.max(freeAt, now) + dice.about(150 * (1 + queue.length / 60));
    queue.push(freeAt);
    return freeAt - now;
  };
  const visitUntil = (now: number): void => {
    for (; visitAt < now; visitAt += -Math.log(1 - dice.next()) * 333) {
      waitedMs += join(visitAt) ?? 30_000;
      visits += 1;
    }
  };
  return {
    answer: (now) => {
      visitUntil(now);
      const waitMs = join(now);
      if (waitMs === null) return { ms: 20, status: 503, isViolation: true };
      if (waitMs > 30_000) return { ms: 30_000, status: 0, isViolation: true };
      return { ms: waitMs, status: 200 };
    },
    visitorsWaitMs: () => waitedMs / visits,
  };
};

function medians(make: SiteMaker, pages: number): Outcome {
  const runs = SEEDS.map((seed) => new HostWorld(make(new Dice(seed)), pages, CONFIG).run());
  const median = (of: (run: Outcome) => number): number => runs.map(of).sort((a, b) => a - b)[SEEDS.length >> 1]!;
  return {
    ...runs[0]!,
    seconds: median(({ seconds }) => seconds),
    lost: median(({ lost }) => lost),
    violations: median(({ violations }) => violations),
    visitorsWaitMs: median(({ visitorsWaitMs }) => visitorsWaitMs),
  };
}

const passing = healthyBut(({ no, tries }) => {
  if (tries > 1) return null;
  const strange: Record<number, Answer> = {
    20: { ms: 80, status: 503 },
    50: { ms: 40, status: 429 },
    80: { ms: 30_000, status: 0 },
  };
  return strange[no] ?? null;
});

/** Seconds, pages lost, violations. */
const CASES: [name: string, make: SiteMaker, pages: number, bound: [number, number, number]][] = [
  ['healthy with one broken URL', broken((no) => no === 40), 127, [12, 1, 0]],
  ['healthy with a 503, a 429 and a timeout that pass', passing, 127, [34, 0, 0]],
  ['limits to 2 a second with 429', limiter(2, 4, 429), 600, [312, 0, 17]],
  ['limits to 10 a second with 429', limiter(10, 10, 429), 2000, [206, 0, 11]],
  ['is overloaded', overloaded, 600, [179, 0, 0]],
  ['is out of order for 30 s', outage, 1000, [67, 0, 14]],
  ['is slow but steady', (dice) => ({ answer: () => ({ ms: dice.about(3000, 0.4), status: 200 }) }), 200, [154, 0, 0]],
  ['has 2 % broken URLs', broken((no) => no % 50 === 7), 1000, [35, 20, 0]],
  ['has 20 % broken URLs', broken((no) => no % 5 === 3), 1000, [178, 200, 0]],
  ['has 100 broken URLs in a row', broken((no) => no >= 300 && no < 400), 1000, [360, 100, 0]],
  ['limits to 2 a second with bare 503', limiter(2, 4, 503), 600, [308, 0, 24]],
  ['limits to 60 a minute with Retry-After', minuteLimiter(60), 600, [672, 0, 14]],
  [
    'has runs of pages of 80 ms and of 4 s',
    (dice) => ({ answer: (_now, { no }) => ok(dice, Math.floor(no / 60) % 2 === 1 ? 4000 : 80) }),
    400,
    [221, 0, 0],
  ],
];

describe('a crawl of a site that', () => {
  it.each(CASES)('%s takes no longer, loses no more and offends no more than the model', (_, make, pages, bound) => {
    const { seconds, lost, violations } = medians(make, pages);
    const [longest, mostLost, mostViolations] = bound.map((value) => value * TOLERANCE) as [number, number, number];
    expect(seconds).toBeLessThanOrEqual(longest);
    expect(lost).toBeLessThanOrEqual(mostLost);
    expect(violations).toBeLessThanOrEqual(mostViolations);
  });

  it('is overloaded leaves its visitors half of the wait that four connections would cost them', () => {
    const { visitorsWaitMs } = medians(overloaded, 600);
    expect(visitorsWaitMs).toBeLessThanOrEqual(760 * TOLERANCE);
  });
});
