import { describe, expect, it } from '@jest/globals';
import type { ActorMessage, LaneEnd, LaneItem, Outlink, PageResult, SitemapChunk } from '@troupe/contracts';
import {
  failedPage,
  JobRun,
  linkTo,
  linksTo,
  pageOf,
  startOfBatch,
  startOfCrawl,
  type CrawlWish,
} from './job-run.fixture.js';

const ROOT = 'http://h.test/';
const paths = (count: number) => Array.from({ length: count }, (_, i) => `/p${i}`);

function crawl(
  wish: CrawlWish = {},
  ...more: [sizes?: { host: number; team: number }, options?: { limitCountsFailed: boolean }]
): JobRun {
  const run = new JobRun('crawl', ...more);
  run.turn(startOfCrawl(wish));
  return run;
}

/** The start page links to these; all other pages link to nothing, unless `rest` says so. */
function siteOf(links: Outlink[], rest: (item: LaneItem) => Partial<PageResult> = () => ({})) {
  return (item: LaneItem): PageResult => pageOf(item, { outlinks: item.url === ROOT ? links : [], ...rest(item) });
}

const ROBOTS: Partial<PageResult> = { outcome: 'robots', statusCode: 0, inline: null, credits: 0 };

describe('a crawl', () => {
  it('fetches every page once, in order of depth, and ends completed with total = completed', () => {
    const run = crawl();
    run.runAll(
      siteOf([...linksTo('/a', '/b', '/a'), linkTo(ROOT)], ({ url }) =>
        url.endsWith('/a') ? { outlinks: linksTo('/a', '/b', '/c') } : {},
      ),
    );
    expect(run.pages.map(({ url, ord, depth }) => [url, ord, depth])).toEqual([
      [ROOT, 1, 0],
      ['http://h.test/a', 2, 1],
      ['http://h.test/b', 3, 1],
      ['http://h.test/c', 4, 2],
    ]);
    expect(run.last).toMatchObject({
      status: 'completed',
      total: 4,
      completed: 4,
      credits: 4,
      finished: true,
      error: null,
      warning: null,
    });
    expect(run.state.phase).toBe('over');
  });

  it('counts a result once, however often and late it comes', () => {
    const run = crawl();
    const [lane] = run.lanes;
    const pages = lane!.items.map(siteOf(linksTo('/a')));
    const result = { lane: lane!.lane, run: 'r', pages };
    run.turn({ type: 'PagesDone', ...result }, { type: 'PagesDone', ...result });
    run.turn({ type: 'PagesDone', ...result });
    run.turn({ type: 'LaneEnd', ...result, reason: 'done', ranMs: 1, unrun: [] });
    expect(run.pages).toHaveLength(1);
    expect(run.state).toMatchObject({ counted: 1, credits: 1, inflight: 1 });
    expect(run.last.status).toBe('scraping');
  });

  it('ends failed with the reason when its start page gives nothing', () => {
    const run = crawl();
    run.runAll((item) => failedPage(item, { rule: 'SCRAPE_DNS_RESOLUTION_ERROR', message: 'no such host' }));
    expect(run.last).toMatchObject({ status: 'failed', error: 'no such host', completed: 1, total: 1, finished: true });
    expect(run.errors).toMatchObject([{ url: ROOT, code: 'SCRAPE_DNS_RESOLUTION_ERROR', message: 'no such host' }]);
  });

  it('ends failed when robots.txt forbids its start page', () => {
    const run = crawl();
    run.runAll((item) => pageOf(item, ROBOTS));
    expect(run.last).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('robots.txt'),
      completed: 0,
      total: 0,
    });
  });

  it('is completed when other pages fail', () => {
    const run = crawl();
    run.runAll((item) => (item.url === ROOT ? siteOf(linksTo('/a'))(item) : failedPage(item)));
    expect(run.last).toMatchObject({ status: 'completed', error: null, completed: 2, total: 2, credits: 1 });
  });

  it("moves its scope with the start page's redirect, and filters what was found under the old one", () => {
    const run = crawl({ scope: { entireDomain: false } });
    const target = linkTo('http://h.test/docs/');
    run.runLane(run.lanes.shift()!, (item) =>
      pageOf(item, { finalUrl: target.url, finalH: target.h, outlinks: linksTo('/docs/a') }),
    );
    const lane = run.lanes.shift()!;
    expect(lane.scope).toMatchObject({ base: 'http://h.test/docs/', version: 1 });
    run.runLane(lane, (item) => pageOf(item, { outlinks: linksTo('/docs/b', '/elsewhere') }));
    run.runAll((item) => pageOf(item, { scopeVersion: 1 }));
    expect(Object.keys(run.outcomeOf)).toEqual([ROOT, 'http://h.test/docs/a', 'http://h.test/docs/b']);
  });
});

describe('the limit', () => {
  it('is met exactly under many results at once', () => {
    for (const limit of [1, 2, 7, 25, 99, 100, 101, 102]) {
      const run = crawl({ limit });
      run.runAll(siteOf(linksTo(...paths(100))));
      expect([limit, run.pages.length, run.last.total, run.last.completed]).toEqual([
        limit,
        ...Array.from({ length: 3 }, () => Math.min(limit, 101)),
      ]);
    }
  });

  it('gets a unit back for a page that robots.txt forbids', () => {
    const run = crawl({ limit: 3 });
    run.runAll(siteOf(linksTo('/a', '/b', '/c', '/d'), ({ url }) => (url.endsWith('/a') ? ROBOTS : {})));
    expect(run.outcomeOf).toEqual({
      [ROOT]: 'ok',
      'http://h.test/a': 'robots',
      'http://h.test/b': 'ok',
      'http://h.test/c': 'ok',
    });
    expect(run.last).toMatchObject({
      status: 'completed',
      total: 3,
      completed: 3,
      warning: expect.stringContaining('robots.txt forbids 1'),
    });
  });

  it('gets a unit back for a redirect onto a known page, which is stored once', () => {
    const run = crawl({ limit: 4 });
    const c = linkTo('http://h.test/c');
    run.runAll(
      siteOf(linksTo('/a', '/b', '/c', '/d'), ({ url }) =>
        url.endsWith('/b') ? { finalUrl: c.url, finalH: c.h } : {},
      ),
    );
    expect(run.outcomeOf).toMatchObject({
      'http://h.test/b': 'redirected',
      'http://h.test/c': 'ok',
      'http://h.test/d': 'ok',
    });
    expect(run.outcomes.find(({ outcome }) => outcome === 'redirected')!.rule).toBe(c.url);
    expect(run.pages.map(({ finalUrl }) => finalUrl).sort()).toEqual([
      ROOT,
      'http://h.test/a',
      'http://h.test/c',
      'http://h.test/d',
    ]);
    expect(run.last).toMatchObject({ total: 4, completed: 4 });
  });

  it('counts two redirects onto one unknown page once', () => {
    const run = crawl({ limit: 10 });
    const z = linkTo('http://h.test/z');
    run.runAll(siteOf(linksTo('/a', '/b'), ({ url }) => (url === ROOT ? {} : { finalUrl: z.url, finalH: z.h })));
    expect(Object.values(run.outcomeOf).sort()).toEqual(['ok', 'ok', 'redirected']);
    expect(run.last).toMatchObject({ total: 2, completed: 2 });
  });

  it('counts failed pages or not, as configured', () => {
    const fetch = siteOf(linksTo('/a', '/b', '/c'));
    const bad = (item: LaneItem) => (item.url.endsWith('/a') ? failedPage(item) : fetch(item));
    const counting = crawl({ limit: 2 });
    counting.runAll(bad);
    expect(counting.last).toMatchObject({ completed: 2, credits: 1 });
    const refunding = crawl({ limit: 2 }, undefined, { limitCountsFailed: false });
    refunding.runAll(bad);
    expect(refunding.last).toMatchObject({ completed: 2, credits: 2 });
  });
});

describe('more links than can be kept', () => {
  it('are left out, and the job says so when pages are missing because of it', () => {
    const run = crawl({ limit: 2 });
    run.runAll(siteOf(linksTo(...paths(3_000)), ({ url }) => (url === ROOT ? {} : ROBOTS)));
    expect(run.outcomes.length).toBe(1 + 1_002);
    expect(run.last).toMatchObject({
      status: 'completed',
      total: 1,
      completed: 1,
      warning: expect.stringContaining('More links were found'),
    });
  });

  it('are no loss when the limit is reached', () => {
    const run = crawl({ limit: 2 });
    run.runAll(siteOf(linksTo(...paths(3_000))));
    expect(run.last).toMatchObject({ completed: 2, warning: null });
  });

  it('are offered again by later pages', () => {
    const run = crawl({ limit: 3 });
    const all = linksTo(...paths(1_500));
    run.runAll((item) => {
      if (item.url === ROOT || item.url.endsWith('/p900')) return pageOf(item, { outlinks: all });
      return pageOf(item, item.url.endsWith('/p1400') ? {} : ROBOTS);
    });
    expect(run.pages.map(({ url }) => url)).toEqual([ROOT, 'http://h.test/p900', 'http://h.test/p1400']);
  });
});

describe('a page that fails for the moment', () => {
  it('is tried three times, then fails for good', () => {
    const run = crawl();
    const attempts: number[] = [];
    run.runAll((item) => {
      if (item.url === ROOT) return siteOf(linksTo('/a'))(item);
      attempts.push(item.attempt);
      return failedPage(item, { retryable: true, rule: 'SCRAPE_TIMEOUT' });
    });
    expect(attempts).toEqual([1, 2, 3]);
    expect(run.outcomes.at(-1)).toMatchObject({ outcome: 'failed', rule: 'SCRAPE_TIMEOUT', attempts: 3 });
    expect(run.errors).toHaveLength(1);
    expect(run.last).toMatchObject({ completed: 2, credits: 1 });
  });

  it('is left in peace for as long as its host asked for', () => {
    const run = crawl();
    run.runLane(run.lanes.shift()!, (item) => failedPage(item, { retryable: true, retryAfterMs: 7_000 }));
    expect(run.lanes).toEqual([]);
    run.wait(6_999);
    expect(run.lanes).toEqual([]);
    run.wait(1);
    expect(run.lanes).toMatchObject([{ items: [{ attempt: 2 }] }]);
  });
});

describe('a lane', () => {
  it('is published again, as it is, while no fetcher starts it', () => {
    const run = crawl();
    const [first] = run.lanes;
    run.wait(59_999);
    expect(run.lanes).toHaveLength(1);
    run.wait(1);
    expect(run.lanes).toHaveLength(2);
    expect(run.lanes[1]).toEqual(first);
    run.wait(119_999);
    expect(run.lanes).toHaveLength(2);
    run.wait(1);
    expect(run.lanes).toHaveLength(3);
    expect(run.last.status).toBe('scraping');
  });

  it('that fell silent after its start is given up; only the page that was running has spent an attempt', () => {
    const run = crawl({}, { host: 1, team: 1 });
    run.runLane(run.lanes.shift()!, siteOf(linksTo('/a', '/b', '/c')));
    const lane = run.lanes.shift()!;
    expect(lane.items).toHaveLength(3);
    run.turn({ type: 'LaneStarted', lane: lane.lane, run: 'r' });
    run.turn({ type: 'PagesDone', lane: lane.lane, run: 'r', pages: [pageOf(lane.items[0]!)] });
    run.wait(89_999);
    expect(run.lanes).toEqual([]);
    run.wait(1);
    for (let i = 0; i < 20 && run.lanes.length === 0; i++) run.wait(2_000);
    const again = run.lanes.flatMap(({ items }) => items.map(({ url, attempt }) => [url, attempt])).sort();
    expect(again).toEqual([
      ['http://h.test/b', 2],
      ['http://h.test/c', 1],
    ]);
    expect(run.lanes[0]!.slot).not.toEqual(lane.slot);
    run.runAll((item) => pageOf(item));
    expect(run.last).toMatchObject({ status: 'completed', completed: 4 });
  });

  it('that falls silent three times costs its page, not the job', () => {
    const run = crawl({}, { host: 1, team: 1 });
    run.runLane(run.lanes.shift()!, siteOf(linksTo('/a')));
    for (let attempt = 1; attempt <= 3; attempt++) {
      for (let i = 0; i < 20 && run.lanes.length === 0; i++) run.wait(2_000);
      run.turn({ type: 'LaneStarted', lane: run.lanes.shift()!.lane, run: `r${attempt}` });
      run.wait(90_000);
    }
    expect(run.outcomes.at(-1)).toMatchObject({
      url: 'http://h.test/a',
      outcome: 'failed',
      rule: 'SCRAPE_TIMEOUT',
      attempts: 3,
    });
    expect(run.last).toMatchObject({ status: 'completed', completed: 2 });
  });

  it('that ends early gives back what it did not run, without an attempt', () => {
    const run = crawl({}, { host: 1, team: 1 });
    run.runLane(run.lanes.shift()!, siteOf(linksTo('/a', '/b')));
    const lane = run.lanes.shift()!;
    const [a, b] = lane.items;
    run.turn({
      type: 'LaneEnd',
      lane: lane.lane,
      run: 'r',
      reason: 'drain',
      ranMs: 5,
      unrun: [b!.item],
      pages: [pageOf(a!)],
    });
    expect(run.lanes.flatMap(({ items }) => items.map(({ url, attempt }) => [url, attempt]))).toEqual([
      ['http://h.test/b', 1],
    ]);
  });

  it('of a crawl with a delay holds one page, and the next one starts that long after it', () => {
    const run = crawl({ delayMs: 5_000 });
    run.runLane(
      run.lanes.shift()!,
      siteOf(linksTo('/a', '/b'), () => ({ ms: 100 })),
    );
    expect(run.lanes).toEqual([]);
    run.wait(4_899);
    expect(run.lanes).toEqual([]);
    run.wait(1);
    expect(run.lanes).toHaveLength(1);
    expect(run.lanes[0]!.items).toHaveLength(1);
  });

  it('keeps the gap of its host, also when another process has taken the job over with its slots', () => {
    const run = new JobRun('crawl', { host: 1, team: 10 });
    run.turn(startOfCrawl());
    const [first] = run.lanes.splice(0);
    run.tellHost({ gapMs: 1000, pauseMs: 200 });
    run.runLane(first!, (item) => pageOf(item, { outlinks: linksTo('/a', '/b') }));
    expect(run.lanes).toEqual([]);
    run.host = { gapMs: 1000, pauseMs: 0 };
    run.restart();
    run.wait(200);
    expect(run.lanes.map(({ gapMs }) => gapMs)).toEqual([1000]);
  });

  it('holds two seconds of work, as earlier lanes of its host have shown', () => {
    const run = crawl({ maxConcurrency: 2 }, { host: 1, team: 1 });
    const links = linksTo(...Array.from({ length: 1500 }, (_, i) => `/${i}`));
    const sizes: number[] = [];
    const runNext = (pageMs: number): void => {
      const lane = run.lanes.shift()!;
      sizes.push(lane.items.length);
      run.runLane(lane, siteOf(links), lane.items.length * pageMs);
    };
    runNext(500);
    for (let i = 0; i < 25; i++) runNext(80);
    for (let i = 0; i < 25; i++) runNext(400);
    expect([sizes[1], sizes[25], sizes[50]]).toEqual([4, 24, 5]);
    expect(sizes.slice(1, 26)).toEqual([...sizes.slice(1, 26)].sort((a, b) => a - b));
  });

  it('is not long while what is ready is little for all that may come', () => {
    const run = crawl({}, { host: 1, team: 1 });
    const links = linksTo(...Array.from({ length: 120 }, (_, i) => `/${i}`));
    for (let i = 0; i < 10; i++) {
      const lane = run.lanes.shift()!;
      expect(lane.items.length).toBeLessThanOrEqual(6);
      run.runLane(lane, siteOf(links), lane.items.length * 20);
    }
  });

  it('is one of at most maxConcurrency', () => {
    for (const maxConcurrency of [1, 2, 3]) {
      const run = crawl({ maxConcurrency });
      run.runLane(run.lanes.shift()!, siteOf(linksTo(...paths(60))));
      expect(run.lanes).toHaveLength(maxConcurrency);
    }
  });

  it("is one of at most the host's slots and the team's tokens", () => {
    for (const sizes of [
      { host: 2, team: 10 },
      { host: 10, team: 2 },
    ]) {
      const run = crawl({}, sizes);
      run.runLane(run.lanes.shift()!, siteOf(linksTo(...paths(60))));
      expect(run.lanes).toHaveLength(2);
    }
  });
});

describe('a result that is told again', () => {
  it('of an earlier lane does not settle a page that is under way again, unless it is one for good', () => {
    const run = crawl();
    const first = run.lanes.shift()!;
    const [item] = first.items;
    const failure = pageOf(item!, { outcome: 'failed', rule: 'SCRAPE_SITE_ERROR', retryable: true, outlinks: [] });
    const end: LaneEnd = {
      ...{ type: 'LaneEnd', lane: first.lane, run: 'r', reason: 'done' },
      ...{ ranMs: 1, unrun: [], pages: [failure] },
    };
    run.turn(end);
    for (let i = 0; run.lanes.length === 0 && i < 20; i++) run.wait(1_000);
    const second = run.lanes.shift()!;
    expect(second.items).toMatchObject([{ item: item!.item }]);
    run.turn(end);
    expect([run.lanes, run.outcomes]).toEqual([[], []]);
    run.turn({ ...end, lane: second.lane, pages: [pageOf(second.items[0]!)] });
    expect(run.outcomes).toMatchObject([{ item: item!.item, outcome: 'ok' }]);
  });

  it('for good counts whichever lane it comes from', () => {
    const run = crawl();
    const [lane] = run.lanes;
    const [item] = lane!.items;
    run.turn({ type: 'PagesDone', lane: 99, run: 'r', pages: [pageOf(item!)] });
    expect(run.outcomes).toMatchObject([{ item: item!.item, outcome: 'ok' }]);
  });
});

describe('a cancel', () => {
  it('ends the job at once; results that come later are thrown away, and everything held is handed back', () => {
    const run = crawl();
    run.runLane(run.lanes.shift()!, siteOf(linksTo(...paths(60))));
    const lanes = run.lanes.splice(0);
    run.turn({ type: 'Cancel', job: 'j' });
    expect(run.last).toMatchObject({ status: 'cancelled', finished: true, completed: 1 });
    expect(run.state.phase).toBe('closing');
    for (const { lane, items } of lanes) {
      run.turn({
        type: 'LaneEnd',
        lane,
        run: 'r',
        reason: 'cancel',
        ranMs: 1,
        unrun: [],
        pages: items.map((item) => pageOf(item)),
      });
    }
    expect([run.pages.length, run.lanes.length, run.shown.filter(({ finished }) => finished).length]).toEqual([
      1, 0, 1,
    ]);
    expect(run.state.phase).toBe('over');
  });

  it.each([
    ['before the start', [[{ type: 'Cancel', job: 'j', cmd: 'c' }], [startOfCrawl()]]],
    ['in the drain of the start, which it leads', [[{ type: 'Cancel', job: 'j', cmd: 'c' }, startOfCrawl()]]],
    ['in the drain of the start, behind it', [[startOfCrawl(), { type: 'Cancel', job: 'j', cmd: 'c' }]]],
  ] as [string, ActorMessage[][]][])('%s ends the job as soon as it begins, and nothing is fetched', (_, turns) => {
    const run = new JobRun('crawl');
    for (const bodies of turns) run.turn(...bodies);
    expect(run.last).toMatchObject({ status: 'cancelled', finished: true, completed: 0 });
    expect([run.lanes, run.kicks, run.receipts.sort()]).toEqual([[], [], ['c', 'j']]);
    for (let i = 0; i < 5; i++) run.wait(10_000);
    expect(run.state.phase).toBe('over');
  });

  it('whose job never begins is forgotten after an hour', () => {
    const run = new JobRun('crawl');
    run.turn({ type: 'Cancel', job: 'j', cmd: 'c' });
    expect(run.state.phase).toBe('idle');
    run.turn({ type: 'Timer', name: 'early-cancel' });
    expect(run.state.phase).toBe('over');
  });

  it('that was lost is heard of from a fetcher, which knows of it from the gateway', () => {
    const run = crawl();
    const [lane] = run.lanes;
    const unrun = lane!.items.map(({ item }) => item);
    run.turn({ type: 'LaneEnd', lane: lane!.lane, run: 'r', reason: 'cancel', ranMs: 1, unrun, pages: [] });
    expect(run.last).toMatchObject({ status: 'cancelled', finished: true });
  });

  it('does not wait for ever for lanes that no fetcher ends', () => {
    const run = crawl();
    run.turn({ type: 'Cancel', job: 'j' });
    for (let i = 0; i < 5; i++) run.wait(10_000);
    expect(run.state.phase).toBe('over');
  });

  it('in the drain of the last result wins', () => {
    const run = crawl();
    const [lane] = run.lanes;
    const end = {
      type: 'LaneEnd' as const,
      lane: lane!.lane,
      run: 'r',
      reason: 'done' as const,
      ranMs: 1,
      unrun: [],
      pages: lane!.items.map((item) => pageOf(item)),
    };
    run.turn({ type: 'Cancel', job: 'j' }, end);
    expect(run.last.status).toBe('cancelled');
    expect(run.pages).toEqual([]);
  });
});

describe('sitemaps', () => {
  const chunkOf = (chunk: number, rest: Partial<SitemapChunk> = {}): SitemapChunk => ({
    type: 'SitemapChunk',
    file: 1,
    chunk,
    urls: linksTo(`/s${chunk}`),
    children: [],
    excluded: null,
    last: false,
    more: false,
    error: null,
    ...rest,
  });
  const robots = {
    type: 'RobotsDone' as const,
    host: 'h.test',
    status: 200,
    crawlDelayMs: null,
    sitemaps: ['http://h.test/sitemap.xml'],
    error: null,
  };
  const withSitemap = () => {
    const run = crawl({ scope: { sitemap: 'include' } });
    run.runAll(siteOf([]));
    return run;
  };

  it('are asked for when robots.txt has been read, and the job waits for both', () => {
    const run = withSitemap();
    expect(run.kicks).toMatchObject([{ task: 'robots', url: 'http://h.test/robots.txt', agent: 'Troupe' }]);
    expect(run.last.status).toBe('scraping');
    run.turn(robots, robots);
    expect(run.kicks.slice(1)).toMatchObject([
      { task: 'sitemap', file: 1, fromChunk: 0, url: 'http://h.test/sitemap.xml' },
    ]);
    run.turn(chunkOf(0, { last: true }));
    expect(run.last.status).toBe('scraping');
    run.runAll((item) => pageOf(item));
    expect(run.last).toMatchObject({ status: 'completed', completed: 2 });
  });

  it('are taken in chunk by chunk, in order, each once', () => {
    const run = withSitemap();
    run.turn(robots);
    run.turn(chunkOf(1));
    run.turn(chunkOf(0), chunkOf(0));
    run.turn(chunkOf(0));
    run.turn(chunkOf(1, { last: true }));
    run.turn(chunkOf(2));
    run.runAll((item) => pageOf(item));
    expect(Object.keys(run.outcomeOf)).toEqual([ROOT, 'http://h.test/s0', 'http://h.test/s1']);
    expect(run.last.status).toBe('completed');
  });

  it('of an index are read once each', () => {
    const run = withSitemap();
    run.turn(robots);
    run.turn(
      chunkOf(0, {
        urls: [],
        children: ['http://h.test/1.xml', 'http://h.test/2.xml', 'http://h.test/1.xml'],
        last: true,
      }),
    );
    const files = run.kicks.slice(2).map((kick) => (kick.task === 'sitemap' ? [kick.file, kick.url, kick.level] : []));
    expect(files).toEqual([
      [2, 'http://h.test/1.xml', 2],
      [3, 'http://h.test/2.xml', 2],
    ]);
  });

  it.each([10_000, Number(process.env.TROUPE_TEST_SITEMAPS ?? 3_000)])(
    'of an index of %i files are all read, in a bounded state',
    (count) => {
      const children = Array.from({ length: count }, (_, n) => `http://h.test/maps/of/some/section/${n}.xml`);
      const run = withSitemap();
      run.turn(robots);
      const read = new Set<string>();
      let mostBytes = 0;
      for (let at = 1; at < run.kicks.length; at++) {
        const kick = run.kicks[at]!;
        if (kick.task !== 'sitemap') continue;
        const { file, fromChunk: chunk, url } = kick;
        if (file !== 1) read.add(url);
        const page = children.slice(chunk * 1000, chunk * 1000 + 1000);
        const last = file !== 1 || (chunk + 1) * 1000 >= count;
        const found = { file, urls: [], children: file === 1 ? page : [], last, more: !last };
        run.turn(chunkOf(chunk, found));
        mostBytes = Math.max(mostBytes, JSON.stringify(run.state).length);
      }
      expect(read.size).toBe(count);
      expect(mostBytes).toBeLessThan(40_000);
      expect(run.last.status).toBe('completed');
    },
    60_000,
  );

  it('named by a robots.txt of 1,000 lines are all read, in a bounded state', () => {
    const sitemaps = Array.from({ length: 1_000 }, (_, n) => `http://h.test/${'long/'.repeat(80)}${n}.xml`);
    const run = withSitemap();
    const read = new Set<string>();
    let mostBytes = 0;
    for (let at = 0; at < run.kicks.length; at++) {
      const kick = run.kicks[at]!;
      if (kick.task === 'robots') run.turn({ ...robots, sitemaps });
      if (kick.task !== 'sitemap') continue;
      read.add(kick.url);
      run.turn(chunkOf(0, { file: kick.file, urls: [], last: true }));
      mostBytes = Math.max(mostBytes, JSON.stringify(run.state).length);
    }
    expect(read.size).toBe(1_000);
    expect(mostBytes).toBeLessThan(20_000);
    expect(run.last.status).toBe('completed');
  });

  it('are asked for again from the next chunk on, when more was left or nothing was heard', () => {
    const run = withSitemap();
    run.turn(robots);
    run.turn(chunkOf(0, { more: true }));
    expect(run.kicks.at(-1)).toMatchObject({ fromChunk: 1 });
    const asked = run.kicks.length;
    run.wait(60_000);
    expect(run.kicks.slice(asked)).toMatchObject([{ task: 'sitemap', fromChunk: 1 }]);
  });

  it('end, and the crawl with them, when more URLs than may be had for nothing are forbidden', () => {
    const limit = 10;
    const most = 10 * limit + 10_000;
    const run = crawl({ limit, scope: { sitemap: 'include' } });
    run.runAll(siteOf([]));
    run.turn(robots);
    const chunks = 30;
    for (let chunk = 0; chunk < chunks && run.last.status === 'scraping'; chunk++) {
      const urls = linksTo(...Array.from({ length: 500 }, (_, i) => `/c${chunk}/${i}`));
      run.turn(chunkOf(chunk, { urls }));
      run.runAll((item) => ({ ...pageOf(item), ...ROBOTS }));
    }
    expect(run.last).toMatchObject({ status: 'completed', completed: 1 });
    expect(Object.values(run.outcomeOf).filter((outcome) => outcome === 'robots')).toHaveLength(most);
    expect(run.last.warning).toContain(`${most} URLs were forbidden, redirected or out of scope`);
  });

  it('that cannot be read are errors of the job, but for unannounced ones', () => {
    const error = { code: 'SCRAPE_SITEMAP_ERROR' as const, message: 'status 404' };
    const told = withSitemap();
    told.turn(robots);
    told.turn(chunkOf(0, { urls: [], error, last: true }));
    expect(told.errors).toMatchObject([
      { url: 'http://h.test/sitemap.xml', code: 'SCRAPE_SITEMAP_ERROR', message: 'status 404' },
    ]);
    const guessed = withSitemap();
    guessed.turn({ ...robots, sitemaps: [] });
    guessed.turn(chunkOf(0, { urls: [], error, last: true }));
    expect(guessed.errors).toEqual([]);
    expect([told.last.status, guessed.last.status]).toEqual(['completed', 'completed']);
  });

  it('are closed when the limit is reached', () => {
    const run = crawl({ limit: 1, scope: { sitemap: 'include' } });
    run.turn(robots);
    run.runAll(siteOf([]));
    expect(run.last).toMatchObject({ status: 'completed', completed: 1 });
  });

  it('alone are followed when only they are wanted', () => {
    const run = crawl({ scope: { sitemap: 'only' } });
    run.turn(robots);
    run.turn(chunkOf(0, { last: true }));
    run.runAll(siteOf(linksTo('/linked')));
    expect(Object.keys(run.outcomeOf).sort()).toEqual([ROOT, 'http://h.test/s0']);
  });
});

describe('a batch', () => {
  const batch = (urls: string[]) => {
    const run = new JobRun('batch');
    run.seeds = urls;
    run.turn(startOfBatch(urls.length));
    return run;
  };

  it('moves its seeds into the frontier in steps, as they are needed', () => {
    const run = batch(Array.from({ length: 6_500 }, (_, i) => `http://h.test/${i}`));
    for (let i = 0; i < 5; i++) run.wait(0);
    expect(run.seedRanges).toEqual([
      [0, 1_000],
      [1_000, 2_000],
      [2_000, 3_000],
    ]);
    expect(run.last.total).toBe(6_500);
    while (run.last.status === 'scraping') {
      run.runAll((item) => pageOf(item));
      run.wait(2_000);
    }
    expect(run.last).toMatchObject({ status: 'completed', total: 6_500, completed: 6_500 });
    expect(new Set(run.pages.map(({ item }) => item)).size).toBe(6_500);
    expect(run.seedRanges.map(([from]) => from)).toEqual([0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000]);
  });

  it('takes every occurrence of a URL for itself, follows no links and asks for no robots.txt', () => {
    const run = batch([ROOT, ROOT, 'http://h.test/a']);
    const [lane] = run.lanes;
    expect(lane).toMatchObject({ scope: null, robotsAgent: null });
    run.runAll((item) => pageOf(item, { outlinks: linksTo('/b') }));
    expect(run.pages.map(({ url }) => url).sort()).toEqual([ROOT, ROOT, 'http://h.test/a']);
    expect(run.kicks).toEqual([]);
    expect(run.last).toMatchObject({ status: 'completed', total: 3, completed: 3 });
  });

  it('of many hosts visits each in one lane, the last ones too', () => {
    const run = new JobRun('batch', { host: 32, team: 10 });
    run.seeds = Array.from({ length: 120 }, (_, i) => `http://h${i % 30}.test/${i}`);
    run.turn(startOfBatch(run.seeds.length));
    const sizes: number[] = [];
    while (run.last.status === 'scraping') {
      for (let lane = run.lanes.shift(); lane !== undefined; lane = run.lanes.shift()) {
        sizes.push(lane.items.length);
        run.runLane(lane, (item) => pageOf(item));
      }
      run.wait(2_000);
    }
    expect(run.last).toMatchObject({ status: 'completed', completed: 120 });
    expect(sizes).toEqual(Array.from({ length: 30 }, () => 4));
  });

  it('is completed though every page failed', () => {
    const run = batch([ROOT]);
    run.runAll((item) => failedPage(item));
    expect(run.last).toMatchObject({ status: 'completed', completed: 1, credits: 0 });
  });
});
