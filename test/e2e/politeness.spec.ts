/**
 * Politeness, as the sites see it: three fetchers, crawls of two teams, and the log of the hosts they ask
 * (docs/design/politeness.md). Nothing here asks the cluster whether it was polite.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { isPageRequest, peakInFlight, startGaps, type SeenRequest } from '../sites/known-graph/request-log.js';
import { startKnownSite, type KnownSite } from '../sites/known-graph/server.js';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { startService, type ServiceProcess } from '../support/service-process.js';
import { CrawlClient, type JobErrors, type JobStatus } from './crawl-client.js';
import {
  BUSY_PAGES,
  CANCELLED_PAGES,
  CONTEST,
  CRAWL_DELAY_MS,
  DELAYED_PAGES,
  GAPPED_PAGES,
  HOST,
  HOSTS,
  KEPT_PAGES,
  politenessSite,
  RETRY_AFTER_MS,
  SCRAPES,
  TEAM_HOSTS,
  TEAM_PAGES,
} from './politeness-site.js';

const KEYS = { a: 'fc-politeness-team-a', b: 'fc-politeness-team-b' };
const FETCHERS = 3;
const MAX_CONN = 4;
const EXPRESS_CONN = 2;
const GAP_MS = 50;
const TEAM_CONCURRENCY = 5;
/** Requests may reach the site this much later or sooner than their gap says: connections are made, machines are busy. */
const JITTER_MS = 60;
/** The host's actor has judged by then, and its verdict is with all fetchers: 200 ms on a quiet machine. */
const SPREAD_MS = 600;
const PATIENCE_MS = 120_000;
const TEST_MS = PATIENCE_MS + 30_000;

const env = {
  TROUPE_BOOTSTRAP_KEYS: `a:${KEYS.a},b:${KEYS.b}`,
  ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
  HOST_MAX_CONN: String(MAX_CONN),
  HOST_EXPRESS_CONN: String(EXPRESS_CONN),
  HOST_GAP_MS: String(GAP_MS),
  TEAM_CONCURRENCY: String(TEAM_CONCURRENCY),
};

let site: KnownSite;
let cluster: TestCluster;
let fetchers: ServiceProcess[] = [];
let teamA: CrawlClient;
let teamB: CrawlClient;

/** Each fetcher has a version of its own in its name, by which the log tells them apart. */
async function startFetchers(): Promise<void> {
  const starts = Array.from({ length: FETCHERS }, (_, i) =>
    startService(cluster, 'fetcher', { ...env, USER_AGENT: `Troupe/0.${i + 1}` }),
  );
  fetchers = await Promise.all(starts);
}

async function stopFetchers(): Promise<void> {
  await Promise.all(fetchers.map((fetcher) => fetcher.stop()));
  fetchers = [];
}

beforeAll(async () => {
  site = await startKnownSite(politenessSite, { hosts: HOSTS, firstAddress: 101 });
  cluster = await startCluster({ args: ['--fetchers', '0'], env });
  await startFetchers();
  teamA = new CrawlClient({ ...cluster, apiKey: KEYS.a });
  teamB = new CrawlClient({ ...cluster, apiKey: KEYS.b });
}, 180_000);

afterAll(async () => {
  await stopFetchers();
  await cluster?.stop();
  await site?.stop();
}, 90_000);

/** Page requests of a host below `folder`, in order of arrival. */
function pagesOf(host: number, folder = '/'): SeenRequest[] {
  const name = new URL(site.url('/', host)).host;
  return site.requests((request) => request.host === name && request.path.startsWith(folder) && isPageRequest(request));
}

function crawl(team: CrawlClient, host: number, folder: string, more: object = {}): Promise<string> {
  return team.startCrawl({ url: site.url(folder, host), sitemap: 'skip', ...more });
}

/** The job's last status, without its pages. */
async function ended(team: CrawlClient, id: string): Promise<JobStatus> {
  await team.waitForEnd(id, PATIENCE_MS);
  return team.get(`/v2/crawl/${id}?limit=1`);
}

function errorsOf(team: CrawlClient, id: string): Promise<JobErrors> {
  return team.get(`/v2/crawl/${id}/errors`);
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`${what}: not within ${PATIENCE_MS} ms`);
    await sleep(20);
  }
}

/** Least time between a request and the one `steps` later. */
function leastSpan(requests: SeenRequest[], steps: number): number {
  return Math.min(...requests.slice(steps).map(({ t }, i) => t - requests[i]!.t));
}

describe('one host, four crawls of two teams, three fetchers', () => {
  const folders = Object.keys(CONTEST) as (keyof typeof CONTEST)[];
  const requestsOf = (folder: string) => pagesOf(HOST.contested, `/${folder}/`);
  const pagesLeft = () =>
    Object.values(CONTEST).reduce((sum, pages) => sum + pages + 1, 0) - folders.flatMap(requestsOf).length;
  let slowestScrapeMs: number;
  let leftAfterScrapes: number;

  async function scrapeMeanwhile(): Promise<void> {
    const startedAt = performance.now();
    const answers = await Promise.all(
      Array.from({ length: SCRAPES }, (_, i) =>
        new ApiClient(cluster.url, i % 2 === 0 ? KEYS.a : KEYS.b).post('/v2/scrape', {
          url: site.url(`/single/${i}`, HOST.contested),
          maxAge: 0,
        }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(SCRAPES).fill(200));
    slowestScrapeMs = performance.now() - startedAt;
    leftAfterScrapes = pagesLeft();
  }

  beforeAll(async () => {
    const ofA = await Promise.all(folders.slice(0, 3).map((folder) => crawl(teamA, HOST.contested, `/${folder}/`)));
    await until(() => requestsOf('a1').length > 10, 'crawls of team a under way');
    const ofB = await crawl(teamB, HOST.contested, '/b1/');
    await until(() => requestsOf('b1').length > 30, 'crawl of team b under way');
    await scrapeMeanwhile();
    await Promise.all([...ofA.map((id) => ended(teamA, id)), ended(teamB, ofB)]);
  }, TEST_MS);

  it('get every page once', () => {
    for (const folder of folders) {
      const paths = requestsOf(folder).map(({ path }) => path);
      expect(paths).toHaveLength(CONTEST[folder] + 1);
      expect(new Set(paths).size).toBe(CONTEST[folder] + 1);
    }
  });

  it('are served by all fetchers', () => {
    expect(new Set(folders.flatMap(requestsOf).map(({ ua }) => ua)).size).toBe(FETCHERS);
  });

  it('never have more requests in flight than the host may get', () => {
    expect(peakInFlight(folders.flatMap(requestsOf))).toBe(MAX_CONN);
    const host = new URL(site.url('/', HOST.contested)).host;
    const express = site.requests((request) => request.host === host && !/^\/[ab]\d\//.test(request.path));
    expect(peakInFlight(express)).toBe(EXPRESS_CONN);
  });

  it('share it fairly between the teams, and between the jobs of a team, while all are active', () => {
    const from = requestsOf('b1')[1]!.t;
    const to = Math.min(...folders.map((folder) => requestsOf(folder).at(-1)!.t));
    const during = ({ t }: SeenRequest) => t >= from && t <= to;
    const ofB = requestsOf('b1').filter(during).length;
    const ofEach = ['a1', 'a2', 'a3'].map((folder) => requestsOf(folder).filter(during).length);
    const ofA = ofEach.reduce((sum, count) => sum + count, 0);
    expect(ofB / (ofA + ofB)).toBeGreaterThan(0.4);
    expect(ofB / (ofA + ofB)).toBeLessThan(0.6);
    for (const count of ofEach) expect(count / ofA).toBeGreaterThan(0.25);
  });

  it('leave room for single scrapes of the same host', () => {
    expect(slowestScrapeMs).toBeLessThan(25_000);
    expect(leftAfterScrapes).toBeGreaterThan(100);
  });
});

describe('a crawl-delay in robots.txt', () => {
  it(
    'is kept over one connection by all crawls and fetchers together',
    async () => {
      const ids = await Promise.all(['/one/', '/two/'].map((folder) => crawl(teamA, HOST.delayed, folder)));
      await Promise.all(ids.map((id) => ended(teamA, id)));
      const requests = pagesOf(HOST.delayed);
      expect(requests).toHaveLength(2 * (DELAYED_PAGES + 1));
      expect(peakInFlight(requests)).toBe(1);
      expect(Math.min(...startGaps(requests))).toBeGreaterThanOrEqual(CRAWL_DELAY_MS - JITTER_MS);
      expect(leastSpan(requests, requests.length - 1)).toBeGreaterThanOrEqual(
        (requests.length - 1) * CRAWL_DELAY_MS - JITTER_MS,
      );
    },
    TEST_MS,
  );
});

describe('the gap of a host', () => {
  it(
    'lies between the requests of each of its connections',
    async () => {
      await ended(teamA, await crawl(teamA, HOST.gapped, '/wide/'));
      await ended(teamA, await crawl(teamA, HOST.gapped, '/narrow/', { maxConcurrency: 1 }));
      const wide = pagesOf(HOST.gapped, '/wide/');
      const narrow = pagesOf(HOST.gapped, '/narrow/');
      expect([wide.length, narrow.length]).toEqual([GAPPED_PAGES + 1, GAPPED_PAGES + 1]);
      expect(leastSpan(wide, 10 * MAX_CONN)).toBeGreaterThanOrEqual(10 * GAP_MS - JITTER_MS);
      expect(leastSpan(narrow, 10)).toBeGreaterThanOrEqual(10 * GAP_MS - JITTER_MS);
    },
    TEST_MS,
  );
});

describe('Retry-After', () => {
  it(
    'of two pages keeps every fetcher away from the host, and they come later',
    async () => {
      const id = await crawl(teamA, HOST.busy, '/busy/');
      const { completed } = await ended(teamA, id);
      expect(completed).toBe(1 + BUSY_PAGES.first + BUSY_PAGES.then);
      expect((await errorsOf(teamA, id)).errors).toEqual([]);
      const requests = pagesOf(HOST.busy);
      const refusals = requests.filter(({ status }) => status === 429);
      expect(refusals).toHaveLength(2);
      const toldAt = Math.max(...refusals.map(({ doneT }) => doneT!));
      const before = requests.filter(({ t }) => t <= toldAt);
      const after = requests.filter(({ t }) => t > toldAt).map(({ t }) => t - toldAt);
      expect(new Set(before.map(({ ua }) => ua)).size).toBeGreaterThan(1);
      expect(after.filter((ms) => ms > SPREAD_MS && ms < RETRY_AFTER_MS)).toEqual([]);
    },
    TEST_MS,
  );
});

describe('what robots.txt forbids', () => {
  it(
    'is never requested, and listed as blocked',
    async () => {
      const id = await crawl(teamA, HOST.guarded, '/', { sitemap: 'include' });
      await ended(teamA, id);
      const paths = pagesOf(HOST.guarded).map(({ path }) => path);
      expect(paths.filter((path) => path.startsWith('/secret'))).toEqual([]);
      expect(paths.sort()).toEqual(
        ['/', '/open/a', '/open/b', '/open/listed', '/refresh-to-secret', '/to-open', '/to-secret'].sort(),
      );
      const { errors, robotsBlocked } = await errorsOf(teamA, id);
      expect(errors).toEqual([]);
      expect([...robotsBlocked].sort()).toEqual(
        ['/refresh-to-secret', '/secret/deep', '/secret/linked', '/secret/listed', '/to-secret'].map((path) =>
          site.url(path, HOST.guarded),
        ),
      );
    },
    TEST_MS,
  );
});

describe('a cancelled job', () => {
  it(
    'makes no request after one second, while others of its host go on',
    async () => {
      const doomed = await crawl(teamA, HOST.cancelled, '/doomed/');
      const kept = await crawl(teamA, HOST.cancelled, '/kept/');
      await until(() => pagesOf(HOST.cancelled, '/doomed/').length > 20, 'the job under way');
      const { status } = await new ApiClient(cluster.url, KEYS.a).call(`/v2/crawl/${doomed}`, { method: 'DELETE' });
      expect(status).toBe(200);
      const cancelledAt = performance.now();
      await ended(teamA, kept);
      await sleep(Math.max(0, cancelledAt + 4_000 - performance.now()));
      const late = pagesOf(HOST.cancelled, '/doomed/').filter(({ t }) => t > cancelledAt + 1_000);
      expect(late).toEqual([]);
      expect(pagesOf(HOST.cancelled, '/kept/')).toHaveLength(KEPT_PAGES + 1);
      expect(pagesOf(HOST.cancelled, '/doomed/').length).toBeLessThan(CANCELLED_PAGES);
      expect((await ended(teamA, doomed)).status).toBe('cancelled');
    },
    TEST_MS,
  );
});

describe('ten jobs of one team on ten hosts', () => {
  it(
    'never have more pages in flight than the team may',
    async () => {
      const hosts = Array.from({ length: TEAM_HOSTS }, (_, i) => HOST.team + i);
      const ids = await Promise.all(hosts.map((host) => crawl(teamA, host, '/job/')));
      await Promise.all(ids.map((id) => ended(teamA, id)));
      const requests = hosts.flatMap((host) => pagesOf(host));
      expect(requests).toHaveLength(TEAM_HOSTS * (TEAM_PAGES + 1));
      expect(peakInFlight(requests)).toBe(TEAM_CONCURRENCY);
    },
    TEST_MS,
  );
});
