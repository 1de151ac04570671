import { describe, expect, it } from '@jest/globals';
import { JobRun, failedPage, linksTo, pageOf, startOfCrawl } from './job-run.fixture.js';

const paths = (count: number): string[] => Array.from({ length: count }, (_, i) => `/${i}`);

/** A crawl with a start page that links to so many others. */
function crawl(links: number, places = 1): JobRun {
  const run = new JobRun('crawl', { host: places, team: places });
  run.turn(startOfCrawl({ limit: 100_000 }));
  run.runLane(run.lanes.shift()!, (item) => pageOf(item, { outlinks: linksTo(...paths(links)) }));
  return run;
}

describe('counters of a job that is loaded', () => {
  it('are found right, with lanes under way, items put back and others waiting', () => {
    const run = crawl(30);
    const lane = run.lanes.shift()!;
    const late = failedPage(lane.items[0]!, { retryable: true });
    run.turn({ type: 'PagesDone', lane: lane.lane, run: 'r', pages: [late] });
    run.restart();
    run.wait(0);
    expect(run.state).toMatchObject({ ready: 30 - lane.items.length + 1, inflight: lane.items.length - 1 });
    run.runAll((item) => pageOf(item));
    expect(run.mended).toEqual([]);
  });

  it.each([[{ inflight: -1, ready: 4 }], [{ inflight: 2, ready: -3 }], [{ inflight: 0, ready: 1 }]])(
    'are set right and said when they are wrong by %j, and the crawl ends',
    (error) => {
      const run = crawl(30);
      const right = { inflight: run.state.inflight, ready: run.state.ready };
      run.state.inflight += error.inflight;
      run.state.ready += error.ready;
      const wrong = { inflight: run.state.inflight, ready: run.state.ready };
      run.restart();
      run.wait(0);
      expect(run.state).toMatchObject(right);
      expect(run.mended).toEqual([
        {
          job: 'j',
          inflight: { was: wrong.inflight, is: right.inflight },
          ready: { was: wrong.ready, is: right.ready },
        },
      ]);
      run.runAll((item) => pageOf(item));
      expect(run.last).toMatchObject({ status: 'completed', completed: 31, finished: true });
      expect(run.mended).toHaveLength(1);
    },
  );

  it('take an item of no lane for ready: it is fetched', () => {
    const run = crawl(3, 10);
    run.loseLanes();
    run.restart();
    run.wait(0);
    expect(run.mended).toMatchObject([{ inflight: { is: 0 }, ready: { is: 3 } }]);
    run.runAll((item) => pageOf(item));
    expect(run.last).toMatchObject({ status: 'completed', completed: 4, finished: true });
  });

  it.each([-6_000, 6_000])('of a crawl with more rows than memory holds are set right, too (%i)', (error) => {
    const run = crawl(12_000);
    const { ready } = run.state;
    run.state.ready += error;
    run.restart();
    run.wait(0);
    expect(run.state.ready).toBe(ready);
    expect(run.mended).toMatchObject([{ ready: { was: ready + error, is: ready } }]);
  });

  it('of a crawl with more rows than are counted are set right when few enough are left', () => {
    const run = crawl(25_000);
    run.state.ready += 500;
    run.restart();
    run.wait(0);
    expect(run.mended).toEqual([]);
    run.runAll((item) => pageOf(item));
    expect(run.mended).toMatchObject([{ job: 'j' }]);
    expect(run.mended[0]!.ready.was - run.mended[0]!.ready.is).toBe(500);
    expect(run.last).toMatchObject({ status: 'completed', completed: 25_001, finished: true });
  });
});
