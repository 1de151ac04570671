import { describe, expect, it } from '@jest/globals';
import {
  FROM_HISTORY,
  type ChangeTrackingSpec,
  type HistoryJudged,
  type Kick,
  type LaneItem,
  type PageResult,
  type TrackedPage,
} from '@troupe/contracts';
import { compileScope, fingerprintUrl, siteOf } from '@troupe/frontier';
import { failedPage, JobRun, linksTo, pageOf, startOfCrawl, type CrawlWish } from './job-run.fixture.js';

const ROOT = 'http://h.test/';
const TRACKING: ChangeTrackingSpec = { tag: 'daily', diff: false, diffShape: 'string', json: null };
const TRACKED: CrawlWish['scrape'] = { changeTracking: TRACKING };

const at = (...paths: string[]): TrackedPage[] =>
  paths.map((path) => ({ urlH: `h ${path}`, url: `http://h.test${path}` }));

function crawl(tracked: TrackedPage[], wish: CrawlWish = {}): JobRun {
  const run = new JobRun('crawl');
  run.tracked = tracked;
  run.turn(startOfCrawl({ scrape: TRACKED, ...wish }));
  return run;
}

/** Everything that follows from what is linked and from the histories; which items were said to come from there. */
function runOut(run: JobRun, linked: Record<string, string[]>, fetch = (item: LaneItem) => pageOf(item)): string[] {
  const hidden: string[] = [];
  const answer = (item: LaneItem): PageResult => {
    if (item.fromHistory === true) hidden.push(new URL(item.url).pathname);
    return { ...fetch(item), outlinks: linksTo(...(linked[new URL(item.url).pathname] ?? [])) };
  };
  for (let rounds = 0; rounds < 20 && run.state.status === 'scraping'; rounds++) {
    run.runAll(answer);
    for (const kick of takeKicks(run)) run.turn(judged(kick));
    run.wait(0);
  }
  return hidden.sort();
}

type HistoryKick = Extract<Kick, { task: 'history' }>;

function takeKicks(run: JobRun): HistoryKick[] {
  return run.kicks.splice(0).filter((kick) => kick.task === 'history');
}

/** A fetcher's answer. */
function judged({ part, urls, scope }: HistoryKick): HistoryJudged {
  const rules = compileScope(scope);
  const kept = urls.filter((url) => rules.check(url, 0) === null);
  return { type: 'HistoryJudged', part, links: kept.map((url) => ({ url, h: fingerprintUrl(url, scope) })) };
}

describe('a crawl that tracks changes', () => {
  it('visits what its histories know and nothing links to, after everything else, and ends', () => {
    const run = crawl(at('/', '/linked', '/old', '/older'));
    const hidden = runOut(run, { '/': ['/linked'], '/old': ['/below'] });
    expect(hidden).toEqual(['/old', '/older']);
    expect(run.pages.map(({ url, depth }) => [new URL(url).pathname, depth])).toEqual([
      ['/', 0],
      ['/linked', 1],
      ['/old', 0],
      ['/older', 0],
      ['/below', 1],
    ]);
    expect(run.outcomes.map(({ parent }) => parent)).toEqual([null, 1, FROM_HISTORY, FROM_HISTORY, expect.any(Number)]);
    expect(run.last).toMatchObject({ status: 'completed', total: 5, completed: 5, credits: 5, finished: true });
    expect(run.state).toMatchObject({ phase: 'over', discovered: 5, ready: 0, inflight: 0 });
  });

  it('asks for the histories of its team, its tag and the site of its start page', () => {
    const run = crawl([]);
    runOut(run, {});
    expect(run.historyRanges).toEqual([{ team: 't', tag: 'daily', siteH: siteOf(ROOT), after: null, limit: 500 }]);
    expect(run.last).toMatchObject({ status: 'completed', completed: 1 });
  });

  it('takes from its histories only what it would follow as a link, and each page once', () => {
    const tracked = [
      ...at('/docs/a', '/docs/b?page=2', '/docs/private', '/blog', '/docs/file.zip'),
      { urlH: 'h 8080', url: 'http://h.test:8080/docs/b' },
      { urlH: 'h sub', url: 'http://www2.h.test/docs/b' },
    ];
    const scope = { includePaths: ['/docs'], excludePaths: ['private'], ignoreQueryParameters: true };
    const run = crawl(tracked, { scope });
    expect(runOut(run, {})).toEqual(['/docs/a']);
    expect(run.state.excluded).toEqual({});
  });

  it('sends what it may follow by all rules but its patterns to a fetcher, and waits for the answer', () => {
    const run = crawl(at('/docs/a', '/docs/file.zip', '/blog'), { scope: { includePaths: ['/docs'] } });
    run.runAll((item) => pageOf(item));
    run.wait(0);
    const [kick, ...others] = takeKicks(run);
    expect(kick).toMatchObject({
      part: { after: null, upto: 'h /blog', isLast: true },
      urls: ['http://h.test/docs/a', 'http://h.test/blog'],
    });
    expect(others).toEqual([]);
    expect(run.state.status).toBe('scraping');
    expect(run.tickInMs).toBeGreaterThan(0);
    run.turn(judged(kick!), judged(kick!));
    run.turn(judged(kick!));
    expect(run.state).toMatchObject({ discovered: 2, history: { after: 'h /blog', isOver: true } });
    run.runAll((item) => pageOf(item));
    expect(run.last).toMatchObject({ status: 'completed', completed: 2, finished: true });
  });

  it('compiles no pattern itself: not of histories, nor of links that the redirect of its start page has overtaken', () => {
    const run = crawl(at('/old'), { scope: { includePaths: ['('], sitemap: 'include' } });
    run.turn({ type: 'RobotsDone', host: 'h.test', status: 200, crawlDelayMs: null, sitemaps: [], error: null });
    const chunk = { children: [], excluded: null, last: true, more: false, error: null };
    const [start] = run.lanes.splice(0);
    run.turn({ type: 'SitemapChunk', file: 1, chunk: 0, urls: linksTo('/named'), ...chunk });
    const early = run.lanes.splice(0);
    run.runLane(start!, (item) => pageOf(item, { finalUrl: 'http://h.test/moved/' }));
    for (const lane of early) run.runLane(lane, (item) => pageOf(item, { outlinks: linksTo('/linked') }));
    expect(run.state.scope!.version).toBe(1);
    run.runAll((item) => pageOf(item, { scopeVersion: 1 }));
    run.wait(0);
    expect(run.outcomes.map(({ url }) => new URL(url).pathname)).toContain('/linked');
    expect(takeKicks(run)).toHaveLength(1);
  });

  it('reads a part again when no answer comes, and when another process has taken it over', () => {
    const run = crawl(at('/docs/a'), { scope: { includePaths: ['/docs'] } });
    run.runAll((item) => pageOf(item));
    run.wait(0);
    const [lost] = takeKicks(run);
    run.wait(30_000);
    expect(takeKicks(run)).toEqual([]);
    run.wait(30_000);
    run.wait(0);
    expect(takeKicks(run)).toEqual([lost]);
    run.restart();
    run.wait(0);
    expect(takeKicks(run)).toEqual([lost]);
    run.turn(judged(lost!));
    expect(runOut(run, {})).toEqual(['/docs/a']);
  });

  it('goes through long histories in parts that a fetcher can match and a message can carry', () => {
    const long = 'x'.repeat(1_000);
    const paths = Array.from({ length: 260 }, (_, i) => (i < 50 ? `/docs/${i}${long}` : `/docs/${i}`));
    const run = crawl(at(...paths), { limit: 10_000, scope: { includePaths: ['/docs'] } });
    const sizes: number[] = [];
    for (let rounds = 0; rounds < 10 && run.state.status === 'scraping'; rounds++) {
      run.runAll((item) => pageOf(item));
      for (const kick of takeKicks(run)) {
        sizes.push(kick.urls.length);
        run.turn(judged(kick));
      }
      run.wait(0);
    }
    expect(sizes).toEqual([39, 200, 21]);
    expect(run.last).toMatchObject({ status: 'completed', completed: 261 });
  });

  it('keeps to what is left of the limit', () => {
    const run = crawl(at('/old', '/older', '/oldest'), { limit: 3 });
    expect(runOut(run, { '/': ['/linked'] })).toHaveLength(1);
    expect(run.last).toMatchObject({ status: 'completed', total: 3, completed: 3 });
    expect(run.state).toMatchObject({ discovered: 5, ready: 2 });
  });

  it('does not ask when the limit is used up', () => {
    const run = crawl(at('/old'), { limit: 1 });
    expect(runOut(run, { '/': ['/linked'] })).toEqual([]);
    expect(run.historyRanges).toEqual([]);
  });

  it('goes through long histories in parts, the next one when the last has been fetched', () => {
    const paths = Array.from({ length: 1_200 }, (_, i) => `/p${i}`);
    const run = crawl(at(...paths), { limit: 10_000 });
    expect(runOut(run, { '/': ['/p7'], '/p0': ['/p1199'] })).toHaveLength(1_198);
    expect(run.historyRanges.map(({ after }) => after)).toEqual([null, 'h /p499', 'h /p999']);
    // Met by a link of an earlier part before its own part was read.
    expect(run.outcomes.find(({ url }) => url.endsWith('/p1199'))).toMatchObject({ depth: 1 });
    expect(run.last).toMatchObject({ status: 'completed', total: 1_201, completed: 1_201 });
  });

  it('skips a part of which it knows every page', () => {
    const paths = Array.from({ length: 501 }, (_, i) => `/p${i}`);
    const run = crawl(at(...paths), { limit: 10_000 });
    expect(runOut(run, { '/': paths.slice(0, 500) })).toEqual(['/p500']);
    expect(run.historyRanges).toHaveLength(2);
  });

  it('tells of a page again that it tries again', () => {
    const run = crawl(at('/old'));
    const lost = (item: LaneItem) =>
      item.url.endsWith('/old') && item.attempt === 1 ? failedPage(item, { retryable: true }) : pageOf(item);
    expect(runOut(run, {}, lost)).toEqual(['/old', '/old']);
    expect(run.last).toMatchObject({ completed: 2, status: 'completed' });
  });

  it('waits with its histories until sitemaps have been read to their end', () => {
    const run = crawl(at('/old', '/named'), { scope: { sitemap: 'include' } });
    run.runAll((item) => pageOf(item));
    run.wait(0);
    expect(run.historyRanges).toEqual([]);
    run.turn({ type: 'RobotsDone', host: 'h.test', status: 200, crawlDelayMs: null, sitemaps: [], error: null });
    const chunk = { children: [], excluded: null, last: true, more: false, error: null };
    run.turn({ type: 'SitemapChunk', file: 1, chunk: 0, urls: linksTo('/named'), ...chunk });
    expect(runOut(run, {})).toEqual(['/old']);
  });

  it('reads none while it is paused, and goes on where it was', () => {
    const run = crawl(at('/old'));
    const lane = run.lanes.shift()!;
    run.turn({ type: 'Pause', job: 'j', cmd: 'c1', v: 1, paused: true });
    run.runLane(lane, (item) => pageOf(item));
    run.wait(0);
    expect(run.historyRanges).toEqual([]);
    expect(run.state).toMatchObject({ phase: 'running', status: 'scraping' });
    run.turn({ type: 'Pause', job: 'j', cmd: 'c2', v: 2, paused: false });
    run.wait(0);
    expect(runOut(run, {})).toEqual(['/old']);
  });

  it('is over at once when it is cancelled before it has read them, or while it visits them', () => {
    const early = crawl(at('/old'));
    const lane = early.lanes.shift()!;
    early.turn({ type: 'Pause', job: 'j', cmd: 'c1', v: 1, paused: true });
    early.runLane(lane, (item) => pageOf(item));
    early.turn({ type: 'Cancel', job: 'j' });
    expect(early.last).toMatchObject({ status: 'cancelled', completed: 1, finished: true });
    expect(early.historyRanges).toEqual([]);

    const late = crawl(at('/old', '/older'));
    late.runLane(late.lanes.shift()!, (item) => pageOf(item));
    late.wait(0);
    expect(late.lanes.flatMap(({ items }) => items)).toHaveLength(2);
    late.turn({ type: 'Cancel', job: 'j' });
    expect(late.last).toMatchObject({ status: 'cancelled', completed: 1, finished: true });
    expect(late.state.discovered).toBe(3);
  });

  it('asks for none when links were left out for want of room: they may lead there', () => {
    const paths = Array.from({ length: 1_200 }, (_, i) => `/p${i}`);
    const run = crawl(at('/old'), { limit: 50 });
    const forbidden = (item: LaneItem) =>
      item.url === ROOT ? pageOf(item) : pageOf(item, { outcome: 'robots', statusCode: 0, inline: null, credits: 0 });
    expect(runOut(run, { '/': paths }, forbidden)).toEqual([]);
    expect(run.last).toMatchObject({
      status: 'completed',
      completed: 1,
      warning: expect.stringContaining('could be kept'),
    });
  });

  it('asks for none when its start page could not be read, whatever a sitemap names', () => {
    const run = crawl(at('/old'), { scope: { sitemap: 'include' } });
    const noStart = (item: LaneItem) => (item.url === ROOT ? failedPage(item) : pageOf(item));
    run.turn({ type: 'RobotsDone', host: 'h.test', status: 200, crawlDelayMs: null, sitemaps: [], error: null });
    const chunk = { children: [], excluded: null, last: true, more: false, error: null };
    run.turn({ type: 'SitemapChunk', file: 1, chunk: 0, urls: linksTo('/named'), ...chunk });
    expect(runOut(run, {}, noStart)).toEqual([]);
    expect(run.last).toMatchObject({ status: 'completed', completed: 2 });
  });

  it('fails as any other when its start page gives nothing', () => {
    const run = crawl(at('/old'));
    expect(runOut(run, {}, (item) => failedPage(item, { message: 'no such host' }))).toEqual([]);
    expect(run.last).toMatchObject({ status: 'failed', error: 'no such host' });
  });
});

describe('no histories are asked for', () => {
  it.each([
    ['by a crawl that tracks no changes', { changeTracking: null }],
    ['by one of which nothing is kept', { changeTracking: TRACKING, zeroRetention: true }],
  ] as [string, CrawlWish['scrape']][])('%s', (_, scrape) => {
    const run = crawl(at('/old'), { scrape });
    expect(runOut(run, { '/': ['/linked'] })).toEqual([]);
    expect(run.historyRanges).toEqual([]);
    expect(run.state).not.toHaveProperty('history');
    expect(run.last).toMatchObject({ status: 'completed', total: 2, completed: 2 });
  });
});
