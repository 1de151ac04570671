/**
 * Results in a bucket survive what results in a folder survive: services are killed, and the server of the bucket goes away,
 * stands still, and comes back. Skipped loudly where no S3-compatible server can be installed.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { openBlobs, parseBlobKey } from '@troupe/blob-store';
import { Housekeeping } from '@troupe/persistence';
import { HousekeepingRounds } from '../../apps/scheduler/src/housekeeping/housekeeping-rounds.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { S3_KEYS, S3Server } from '../support/s3-server.js';
import { TcpRelay } from '../support/tcp-relay.js';
import { describeJob, query, readBooks } from './evidence.js';
import { expectBalanced, expectDocuments, expectSameUrls } from './exactness.js';
import { JobClient } from './job-client.js';
import { KnownSite } from './known-site.js';

const PAGES = 300;
/** More than a row takes, packed. */
const NOISE_LINES = 320;
const SLOW_MS = 250;
const FAST_MS = 3;
const PATIENCE_MS = 120_000;
const AWAY_MS = 4_000;
const SILENT_MS = 3_000;
/** Beyond the life of a job and of its results. */
const LATER_MS = 100 * 3_600_000;

const s3 = await S3Server.start();
const suite = s3 === null ? describe.skip : describe;

let bucket: string;
let relay: TcpRelay;
let site: KnownSite;
let cluster: TestCluster;
let crawls: JobClient;

const say = (text: string): void => void process.stderr.write(`    ${text}\n`);

/** Kills a process and returns the way to wait for its successor. */
async function kill(name: string): Promise<() => Promise<void>> {
  const pid = await cluster.signal(name, 'SIGKILL');
  return () => cluster.waitForRestart(name, pid, 60_000);
}

async function untilPages(id: string, pages: number): Promise<void> {
  for (const deadline = performance.now() + PATIENCE_MS; ; await sleep(100)) {
    const [row] = await query<{ pages: number }>(
      cluster,
      'SELECT count(*)::int AS pages FROM page JOIN job_id i USING (job_no) WHERE i.id = $1',
      [id],
    );
    if (row!.pages >= pages) return;
    if (performance.now() > deadline)
      throw new Error(`${row!.pages} of ${pages} pages\n${await describeJob(cluster, id)}`);
  }
}

function openStore() {
  return openBlobs({
    blobStore: 's3',
    troupeDataDir: '/nowhere',
    s3Bucket: bucket,
    s3Endpoint: s3!.url,
    s3Region: 'us-east-1',
    s3AccessKeyId: S3_KEYS.accessKeyId,
    s3SecretAccessKey: S3_KEYS.secretAccessKey,
    s3Prefix: 'troupe/',
  });
}

suite('a cluster that keeps its results in a bucket', () => {
  beforeAll(async () => {
    bucket = await s3!.newBucket();
    relay = await TcpRelay.start(s3!.port);
    site = await KnownSite.start({ pages: PAGES, noiseLines: NOISE_LINES, latencyMs: SLOW_MS });
    cluster = await startCluster({
      args: ['--schedulers', '2', '--fetchers', '2'],
      env: {
        BLOB_STORE: 's3',
        S3_ENDPOINT: relay.url,
        S3_BUCKET: bucket,
        S3_ACCESS_KEY_ID: S3_KEYS.accessKeyId,
        S3_SECRET_ACCESS_KEY: S3_KEYS.secretAccessKey,
        S3_PREFIX: 'troupe/',
        HOST_GAP_MS: '0',
        HOST_MAX_CONN: '16',
        TEAM_CONCURRENCY: '50',
        ALLOW_PRIVATE_TARGETS: '127.0.0.1',
        LOG_FORMAT: 'json',
      },
    });
    crawls = new JobClient(cluster);
  }, 240_000);

  afterAll(async () => {
    await cluster?.stop();
    await site?.stop();
    await relay?.cut();
    s3?.stop();
  }, 90_000);

  it(
    'finishes a crawl exactly, although services die, and the bucket goes away and stands still',
    async () => {
      const startedAt = performance.now();
      const time = () => `${Math.round(performance.now() - startedAt)} ms`;
      const id = await crawls.start({
        url: site.startUrl('bucket'),
        limit: 10_000,
        scrapeOptions: { formats: ['markdown'], timeout: 5_000 },
      });
      await untilPages(id, 30);
      const returns = [await kill('fetcher'), await kill('scheduler')];
      await sleep(1_000);

      await relay.cut();
      say(`the bucket is away, ${time()}`);
      returns.push(await kill('fetcher-2'));
      await sleep(AWAY_MS);
      await relay.mend();
      say(`it is back, ${time()}`);
      const { pages: during } = await readBooks(cluster, id);
      await untilPages(id, during + 30);

      s3!.signal('SIGSTOP');
      returns.push(await kill('gateway'));
      await sleep(SILENT_MS);
      s3!.signal('SIGCONT');
      const { status } = await crawls.status(id);
      expect(status).toBe('scraping');
      site.latencyMs = FAST_MS;
      await Promise.all(returns.map((wait) => wait()));
      await crawls.end(id, PATIENCE_MS);
      say(`over, ${time()}`);

      const expected = site.expected('bucket');
      const books = await readBooks(cluster, id);
      expectSameUrls(books.finalUrls, expected);
      expectBalanced(books, expected.size);
      expectDocuments(site, await crawls.documents(id), expected);
      say(`${expected.size} pages, ${site.repeats('bucket')} requests again`);
    },
    PATIENCE_MS + 60_000,
  );

  it('keeps no result but in the bucket, and names nothing that is not there', async () => {
    const rows = await query<{ blob: string | null }>(cluster, 'SELECT blob FROM page');
    expect(rows.length).toBeGreaterThanOrEqual(PAGES);
    expect(rows.filter(({ blob }) => blob === null)).toEqual([]);
    const objects = new Set(await s3!.objects(bucket));
    const named = new Set(rows.map(({ blob }) => `troupe/${parseBlobKey(blob!)?.blob}`));
    say(`${rows.length} pages in ${named.size} objects of ${objects.size}`);
    expect([...named].filter((key) => !objects.has(key))).toEqual([]);
  });

  it('leaves no object behind when the time of its results is over', async () => {
    const pool = new pg.Pool({ connectionString: (await cluster.record()).postgres, max: 1 });
    const blobs = await openStore();
    const troubles: unknown[] = [];
    const rounds = new HousekeepingRounds(new Housekeeping(pool), blobs.results, { partitions: [0] }, {
      info: () => undefined,
      warn: (...what: unknown[]) => void troubles.push(what),
    } as never);
    const before = await s3!.objects(bucket);
    expect(before.length).toBeGreaterThan(0);
    await rounds.round(new Date());
    expect(await s3!.objects(bucket)).toEqual(before);
    await rounds.round(new Date(Date.now() + LATER_MS));
    expect(troubles).toEqual([]);
    expect(await s3!.objects(bucket)).toEqual([]);
    blobs.close();
    await pool.end();
  }, 60_000);
});
