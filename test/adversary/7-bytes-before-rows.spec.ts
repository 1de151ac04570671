/**
 * Bytes before rows: what a status lists can be read, whenever the power fails. The disk is a test double below real services
 * (`disk-without-power.preload.ts`): every process is killed amid a crawl, what was never synced is taken away, and the cluster is
 * started again on the rest.
 */
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { query } from '../chaos/evidence.js';
import { JobClient } from '../chaos/job-client.js';
import { KnownSite } from '../chaos/known-site.js';
import { ApiClient } from '../support/api-client.js';
import { startCluster, workspace, type TestCluster } from '../support/cluster.js';
import { killAll } from '../support/kill-all.js';
import { restoreSurvivors } from './disk-without-power.preload.js';

const PAGES = 400;
/** Documents become too large for a row. */
const NOISE_LINES = 320;
const CUT_AFTER_PAGES = 60;
const PATIENCE_MS = 120_000;
const ENV = {
  HOST_GAP_MS: '0',
  HOST_MAX_CONN: '8',
  TEAM_CONCURRENCY: '50',
  ALLOW_PRIVATE_TARGETS: '127.0.0.1',
  LOG_FORMAT: 'json',
  FETCHER_CLASSES: 'http',
};
const PRELOAD = path.join(workspace, 'dist/test/adversary/disk-without-power.preload.js');

interface Document {
  markdown?: string;
  metadata: { url: string; sourceURL: string; scrapeId: string; error?: string };
}

let work: string;
let dataDir: string;
let site: KnownSite;
let cluster: TestCluster | null = null;

beforeAll(async () => {
  work = await mkdtemp(path.join(tmpdir(), 'troupe-power-'));
  await chmod(work, 0o755);
  dataDir = path.join(work, 'data');
  await mkdir(dataDir);
  site = await KnownSite.start({ pages: PAGES, islands: 0, latencyMs: 40, noiseLines: NOISE_LINES });
}, 60_000);

afterAll(async () => {
  await cluster?.stop();
  await site?.stop();
  await rm(work, { recursive: true, force: true });
}, 60_000);

/** Kills whatever could still write. Postgres keeps its promises by itself; it is not what is asked about. */
async function cutPower(running: TestCluster): Promise<void> {
  const processes = await running.processes();
  const others = processes.filter(({ name }) => name !== 'postgres');
  await killAll(
    running,
    others.flatMap(({ pid }) => pid ?? []),
  );
}

async function listed(running: TestCluster, id: string): Promise<Document[]> {
  const api = new ApiClient(running.url, running.apiKey);
  const documents: Document[] = [];
  for (let next: string | undefined = `/v2/crawl/${id}?skip=0`; next !== undefined;) {
    const { status, text, body } = await api.call(next);
    if (status !== 200) throw new Error(`${next}: ${status} ${text.slice(0, 500)}`);
    documents.push(...(body.data as Document[]));
    next = body.next as string | undefined;
    if ((body.data as Document[]).length === 0) break;
  }
  return documents;
}

const isLost = ({ markdown }: Document): boolean => markdown === undefined;

const blobRows = (running: TestCluster): Promise<{ n: number }[]> =>
  query(running, 'SELECT count(*)::int AS n FROM page WHERE blob IS NOT NULL');

describe('documents that are too large for a row', () => {
  let id: string;

  it('are all there after the power fails amid a crawl', async () => {
    const kept = path.join(work, 'kept');
    const preloaded = `${process.env.NODE_OPTIONS ?? ''} --import ${PRELOAD}`.trim();
    const env = { ...ENV, NODE_OPTIONS: preloaded, LOSSY_DIR: dataDir, DURABLE_DIR: kept };
    const before = (cluster = await startCluster({ dataDir, env }));
    const crawls = new JobClient(before);
    id = await crawls.start({ url: site.startUrl('cut'), limit: 10_000, scrapeOptions: { formats: ['markdown'] } });
    for (let status = await crawls.status(id); status.completed < CUT_AFTER_PAGES; await sleep(20))
      status = await crawls.status(id);
    const [rows] = await blobRows(before);
    await cutPower(before);
    expect(rows!.n).toBeGreaterThanOrEqual(CUT_AFTER_PAGES / 2);

    await rename(path.join(dataDir, 'blobs'), path.join(work, 'written'));
    restoreSurvivors(dataDir, kept, dataDir, 'blobs');

    cluster = await startCluster({ dataDir, env: ENV });
    const atOnce = await listed(cluster, id);
    expect(atOnce.length).toBeGreaterThanOrEqual(rows!.n);
    expect(atOnce.filter(isLost).map(({ metadata }) => metadata.url)).toEqual([]);
    await new JobClient(cluster).end(id, PATIENCE_MS);
    const all = await listed(cluster, id);
    expect(all.length).toBeGreaterThanOrEqual(PAGES);
    expect(all.filter(isLost).map(({ metadata }) => metadata.url)).toEqual([]);
  }, 300_000);

  it('cost only themselves when they are lost all the same', async () => {
    const running = cluster!;
    const whole = await listed(running, id);
    const lost = await damageBlobs();
    // The gateway that has read the results keeps them for a while.
    const pid = await running.signal('gateway', 'SIGKILL');
    await running.waitForRestart('gateway', pid);
    const now = await listed(running, id);
    expect(now.map(({ metadata }) => metadata.sourceURL)).toEqual(whole.map(({ metadata }) => metadata.sourceURL));
    const bad = now.filter(isLost);
    expect(bad.length).toBeGreaterThanOrEqual(lost);
    expect(now.length - bad.length).toBeGreaterThan(PAGES / 2);
    for (const { metadata } of bad) expect(metadata.error).toMatch(/lost/);
    const api = new ApiClient(running.url, running.apiKey);
    const one = await api.call(`/v2/scrape/${bad[0]!.metadata.scrapeId}`);
    expect(one).toMatchObject({ status: 200, body: { data: { metadata: { error: expect.stringMatching(/lost/) } } } });
    const health = (await running.processes()).find(({ name }) => name === 'gateway')!.health!;
    const metrics = await (await fetch(`${health}/metrics`)).text();
    const counted = Number(/^troupe_documents_lost_total(?:\{[^}]*\})? (\d+)/m.exec(metrics)?.[1]);
    expect(counted).toBeGreaterThanOrEqual(bad.length);
  }, 120_000);

  /** One is gone, one is cut short, one holds something else, one zeros. Returns how many there are. */
  async function damageBlobs(): Promise<number> {
    const files = (await readdir(path.join(dataDir, 'blobs'), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name));
    const [gone, short, other, zeros] = files as [string, string, string, string];
    await rm(gone);
    await writeFile(short, randomBytes(10));
    await writeFile(other, randomBytes(400_000));
    await writeFile(zeros, Buffer.alloc(400_000));
    return 4;
  }
});
