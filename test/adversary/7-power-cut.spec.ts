/**
 * A real power cut: everything that a cluster keeps lies on a disk of its own, which loses amid a crawl what was not synced, while
 * every process is killed. Started again on what is left, the crawl goes on to its end, and everything that was listed reads.
 * The second test shows that the disk really forgets.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { query, readBooks } from '../chaos/evidence.js';
import { expectBalanced, expectDocuments, expectSameUrls } from '../chaos/exactness.js';
import { JobClient, type PageDocument } from '../chaos/job-client.js';
import { KnownSite } from '../chaos/known-site.js';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { killAll } from '../support/kill-all.js';
import { PowerDisk } from '../support/power-disk.js';

const PAGES = 200;
/** Documents become too large for a row. */
const NOISE_LINES = 320;
const CUT_AFTER_PAGES = 60;
const DISK_MB = 1_024;
const PATIENCE_MS = 60_000;
const ENV = {
  HOST_GAP_MS: '0',
  HOST_MAX_CONN: '8',
  TEAM_CONCURRENCY: '50',
  ALLOW_PRIVATE_TARGETS: '127.0.0.1',
  LOG_FORMAT: 'json',
  FETCHER_CLASSES: 'http',
};

const suite = PowerDisk.whyNone('power cuts are not tried') === null ? describe : describe.skip;

const say = (text: string): void => void process.stderr.write(`    ${text}\n`);

suite('a cluster whose power fails amid a crawl', () => {
  let disk: PowerDisk;
  let dataDir: string;
  let site: KnownSite;
  let cluster: TestCluster | null = null;

  beforeAll(async () => {
    disk = PowerDisk.mount(DISK_MB);
    dataDir = path.join(disk.folder, 'data');
    await mkdir(dataDir);
    site = await KnownSite.start({ pages: PAGES, islands: 0, latencyMs: 40, noiseLines: NOISE_LINES });
  }, 30_000);

  afterAll(async () => {
    await cluster?.stop();
    await site?.stop();
    disk?.remove();
  }, 60_000);

  /** Starts a crawl and cuts the power as soon as the API has listed enough of it. Resolves with what it listed. */
  async function crawlUntilCut(running: TestCluster, folder: string): Promise<{ id: string; listed: PageDocument[] }> {
    const pids = (await running.processes()).flatMap(({ pid }) => (pid === null ? [] : [pid]));
    const id = await new JobClient(running).start({
      url: site.startUrl(folder),
      limit: 10_000,
      scrapeOptions: { formats: ['markdown'] },
    });
    const listed: PageDocument[] = [];
    const api = new ApiClient(running.url, running.apiKey);
    while (listed.length < CUT_AFTER_PAGES) {
      const { body, text } = await api.call(`/v2/crawl/${id}?skip=${listed.length}`);
      expect({ text: text.slice(0, 300), status: body.status }).toMatchObject({ status: 'scraping' });
      listed.push(...(body.data as PageDocument[]));
    }
    disk.cut();
    await killAll(running, pids);
    return { id, listed };
  }

  /** The cluster again on what is left. */
  async function powerOn(): Promise<TestCluster> {
    await disk.restore();
    const startedAt = performance.now();
    cluster = await startCluster({ dataDir, env: ENV });
    say(`ready ${((performance.now() - startedAt) / 1000).toFixed(1)} s after the power came back`);
    return cluster;
  }

  /** The crawl is over, and its books say each page once, whatever became of the documents. */
  async function endOf(running: TestCluster, id: string, folder: string): Promise<PageDocument[]> {
    const crawls = new JobClient(running);
    await crawls.end(id, PATIENCE_MS);
    say(`the crawl is over, ${site.repeats(folder)} requests again`);
    const expected = site.expected(folder);
    const books = await readBooks(running, id);
    expectSameUrls(books.finalUrls, expected);
    expectBalanced(books, expected.size);
    return crawls.documents(id);
  }

  async function lostCount(running: TestCluster): Promise<number> {
    const { health } = (await running.processes()).find(({ name }) => name === 'gateway')!;
    const metrics = await (await fetch(`${health}/metrics`)).text();
    return Number(/^troupe_documents_lost_total(?:\{[^}]*\})? (\d+)/m.exec(metrics)?.[1] ?? 0);
  }

  const isWhole = ({ metadata, markdown }: PageDocument): boolean =>
    markdown !== undefined && markdown === site.markdownOf(metadata.url);

  it('reads every document that it has listed, and ends the crawl', async () => {
    const before = (cluster = await startCluster({ dataDir, env: ENV }));
    expect(await query(before, 'SHOW fsync')).toEqual([{ fsync: 'on' }]);
    const { id, listed } = await crawlUntilCut(before, 'cut');
    expect(listed.filter(isWhole)).toHaveLength(listed.length);

    const after = await powerOn();
    expect(after.apiKey).toBe(before.apiKey);
    const atOnce = await new JobClient(after).documents(id);
    say(`${listed.length} were listed before the cut, ${atOnce.length} at once after it`);
    const readable = new Set(atOnce.filter(isWhole).map(({ metadata }) => metadata.url));
    expect(listed.map(({ metadata }) => metadata.url).filter((url) => !readable.has(url))).toEqual([]);
    const [rows] = await query(after, 'SELECT count(*)::int AS n FROM page WHERE blob IS NOT NULL');
    expect(rows!.n).toBeGreaterThanOrEqual(CUT_AFTER_PAGES / 2);

    const documents = await endOf(after, id, 'cut');
    expectDocuments(site, documents, site.expected('cut'));
    expect(documents.filter(({ metadata }) => /lost/.test(metadata.error ?? ''))).toEqual([]);
    expect(await lostCount(after)).toBe(0);
    await after.stop();
  }, 120_000);

  it('loses documents, and nothing else, where they are not synced', async () => {
    const before = (cluster = await startCluster({ dataDir, env: { ...ENV, BLOB_SYNC: 'off' } }));
    const { id, listed } = await crawlUntilCut(before, 'unsynced');
    expect(listed.filter(isWhole)).toHaveLength(listed.length);

    const after = await powerOn();
    const documents = await endOf(after, id, 'unsynced');
    expect(documents).toHaveLength(site.expected('unsynced').size);
    const lost = documents.filter((document) => !isWhole(document));
    say(`${lost.length} documents of ${documents.length} are lost`);
    expect(lost.length).toBeGreaterThan(0);
    for (const { metadata } of lost) expect(metadata.error).toMatch(/lost/);
    expect(await lostCount(after)).toBeGreaterThanOrEqual(lost.length);
  }, 120_000);
});
