import { describe, expect, it } from '@jest/globals';
import type { Lane, LaneEnd, PageResult, SitemapChunk } from '@troupe/contracts';
import { JobRun, linkTo, linksTo, pageOf, startOfBatch, startOfCrawl } from './job-run.fixture.js';

const ROOT = 'http://h.test/';
const pathsOf = (count: number) => Array.from({ length: count }, (_, i) => `/p${i}`);
const urlsOf = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `http://h.test/${from + i}`);

function batch(urls: string[]): JobRun {
  const run = new JobRun('batch');
  run.seeds = [...urls];
  run.turn(startOfBatch(urls.length));
  return run;
}

describe('seeds appended to a batch', () => {
  it('that runs are scraped with the others, and its total grows at once', () => {
    const run = batch(urlsOf(0, 3));
    run.turn(run.append(...urlsOf(3, 5)));
    expect(run.last).toMatchObject({ status: 'scraping', total: 5, seeds: 5 });
    run.runAll((item) => pageOf(item));
    expect(run.last).toMatchObject({ status: 'completed', total: 5, completed: 5, finished: true });
  });

  it.each(['closing', 'over'] as const)('that is completed and %s open it again, and it ends again', (phase) => {
    const run = batch(urlsOf(0, 2));
    run.runAll((item) => pageOf(item));
    expect(run.state.phase).toBe('over');
    run.state.phase = phase;
    run.turn(run.append(...urlsOf(2, 4)));
    expect(run.last).toMatchObject({ status: 'scraping', total: 4, completed: 2, finished: false });
    run.runAll((item) => pageOf(item));
    expect(run.last).toMatchObject({ status: 'completed', total: 4, completed: 4, finished: true });
    expect(run.pages.map(({ item, ord }) => [item, ord])).toEqual([0, 1, 2, 3].map((item) => [item, item + 1]));
    expect(run.state.phase).toBe('over');
  });

  it('are taken once, however often and in whatever order their commands come', () => {
    const run = batch(urlsOf(0, 1));
    const first = run.append(...urlsOf(1, 3));
    const second = run.append(...urlsOf(3, 4));
    run.turn(second, first);
    run.runAll((item) => pageOf(item));
    run.turn(first, second);
    expect(run.last).toMatchObject({ status: 'completed', total: 4, completed: 4 });
    expect(run.seedRanges).toEqual([
      [0, 1],
      [1, 4],
    ]);
    expect(run.receipts).toEqual(['j', second.cmd, first.cmd, first.cmd, second.cmd]);
  });

  it('before its start are remembered', () => {
    const run = new JobRun('batch');
    run.seeds = urlsOf(0, 2);
    run.turn(run.append(...urlsOf(2, 3)));
    run.turn(startOfBatch(2));
    expect(run.last.total).toBe(3);
    run.runAll((item) => pageOf(item));
    expect(run.last).toMatchObject({ status: 'completed', total: 3, completed: 3 });
  });

  it('after its cancel change nothing but are acknowledged', () => {
    const run = batch(urlsOf(0, 2));
    run.turn({ type: 'Cancel', job: 'j' });
    const late = run.append(...urlsOf(2, 3));
    run.turn(late);
    expect(run.last).toMatchObject({ status: 'cancelled', finished: true });
    expect(run.state.limit).toBe(2);
    expect(run.receipts).toContain(late.cmd);
  });
});

const PAUSE = { type: 'Pause', job: 'j', cmd: 'p1', v: 1, paused: true } as const;
const RESUME = { type: 'Pause', job: 'j', cmd: 'p2', v: 2, paused: false } as const;

/** A crawl with lanes under way: the start page is done, it named 40 pages. */
function busyCrawl(): { run: JobRun; lanes: Lane[] } {
  const run = new JobRun('crawl');
  run.turn(startOfCrawl());
  run.runLane(run.lanes.shift()!, (item) => pageOf(item, { outlinks: linksTo(...pathsOf(40)) }));
  return { run, lanes: run.lanes.splice(0) };
}

/** A fetcher's report on a lane that a pause stopped after its first page. */
function stopped({ lane, items }: Lane, pages: PageResult[], more: Partial<LaneEnd> = {}): LaneEnd {
  const unrun = items.slice(pages.length).map(({ item }) => item);
  return { type: 'LaneEnd', lane, run: `run-${lane}`, reason: 'pause', ranMs: 10, unrun, pages, ...more };
}

describe('a paused crawl', () => {
  it('starts no lane, keeps what its lanes give back, and goes on where it was', () => {
    const { run, lanes } = busyCrawl();
    run.turn(PAUSE);
    for (const lane of lanes) run.turn(stopped(lane, [pageOf(lane.items[0]!)]));
    expect(run.lanes).toEqual([]);
    expect(run.last).toMatchObject({ status: 'scraping', completed: 1 + lanes.length, finished: false });
    expect(run.state).toMatchObject({ inflight: 0, ready: 40 - lanes.length });
    run.turn(RESUME);
    run.runAll((item) => pageOf(item));
    expect(run.last).toMatchObject({ status: 'completed', total: 41, completed: 41 });
    expect(new Set(run.outcomes.map(({ url }) => url)).size).toBe(41);
    expect(run.outcomes.every(({ attempts }) => attempts === 1)).toBe(true);
  });

  it('hands its slots and tokens back', () => {
    const { run, lanes } = busyCrawl();
    run.turn(PAUSE, ...lanes.map((lane) => stopped(lane, [])));
    run.wait(1_000);
    expect(run.state.tokens).toMatchObject({ held: [], want: 0 });
    expect(run.state.hosts).toEqual({});
  });

  it('learns of its pause from a lane when the command is late, and sends nothing more', () => {
    const { run, lanes } = busyCrawl();
    run.turn(stopped(lanes[0]!, [], { pause: { v: 1, paused: true } }));
    expect(run.lanes).toEqual([]);
    expect(run.state).toMatchObject({ paused: true, pauseV: 1 });
  });

  it('gives up lanes that no fetcher started, and does not send them again', () => {
    const { run, lanes } = busyCrawl();
    run.turn(PAUSE);
    run.wait(61_000);
    expect(run.lanes).toEqual([]);
    expect(run.state).toMatchObject({ inflight: 0, ready: 40 });
    run.turn(RESUME);
    expect(run.lanes.every(({ lane, pauseV }) => pauseV === 2 && !lanes.some((old) => old.lane === lane))).toBe(true);
    run.runAll((item) => pageOf(item));
    expect(run.last).toMatchObject({ status: 'completed', completed: 41 });
  });

  it('stays paused when older news come later', () => {
    const { run } = busyCrawl();
    run.turn({ ...PAUSE, v: 3 });
    run.turn(RESUME, PAUSE);
    expect(run.state).toMatchObject({ paused: true, pauseV: 3 });
    expect(run.receipts).toEqual(['j', 'p1', 'p2', 'p1']);
  });

  it('asks for no sitemaps, and for all that are open when it goes on', () => {
    const run = new JobRun('crawl');
    run.turn(startOfCrawl({ scope: { sitemap: 'include' } }));
    expect(run.kicks.splice(0)).toMatchObject([{ task: 'robots', pauseV: 0 }]);
    run.turn(PAUSE);
    run.wait(120_000);
    expect(run.kicks).toEqual([]);
    run.turn(RESUME);
    expect(run.kicks).toMatchObject([{ task: 'robots', pauseV: 2 }]);
  });

  it('can be cancelled', () => {
    const { run, lanes } = busyCrawl();
    run.turn(PAUSE, ...lanes.map((lane) => stopped(lane, [])));
    run.turn({ type: 'Cancel', job: 'j' });
    expect(run.last).toMatchObject({ status: 'cancelled', finished: true });
    expect(run.state.phase).toBe('over');
  });

  it('is over after 48 hours all the same', () => {
    const { run, lanes } = busyCrawl();
    run.turn(PAUSE, ...lanes.map((lane) => stopped(lane, [])));
    run.wait(49 * 3_600_000);
    expect(run.last).toMatchObject({ status: 'failed', finished: true });
  });

  it('that was paused before its start waits', () => {
    const run = new JobRun('crawl');
    run.turn(PAUSE);
    run.turn(startOfCrawl());
    expect(run.lanes).toEqual([]);
    run.turn(RESUME);
    run.runAll((item) => pageOf(item));
    expect(run.last).toMatchObject({ status: 'completed', completed: 1 });
  });
});

describe('links that are left out', () => {
  const out = (path: string) => ({ ...linkTo(`http://h.test${path}`), rule: 'exclude' as const });

  it('are counted each time, and kept once, with the page that named them', () => {
    const { run, lanes } = busyCrawl();
    const excluded = { byRule: { exclude: 2, external: 1 }, sample: [out('/x'), out('/y')] };
    run.runLane(lanes[0]!, (item) => pageOf(item, { excluded }));
    const pages = lanes[0]!.items.length;
    expect(run.last.excluded).toEqual({ exclude: 2 * pages, external: pages });
    expect(run.leftOut.map(({ url, rule, parent }) => [url, rule, parent])).toEqual([
      ['http://h.test/x', 'exclude', lanes[0]!.items[0]!.item],
      ['http://h.test/y', 'exclude', lanes[0]!.items[0]!.item],
    ]);
  });

  it('of sitemaps count too', () => {
    const run = new JobRun('crawl');
    run.turn(startOfCrawl({ scope: { sitemap: 'include' } }));
    const sitemaps = [`${ROOT}sitemap.xml`];
    run.turn({ type: 'RobotsDone', host: 'h.test', status: 200, crawlDelayMs: null, sitemaps, error: null });
    const excluded = { byRule: { exclude: 1 }, sample: [out('/x')] };
    const chunk: SitemapChunk = {
      type: 'SitemapChunk',
      file: 1,
      chunk: 0,
      urls: [],
      children: [],
      excluded,
      last: true,
      more: false,
      error: null,
    };
    run.turn(chunk, { ...chunk });
    expect(run.last.excluded).toEqual({ exclude: 1 });
    expect(run.leftOut).toMatchObject([{ url: 'http://h.test/x', parent: null }]);
  });
});
