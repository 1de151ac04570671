/** Pages that only a fetcher with a browser can show, beside pages that any fetcher can. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Lane, LaneItem } from '@troupe/contracts';
import { JobRun, pageOf, startOfBatch } from './job-run.fixture.js';

const isApp = ({ url }: LaneItem) => url.includes('/app');

let run: JobRun;

function start(urls: string[], sizes = { host: 4, team: 10 }): void {
  run = new JobRun('batch', sizes);
  run.seeds = urls;
  run.turn(startOfBatch(urls.length));
}

const pages = (kind: string, count: number, host = 'h') =>
  Array.from({ length: count }, (_, i) => `http://${host}.test/${kind}/${i}`);

/** Lanes that are out, of one class. */
function takeLanes(cls: 'http' | 'browser'): Lane[] {
  const found = run.lanes.filter(({ lane }) => run.classes.get(lane) === cls);
  for (const lane of found) run.lanes.splice(run.lanes.indexOf(lane), 1);
  return found;
}

/** All lanes that fetchers without a browser may have, and those that follow. */
function runPlain(): void {
  for (let lanes = takeLanes('http'); lanes.length > 0; lanes = takeLanes('http'))
    for (const lane of lanes) run.runWithout(lane, isApp);
}

/** As `runPlain`, with fetchers that have a browser. */
function runEverything(): void {
  for (;;) {
    runPlain();
    const [lane] = takeLanes('browser').map((found, i) => (i === 0 ? found : void run.lanes.push(found)));
    if (lane === undefined) return;
    run.runLane(lane, (item) => pageOf(item, { engine: isApp(item) ? 'browser' : 'http' }));
  }
}

describe('pages that need a browser', () => {
  beforeEach(() => start([...pages('app', 2), ...pages('plain', 6)]));

  it('go to fetchers with one, marked, without having spent an attempt', () => {
    runPlain();
    const lanes = takeLanes('browser');
    expect(
      lanes.flatMap(({ items }) => items.map(({ url, attempt, browser }) => [url, attempt, browser])).sort(),
    ).toEqual(pages('app', 2).map((url) => [url, 1, true]));
    expect(run.pages.map(({ url }) => url).sort()).toEqual(pages('plain', 6));
    for (const lane of lanes) run.runLane(lane, (item) => pageOf(item, { engine: 'browser' }));
    expect(run.last).toMatchObject({ status: 'completed', completed: 8, credits: 8 });
    expect(run.outcomes.map(({ attempts }) => attempts)).toEqual(Array.from({ length: 8 }, () => 1));
  });

  it('are asked of those without one, every second time that no fetcher starts their lane', () => {
    runPlain();
    const [lane] = takeLanes('browser');
    run.wait(60_000);
    expect(run.lanes.find((again) => again.lane === lane!.lane)).toEqual(lane);
    expect(run.classes.get(lane!.lane)).toBe('http');
    run.wait(120_000);
    expect(run.classes.get(lane!.lane)).toBe('browser');
  });

  it('go out once more when they are handed back once more', () => {
    runPlain();
    const [lane] = takeLanes('browser');
    run.wait(60_000);
    run.runWithout(lane!, isApp);
    expect(takeLanes('browser').flatMap(({ items }) => items.map(({ url }) => url))).toEqual(
      expect.arrayContaining(lane!.items.map(({ url }) => url)),
    );
    expect(run.errors).toEqual([]);
  });
});

describe('a host of which three pages in a row needed a browser', () => {
  it('is left to fetchers with one, two pages a lane, until a page did without', () => {
    start(pages('app', 60), { host: 1, team: 1 });
    const [first] = takeLanes('http');
    run.runWithout(first!, isApp);
    const [lane] = run.lanes;
    expect(run.classes.get(lane!.lane)).toBe('browser');
    expect(lane!.items).toHaveLength(2);
    runEverything();
    expect(run.pages).toHaveLength(60);
    expect([...run.classes.values()].filter((cls) => cls === 'http')).toHaveLength(1);
  });

  it('comes back to the others with the first page that did without', () => {
    start(pages('app', 30), { host: 1, team: 1 });
    run.runWithout(takeLanes('http')[0]!, isApp);
    run.runLane(takeLanes('browser')[0]!, (item) => pageOf(item, { engine: 'http' }));
    let more = takeLanes('browser');
    for (; more.length > 0 && more[0]!.items.every(({ browser }) => browser); more = takeLanes('browser'))
      run.runLane(more[0]!, (item) => pageOf(item, { engine: 'browser' }));
    expect(more).toEqual([]);
    expect(takeLanes('http')).toHaveLength(1);
  });
});

describe('while no fetcher has a browser', () => {
  it.each([
    { host: 1, team: 1 },
    { host: 4, team: 4 },
  ])('pages of a site that has shown some without one do not wait behind those that need one: %j', (sizes) => {
    const plain = pages('plain', 6 * sizes.host);
    const more = pages('more', 24);
    start([...plain, ...pages('app', 5), ...more], sizes);
    for (const lane of takeLanes('http')) run.runLane(lane, (item) => pageOf(item), 500 * lane.items.length);
    runPlain();
    expect(run.pages.map(({ url }) => url).sort()).toEqual([...plain, ...more].sort());
  });

  it('the lanes that wait for one hold half of the places at most, until nothing else is left to do', () => {
    const mixed = pages('app', 40, 'a').flatMap((url, i) => [url, pages('plain', 40, 'a')[i]!]);
    start([...mixed, ...pages('plain', 40, 'b')]);
    let most = 0;
    for (;;) {
      const [lane] = takeLanes('http').map((found, i) => (i === 0 ? found : void run.lanes.push(found)));
      if (lane === undefined) break;
      const waiting = [...run.classes.entries()].filter(
        ([no, cls]) => cls === 'browser' && run.lanes.some((open) => open.lane === no),
      );
      const isPlainLeft = run.pages.length < 60;
      if (isPlainLeft) most = Math.max(most, waiting.length);
      run.runWithout(lane, isApp);
    }
    expect(run.pages).toHaveLength(80);
    expect(most).toBeLessThanOrEqual(5);
    expect(takeLanes('browser').length).toBeGreaterThan(0);
    expect(run.last).toMatchObject({ status: 'scraping', total: 120 });
  });
});
