/**
 * Wall clocks that are stepped, as by somebody who sets them: an hour back, two hours on, in a scheduler and in a fetcher, amid
 * crawls of many hosts. No crawl pauses, no host is asked too often, and the books are exact.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { query, readBooks } from '../chaos/evidence.js';
import { expectBalanced, expectDocuments, expectSameUrls } from '../chaos/exactness.js';
import { JobClient } from '../chaos/job-client.js';
import { KnownSite, type Hit } from '../chaos/known-site.js';
import { startCluster, workspace, type TestCluster } from '../support/cluster.js';
import { startService, type ServiceProcess } from '../support/service-process.js';

/** Enough for some of their actors to live in the scheduler whose clock is stepped. */
const SITES = 8;
const PAGES = 120;
const GAP_MS = 300;
/** Requests may reach the site this much later or sooner than their gaps say: machines are busy. */
const JITTER_MS = 150;
/** In a row, for their gaps: one that comes late has the next one come sooner after it. */
const ROW = 6;
const MAX_PAUSE_MS = 5_000;
/** Clocks in seconds off, one after the other. Each lasts longer than the longest pause. */
const STEPS = [
  { scheduler: -3600, fetcher: -3600 },
  { scheduler: 3600, fetcher: 3600 },
  { scheduler: -3600, fetcher: 3600 },
  { scheduler: 0, fetcher: 0 },
];
const STEP_MS = 7_000;
const PARTITIONS = 64;
const PATIENCE_MS = 120_000;
const ENV = {
  HOST_GAP_MS: String(GAP_MS),
  HOST_MAX_CONN: '1',
  TEAM_CONCURRENCY: '50',
  ALLOW_PRIVATE_TARGETS: '127.0.0.1',
  FETCHER_CLASSES: 'http',
};

let folder: string;
let sites: KnownSite[];
let cluster: TestCluster;
let stepped: Record<'scheduler' | 'fetcher', ServiceProcess>;
let crawls: JobClient;

const clockOf = (app: string): string => path.join(folder, app);

/** Whole or not at all: the service may read at any moment. */
async function setClock(app: string, seconds: number): Promise<void> {
  await writeFile(`${clockOf(app)}.new`, String(seconds));
  await rename(`${clockOf(app)}.new`, clockOf(app));
}

async function startStepped(app: 'scheduler' | 'fetcher'): Promise<ServiceProcess> {
  await setClock(app, 0);
  const skew = pathToFileURL(path.join(workspace, 'test/support/clock-skew.mjs')).href;
  return startService(cluster, app, { ...ENV, NODE_OPTIONS: `--import=${skew}`, CLOCK_SKEW_FILE: clockOf(app) });
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'troupe-clocks-'));
  sites = await Promise.all(
    Array.from({ length: SITES }, () => KnownSite.start({ pages: PAGES, islands: 0, latencyMs: 10 })),
  );
  cluster = await startCluster({ env: ENV });
  stepped = { scheduler: await startStepped('scheduler'), fetcher: await startStepped('fetcher') };
  crawls = new JobClient(cluster);
}, 180_000);

afterAll(async () => {
  await Promise.all(Object.values(stepped ?? {}).map((service) => service.stop()));
  await cluster?.stop();
  await Promise.all((sites ?? []).map((site) => site.stop()));
  await rm(folder, { recursive: true, force: true });
}, 90_000);

const say = (text: string): void => void process.stderr.write(`    ${text}\n`);

async function instanceOf({ health }: ServiceProcess): Promise<string> {
  return ((await (await fetch(`${health}/health/readiness`)).json()) as { instance: string }).instance;
}

/** Schedulers hand partitions over until each has its share. */
async function untilShared(owner: string): Promise<void> {
  for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; await sleep(500)) {
    const [leases] = await query<{ n: number }>(cluster, 'SELECT count(*)::int AS n FROM part_lease WHERE owner = $1', [
      owner,
    ]);
    if (leases!.n >= PARTITIONS / 3) return;
  }
  throw new Error(`${owner} has no third of the partitions`);
}

/** How many actors of jobs and of hosts each scheduler has. */
async function actorsByOwner(): Promise<Map<string, number>> {
  const rows = await query<{ owner: string; n: number }>(
    cluster,
    `SELECT l.owner, count(*)::int AS n FROM part_lease l JOIN actor a USING (part)
      WHERE a.kind IN ('crawl', 'domain') AND NOT a.terminal GROUP BY 1`,
  );
  return new Map(rows.map(({ owner, n }) => [owner, n]));
}

const spansOf = (hits: readonly Hit[], row: number): number[] => hits.slice(row).map(({ at }, i) => at - hits[i]!.at);

it(
  'clocks that are stepped hold up no crawl and let no host be asked too often',
  async () => {
    const own = await instanceOf(stepped.scheduler);
    await untilShared(own);
    const ids = await Promise.all(
      sites.map((site, i) => crawls.start({ url: site.startUrl(`c${i}`), limit: 10_000, sitemap: 'skip' })),
    );
    await sleep(5_000);
    const owners = await actorsByOwner();
    say(`actors: ${owners.get(own)} of ${[...owners.values()].reduce((a, b) => a + b, 0)} where the clock is stepped`);
    expect(owners.get(own) ?? 0).toBeGreaterThan(0);
    for (const { scheduler, fetcher } of STEPS) {
      say(`clocks: scheduler ${scheduler} s, fetcher ${fetcher} s off`);
      await Promise.all([setClock('scheduler', scheduler), setClock('fetcher', fetcher)]);
      await sleep(STEP_MS);
      for (const [i, site] of sites.entries()) {
        const { at } = site.hitsOf(`c${i}`).at(-1)!;
        expect(performance.now() - at).toBeLessThan(MAX_PAUSE_MS);
      }
    }
    const asked = await (await fetch(`${stepped.fetcher.health}/metrics`)).text();
    const served = Number(/^troupe_fetch_answers_total(?:\{[^}]*\})? (\d+)/m.exec(asked)?.[1] ?? 0);
    const open = await Promise.all(ids.map((id) => crawls.status(id)));
    expect(open.map(({ status }) => status)).toEqual(ids.map(() => 'scraping'));
    await Promise.all(ids.map((id) => crawls.end(id, PATIENCE_MS)));
    const [pauses, rows]: [number[], number[]] = [[], []];
    for (const [i, site] of sites.entries()) {
      const hits = site.hitsOf(`c${i}`);
      pauses.push(Math.max(...spansOf(hits, 1)));
      rows.push(Math.min(...spansOf(hits, ROW)));
      const expected = site.expected(`c${i}`);
      const books = await readBooks(cluster, ids[i]!);
      expectSameUrls(books.finalUrls, expected);
      expectBalanced(books, expected.size);
      expectDocuments(site, await crawls.documents(ids[i]!), expected);
      expect(site.repeats(`c${i}`)).toBe(0);
    }
    const ms = (all: number[]) => all.map(Math.round).join(' ');
    say(`longest pauses ${ms(pauses)} ms; ${ROW} gaps in ${ms(rows)} ms at least; ${served} answers there`);
    expect(served).toBeGreaterThan(PAGES / 2);
    expect(Math.max(...pauses)).toBeLessThan(MAX_PAUSE_MS);
    expect(Math.min(...rows)).toBeGreaterThanOrEqual(ROW * GAP_MS - JITTER_MS);
  },
  2 * PATIENCE_MS,
);
