/** A job whose start, or whose later message, cannot be handled ends for its client in every phase. */
import { describe, expect, it } from '@jest/globals';
import { SPEC_LIMITS, type WebhookSpec } from '@troupe/contracts';
import { JobRun, linksTo, pageOf, startOfBatch, startOfCrawl } from './job-run.fixture.js';

const WEBHOOK = { url: 'http://hook.test/', headers: {}, metadata: {}, events: [] } as unknown as WebhookSpec;
const tooLarge = () => {
  const includePaths = Array.from({ length: 1_001 }, (_, i) => `/${i}`);
  return startOfCrawl({ scope: { includePaths }, webhook: WEBHOOK });
};

describe('a start with wishes that are too large', () => {
  it('fails the job with a code, tells its listener, and keeps nothing of them', () => {
    const run = new JobRun('crawl');
    run.turn(tooLarge());
    expect(run.last).toMatchObject({
      status: 'failed',
      finished: true,
      error: 'SPEC_TOO_LARGE: 1001 patterns, at most 1000 are allowed',
    });
    expect(run.told.map(({ event }) => event)).toEqual(['started', 'terminal']);
    expect([run.lanes, run.receipts]).toEqual([[], ['j']]);
    expect(JSON.stringify(run.state).length).toBeLessThan(4_000);
  });

  it('ends a job that was cancelled before as cancelled', () => {
    const run = new JobRun('crawl');
    run.turn({ type: 'Cancel', job: 'j', cmd: 'c' });
    run.turn(tooLarge());
    expect(run.last).toMatchObject({ status: 'cancelled', finished: true });
  });
});

describe('a job of which a message became a dead letter', () => {
  it.each([
    ['a crawl', 'crawl', startOfCrawl({ webhook: WEBHOOK })],
    ['a batch', 'batch', startOfBatch(3)],
  ] as const)('fails visibly when that was the start of %s', (_, kind, start) => {
    const run = new JobRun(kind);
    run.fail('too large', start);
    expect(run.last).toMatchObject({ status: 'failed', error: 'internal error: too large', finished: true });
    expect(run.told.map(({ event }) => event)).toEqual(kind === 'crawl' ? ['started', 'terminal'] : []);
    expect([run.receipts, run.state.phase, run.failedById]).toEqual([['j'], 'over', []]);
  });

  it('is failed by its id before it has begun, and neither command is sent again', () => {
    const run = new JobRun('batch');
    run.fail('boom', { type: 'Append', job: 'j', cmd: 'a', toOrd: 3 });
    expect(run.failedById).toEqual(['internal error: boom']);
    expect([run.receipts, run.state.phase, run.shown, run.billed]).toEqual([['j', 'a'], 'over', [], []]);
  });

  it('fails while it runs', () => {
    const run = new JobRun('crawl');
    run.turn(startOfCrawl());
    run.fail('boom', null);
    expect(run.last).toMatchObject({ status: 'failed', error: 'internal error: boom' });
    expect(run.failedById).toEqual([]);
  });

  it.each(['closing', 'over'] as const)(
    'does not stay open for more seeds that cannot be taken while it is %s',
    (phase) => {
      const run = new JobRun('batch');
      run.seeds = ['http://h.test/0'];
      run.turn(startOfBatch(1));
      run.runAll((item) => pageOf(item));
      run.state.phase = phase;
      const append = run.append('http://h.test/1');
      run.fail('boom', append);
      expect(run.failedById).toEqual(['internal error: boom']);
      run.turn(append);
      expect(run.state.status).toBe('failed');
    },
  );

  it('stays completed when a late message of a lane is lost', () => {
    const run = new JobRun('batch');
    run.seeds = ['http://h.test/0'];
    run.turn(startOfBatch(1));
    run.runAll((item) => pageOf(item));
    run.state.phase = 'closing';
    run.fail('boom', { type: 'PagesDone', lane: 1, run: 'r', pages: [] });
    expect(run.state.status).toBe('completed');
  });
});

describe('the largest wishes that are taken', () => {
  it('are in the state once, and few long URLs go with them', () => {
    const run = new JobRun('crawl', { host: 1, team: 10 });
    run.host.meanMs = 1;
    const includePaths = Array.from({ length: 100 }, (_, i) => `^/${i}`.padEnd(2_000, 'x'));
    run.turn(startOfCrawl({ scope: { includePaths } }));
    expect(JSON.stringify(run.state).length).toBeLessThan(SPEC_LIMITS.patternBytes + 10_000);
    const paths = Array.from({ length: 60 }, (_, i) => `/${i}`.padEnd(1_900, 'y'));
    const lengths: number[] = [];
    for (let lane = run.lanes.shift(); lane !== undefined; lane = run.lanes.shift()) {
      expect(lane.scope!.includePaths).toHaveLength(100);
      lengths.push(lane.items.reduce((sum, { url }) => sum + url.length, 0));
      run.runLane(lane, (item) => (item.item === 1 ? pageOf(item, { outlinks: linksTo(...paths) }) : pageOf(item)));
    }
    expect(run.pages).toHaveLength(61);
    expect(Math.max(...lengths)).toBeGreaterThan(15_000);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(20_000);
  });
});
