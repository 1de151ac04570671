import { describe, expect, it } from '@jest/globals';
import type { LaneItem, PageResult } from '@troupe/contracts';
import { failedPage, JobRun, linksTo, pageOf, startOfBatch, startOfCrawl } from './job-run.fixture.js';

const ROOT = 'http://h.test/';
const busy = (item: LaneItem, rest: Partial<PageResult> = {}) =>
  failedPage(item, { retryable: true, statusCode: 503, ...rest });
const limited = (item: LaneItem) => busy(item, { statusCode: 429 });

/** A crawl whose start page links to these. */
function crawl(...paths: string[]): JobRun {
  const run = new JobRun('crawl', { host: 1, team: 1 });
  run.turn(startOfCrawl());
  run.runLane(run.lanes.shift()!, (item) => pageOf(item, { outlinks: linksTo(...paths) }));
  return run;
}

/** Fails `path` until it is given up; how long after each other it was tried, in ms. */
function gapsOf(run: JobRun, fail: (item: LaneItem) => PageResult): number[] {
  const at: number[] = [];
  run.runAll((item) => {
    at.push(run.now);
    return fail(item);
  });
  return at.slice(1).map((time, i) => time - at[i]!);
}

describe('a page that fails for the moment', () => {
  it('is tried again after 2 s and after 8 s, and fails with its third strike', () => {
    const run = crawl('/a');
    expect(gapsOf(run, (item) => busy(item))).toEqual([2_000, 8_000]);
    expect(run.outcomes.at(-1)).toMatchObject({ outcome: 'failed', attempts: 3 });
    expect(run.last).toMatchObject({ status: 'completed', completed: 2 });
  });

  it('is tried more rarely on a host that fails some URLs for long', () => {
    const run = crawl('/a');
    run.tellHost({ deaf: true });
    expect(gapsOf(run, (item) => busy(item))).toEqual([30_000, 120_000]);
  });

  it('waits for its Retry-After, for 15 min at most, and no other page waits with it', () => {
    const run = crawl('/a', '/b');
    const asked: [string, number][] = [];
    const start = run.now;
    run.runAll((item) => {
      asked.push([item.url.slice(ROOT.length), run.now - start]);
      return item.url.endsWith('/a') && item.attempt < 3
        ? busy(item, { retryAfterMs: item.attempt === 1 ? 7_000 : 3_600_000 })
        : pageOf(item);
    });
    expect(asked).toEqual([
      ['a', 0],
      ['b', 0],
      ['a', 7_000],
      ['a', 907_000],
    ]);
    expect(run.last).toMatchObject({ status: 'completed', completed: 3, total: 3 });
  });

  it('is not blamed for a host that is down', () => {
    const run = crawl('/a');
    const lane = run.lanes.shift()!;
    run.tellHost({ state: 'down' });
    run.runLane(lane, (item) => busy(item));
    run.wait(60_000);
    expect(run.lanes).toEqual([]);
    run.tellHost({ state: 'open' });
    expect(run.lanes).toMatchObject([{ items: [{ attempt: 1 }] }]);
    expect(run.marks.find(({ tries }) => tries === 1)).toMatchObject({ rule: 'retry-later' });
  });

  it('is not blamed for a 429 while the rate of its host has just been cut', () => {
    const run = crawl('/a');
    run.tellHost({ state: 'slowed', limitedMs: 0 });
    run.runLane(run.lanes.shift()!, limited);
    run.wait(2_000);
    expect(run.lanes[0]!.items).toMatchObject([{ attempt: 1 }]);
    run.tellHost({ state: 'slowed', limitedMs: 60_001 });
    run.runLane(run.lanes.shift()!, limited);
    run.wait(2_000);
    expect(run.lanes[0]!.items).toMatchObject([{ attempt: 2 }]);
  });

  it('ends after 30 tries, whoever is to blame', () => {
    const run = crawl('/a');
    run.tellHost({ state: 'slowed', limitedMs: 0 });
    let tries = 0;
    run.runAll((item) => {
      tries += 1;
      run.tellHost({ state: 'slowed', limitedMs: 0 });
      return limited(item);
    });
    expect(tries).toBe(30);
    expect(run.outcomes.at(-1)).toMatchObject({ outcome: 'failed', attempts: 30 });
    expect(run.state.phase).toBe('over');
  });

  it('goes on waiting, and counts on, when another process takes over', () => {
    const run = crawl('/a');
    run.runLane(run.lanes.shift()!, (item) => busy(item));
    expect(run.marks.at(-1)).toMatchObject({ tries: 1, waitMs: 2_000, rule: 'retry-later' });
    run.now += 500;
    run.restart();
    run.wait(0);
    expect(run.lanes).toEqual([]);
    run.wait(1_499);
    expect(run.lanes).toEqual([]);
    run.wait(1);
    expect(run.lanes).toMatchObject([{ items: [{ attempt: 2 }] }]);
  });
});

describe('a host', () => {
  it.each(['down', 'held'] as const)('that is %s gets no lane until its actor says otherwise', (state) => {
    const run = crawl();
    const batch = new JobRun('batch', { host: 1, team: 1 });
    batch.host = { state };
    batch.seeds = [ROOT];
    batch.turn(startOfBatch(1));
    batch.wait(60_000);
    expect(batch.lanes).toEqual([]);
    batch.tellHost({});
    expect(batch.lanes).toHaveLength(1);
    expect(run.last.slowHosts).toEqual([]);
  });

  it('is held as long as a lane asked that met nothing but trouble, unless it is opened before', () => {
    const run = crawl('/a', '/b', '/c');
    const lane = run.lanes.shift()!;
    const end = { lane: lane.lane, run: 'r', ranMs: 5, unrun: [], pages: [] };
    run.turn({ type: 'LaneEnd', ...end, reason: 'penalty', retryMs: 9_000 });
    run.wait(8_999);
    expect(run.lanes).toEqual([]);
    run.wait(1);
    const next = run.lanes.shift()!;
    run.turn({ type: 'LaneEnd', ...end, lane: next.lane, reason: 'penalty', retryMs: 9_000 });
    run.tellHost({ state: 'paused', pauseMs: 60_000 });
    run.tellHost({ state: 'open' });
    expect(run.lanes).toHaveLength(1);
  });

  it('that was down too long is left: its pages fail without a unit of the limit, and the crawl ends', () => {
    const run = crawl('/a', '/b', '/c');
    const lane = run.lanes.shift()!;
    run.runLane(lane, (item) => busy(item));
    run.lanes.length = 0;
    run.tellHost({ state: 'down', givenUp: true });
    expect(run.outcomes.map(({ outcome, rule }) => [outcome, rule])).toEqual([
      ['ok', null],
      ...Array.from({ length: 3 }, () => ['failed', 'host-down']),
    ]);
    expect(run.errors.at(-1)).toMatchObject({ code: 'SCRAPE_SITE_ERROR', message: expect.stringContaining('h.test') });
    expect(run.last).toMatchObject({ status: 'completed', total: 1, completed: 1 });
  });

  it('that is left ends a crawl that has no start page with the reason', () => {
    const run = new JobRun('crawl', { host: 1, team: 1 });
    run.host = { state: 'down', givenUp: true };
    run.turn(startOfCrawl());
    expect(run.last).toMatchObject({ status: 'failed', error: expect.stringContaining('no good answer') });
  });

  it('that is left takes a thousand pages a turn', () => {
    const run = new JobRun('batch', { host: 1, team: 1 });
    run.host = { state: 'down', givenUp: true };
    run.seeds = Array.from({ length: 2_500 }, (_, i) => `${ROOT}${i}`);
    run.turn(startOfBatch(2_500));
    for (let turns = 0; turns < 9 && run.state.phase !== 'over'; turns++) {
      const before = run.outcomes.length;
      run.wait(0);
      expect(run.outcomes.length - before).toBeLessThanOrEqual(1_000);
    }
    expect(run.outcomes).toHaveLength(2_500);
    expect(run.last).toMatchObject({ status: 'completed', total: 0, completed: 0, seeds: 2_500 });
  });
});

describe('a robots.txt that cannot be read', () => {
  const unread = (item: LaneItem) => busy(item, { statusCode: 0, rule: 'robots-unreadable', retryAfterMs: 5_000 });

  it('makes its pages wait without a try or a strike', () => {
    const run = crawl('/a', '/b');
    const lane = run.lanes.shift()!;
    run.turn({
      type: 'LaneEnd',
      lane: lane.lane,
      run: 'r',
      reason: 'penalty',
      retryMs: 5_000,
      robotsUnreadable: true,
      ranMs: 1,
      unrun: [lane.items[1]!.item],
      pages: [unread(lane.items[0]!)],
    });
    expect(run.marks.slice(-2)).toMatchObject([
      { tries: 0, waitMs: 5_000, rule: 'robots-unreadable' },
      { tries: 0, waitMs: 5_000, rule: 'robots-unreadable' },
    ]);
    run.wait(5_000);
    run.runAll((item) => pageOf(item));
    expect(run.last).toMatchObject({ status: 'completed', completed: 3 });
  });

  it('counts as a ban when the job is a day old', () => {
    const run = crawl('/a');
    run.now = 24 * 3_600_000 + 1;
    run.runLane(run.lanes.shift()!, unread);
    expect(run.outcomes.at(-1)).toMatchObject({ outcome: 'robots' });
    expect(run.last).toMatchObject({ status: 'completed', completed: 1, total: 1 });
  });

  it('fails a crawl soon that has no start page yet', () => {
    const run = new JobRun('crawl');
    run.turn(startOfCrawl());
    run.runAll(unread);
    expect(run.last).toMatchObject({ status: 'failed', error: 'refused' });
    expect(run.errors).toMatchObject([{ code: 'SCRAPE_SITE_ERROR' }]);
  });
});

describe('what a job shows of its hosts', () => {
  it('names those that are not treated as allowed, and drops them when they are again', () => {
    const run = crawl('/a');
    run.tellHost({ state: 'slowed' });
    expect(run.last.slowHosts).toEqual(['h.test']);
    run.tellHost({ state: 'open' });
    expect(run.last.slowHosts).toEqual([]);
  });

  it('is kept while another process takes over', () => {
    const run = crawl('/a');
    run.tellHost({ state: 'slowed' });
    run.restart();
    run.wait(1_000);
    expect(run.last.slowHosts).toEqual(['h.test']);
  });

  it('ends in a warning with the trouble that it met, when that took a tenth of the run', () => {
    const run = crawl('/a', '/b');
    run.tellHost({ state: 'slowed', limitedMs: 0 });
    run.runLane(run.lanes.shift()!, limited);
    run.now += 720_000;
    run.tellHost({ state: 'open' });
    run.wait(0);
    run.runAll((item) => pageOf(item));
    expect(run.last.warning).toMatch(/^h\.test was slowed for 12 min: 429 at http:\/\/h\.test\/[ab]\.$/);
  });

  it('ends without one when it hardly mattered', () => {
    const run = crawl('/a');
    run.tellHost({ state: 'slowed' });
    run.now += 1_000;
    run.tellHost({ state: 'open' });
    run.now += 60_000;
    run.runAll((item) => pageOf(item));
    expect(run.last.warning).toBeNull();
  });
});
