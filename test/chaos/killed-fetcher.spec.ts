/**
 * What the death of a fetcher costs: seconds. Its lanes, its places on hosts and its sync scrapes are taken over by the other
 * one; a fetcher that only stands still for a while loses nothing and repeats nothing.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { describeJob, readBooks } from './evidence.js';
import { expectBalanced, expectDocuments, expectSameUrls } from './exactness.js';
import { JobClient } from './job-client.js';
import { KnownSite } from './known-site.js';

/** With a page behind a redirect and one that is missing: 127 documents. */
const PAGES = 125;
const DOCUMENTS = PAGES + 2;
const PAGE_MS = 120;
/** Of the pages that are scraped one by one: long enough to be under way when their fetcher dies. */
const SLOW_MS = 2_000;
const MAX_CONN = 4;
const CRAWL_MS = 12_000;
const SCRAPE_MS = 10_000;
const KILLS = Number(process.env.TROUPE_TEST_KILLS ?? 2);
const VICTIMS = ['fetcher', 'fetcher-2'];
const PATIENCE_MS = 90_000;

let site: KnownSite;
let slow: KnownSite;
let cluster: TestCluster;
let crawls: JobClient;

beforeAll(async () => {
  const options = { pages: PAGES, islands: 0, everyRedirect: 10_000, everyMissing: 10_000, latencyMs: PAGE_MS };
  site = await KnownSite.start(options);
  slow = await KnownSite.start({ ...options, latencyMs: SLOW_MS });
  cluster = await startCluster({
    args: ['--fetchers', '2'],
    dataDir: process.env.CHAOS_DATA_DIR,
    env: { HOST_MAX_CONN: String(MAX_CONN), ALLOW_PRIVATE_TARGETS: '127.0.0.1', LOG_FORMAT: 'json' },
  });
  crawls = new JobClient(cluster);
}, 180_000);

afterAll(async () => {
  await cluster?.stop();
  await site?.stop();
  await slow?.stop();
}, 90_000);

const say = (text: string): void => void process.stderr.write(`    ${text}\n`);

interface Crawl {
  folder: string;
  id: string;
  startedAt: number;
}

async function startCrawl(folder: string): Promise<Crawl> {
  const startedAt = performance.now();
  const body = { url: site.startUrl(folder), scrapeOptions: { formats: ['markdown'] } };
  return { folder, id: await crawls.start(body), startedAt };
}

async function untilUnderWay({ id }: Crawl, pages: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (let { completed } = await crawls.status(id); completed < pages; { completed } = await crawls.status(id)) {
    if (performance.now() > deadline)
      throw new Error(`no ${pages} pages of the crawl\n${await describeJob(cluster, id)}`);
    await sleep(50);
  }
  site.peak = 0;
}

/** Milliseconds from the start of the crawl to its end. */
async function untilOver({ id, startedAt }: Crawl): Promise<number> {
  await crawls.end(id, PATIENCE_MS);
  return Math.round(performance.now() - startedAt);
}

async function expectExact({ id, folder }: Crawl): Promise<void> {
  const expected = site.expected(folder);
  expect(expected.size).toBe(DOCUMENTS);
  const books = await readBooks(cluster, id);
  expectSameUrls(books.finalUrls, expected);
  expectBalanced(books, DOCUMENTS);
  expectDocuments(site, await crawls.documents(id), expected);
  expect(site.peak).toBeLessThanOrEqual(MAX_CONN);
}

interface Scraped {
  ms: number;
  status: number;
  code: string | undefined;
}

async function scrape(url: string, rest: object = {}): Promise<Scraped> {
  const startedAt = performance.now();
  const response = await fetch(`${cluster.url}/v2/scrape`, {
    method: 'POST',
    headers: { authorization: `Bearer ${cluster.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url, formats: ['markdown'], timeout: 60_000, ...rest }),
  });
  const { code } = (await response.json()) as { code?: string };
  return { ms: Math.round(performance.now() - startedAt), status: response.status, code };
}

/** Four pages of one host, asked for at once; half way through the first answer one of the two fetchers is killed. */
async function killUnderScrapes(folder: string, victim: string, rest: object) {
  const urls = Array.from({ length: 4 }, (_, i) => slow.leaf(folder, i));
  const startedAt = performance.now();
  const asked = urls.map((url) => scrape(url, rest));
  await untilAsked(folder, urls.length);
  await sleep(SLOW_MS / 2);
  const pid = await cluster.signal(victim, 'SIGKILL');
  const killedMs = performance.now() - startedAt;
  const answers = await Promise.all(asked);
  const again = slow.hitsOf(folder).length - urls.length;
  const times = answers.map(({ ms }) => Math.round(ms - killedMs));
  const words = answers.map(({ status, code }, i) => `${status} ${code ?? ''}`.trim() + ` after ${times[i]} ms`);
  say(`${victim} killed under 4 scrapes: ${words.join(', ')}; ${again} requests again`);
  expect(Math.max(...times)).toBeLessThan(SCRAPE_MS);
  await cluster.waitForRestart(victim, pid);
  return { answers, again };
}

async function untilAsked(folder: string, requests: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (slow.hitsOf(folder).length < requests) {
    if (performance.now() > deadline) throw new Error(`the site was not asked for ${requests} pages of ${folder}`);
    await sleep(20);
  }
}

describe('a fetcher that is killed', () => {
  it(
    'costs a crawl seconds and no page',
    async () => {
      const calm = await startCrawl('calm');
      say(`nobody killed: ${await untilOver(calm)} ms`);
      for (let n = 1; n <= KILLS; n++) {
        const crawl = await startCrawl(`killed-${n}`);
        await untilUnderWay(crawl, 30);
        const victim = VICTIMS[n % 2]!;
        const killedMs = Math.round(performance.now() - crawl.startedAt);
        const pid = await cluster.signal(victim, 'SIGKILL');
        const ms = await untilOver(crawl);
        say(
          `${victim} killed after ${killedMs} ms: over after ${ms} ms, ${site.repeats(crawl.folder)} requests again, at most ${site.peak} at once`,
        );
        await expectExact(crawl);
        expect(ms).toBeLessThan(CRAWL_MS);
        await cluster.waitForRestart(victim, pid);
      }
    },
    (KILLS + 2) * PATIENCE_MS,
  );

  it(
    'keeps nobody waiting for a page that it was to scrape',
    async () => {
      for (let n = 1; n <= KILLS; n++) {
        const { answers, again } = await killUnderScrapes(`scrape-${n}`, VICTIMS[n % 2]!, {});
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
        expect(again).toBeGreaterThanOrEqual(0);
      }
    },
    (KILLS + 1) * PATIENCE_MS,
  );

  it(
    'repeats no actions: who asked for them hears that they may have been performed',
    async () => {
      const actions = [
        { type: 'click', selector: 'h1' },
        { type: 'wait', milliseconds: 3_000 },
      ];
      let lost = 0;
      // Which fetcher is asked is chance: with four scrapes one in eight kills meets none of them, or all.
      for (let n = 1; n <= 2 * KILLS && lost === 0; n++) {
        const { answers, again } = await killUnderScrapes(`actions-${n}`, VICTIMS[n % 2]!, { actions });
        const refused = answers.filter(({ status }) => status !== 200);
        lost += refused.length;
        expect(refused).toEqual(
          refused.map(() => expect.objectContaining({ status: 500, code: 'SCRAPE_ACTION_ERROR' })),
        );
        expect(again).toBe(0);
      }
      expect(lost).toBeGreaterThan(0);
    },
    (2 * KILLS + 1) * PATIENCE_MS,
  );
});

describe('a fetcher that stands still', () => {
  async function standStill(folder: string, forMs: number): Promise<Crawl> {
    const crawl = await startCrawl(folder);
    await untilUnderWay(crawl, 30);
    await cluster.signal('fetcher', 'SIGSTOP');
    await sleep(forMs);
    await cluster.signal('fetcher', 'SIGCONT');
    const ms = await untilOver(crawl);
    const again = site.repeats(folder);
    say(`stopped for ${forMs} ms: over after ${ms} ms, ${again} requests again, at most ${site.peak} at once`);
    await expectExact(crawl);
    return crawl;
  }

  it(
    'for 3 s changes nothing of a crawl but its time',
    async () => {
      const { folder } = await standStill('stopped', 3_000);
      expect(site.repeats(folder)).toBe(0);
    },
    2 * PATIENCE_MS,
  );

  it(
    'for so long that it is taken for dead asks for nothing on a place that is no longer its own',
    async () => {
      for (let n = 1; n <= KILLS; n++) await standStill(`zombie-${n}`, 6_000);
    },
    (KILLS + 1) * PATIENCE_MS,
  );
});
