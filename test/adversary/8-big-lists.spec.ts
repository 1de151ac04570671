/**
 * A job with very many URLs that robots.txt forbids: its lists are read page by page, each URL once, no page is large, and eight
 * who read them without a pause take nothing from those who ask for another job.
 *
 * `TROUPE_TEST_BLOCKED=2000000` tries it with more of them.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { query } from '../chaos/evidence.js';
import { KnownSite } from '../chaos/known-site.js';
import { ApiClient, type Answer } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';

const BLOCKED = Number(process.env['TROUPE_TEST_BLOCKED'] ?? 200_000);
const FAILED = 1_500;
const MAX_ROWS = 1_000;
const MAX_BYTES = 10 * 1024 * 1024;
const READERS = 8;
const SAMPLES = 200;
const HARD_LIMIT_MS = 60_000 + BLOCKED / 10;

let cluster: TestCluster;
let site: KnownSite;
let api: ApiClient;
let big: string;
let other: string;

beforeAll(
  async () => {
    site = await KnownSite.start({ pages: 1, islands: 0, latencyMs: 1 });
    cluster = await startCluster({
      env: { ALLOW_PRIVATE_TARGETS: '127.0.0.1', FETCHER_CLASSES: 'http', LOG_FORMAT: 'json' },
    });
    api = new ApiClient(cluster.url, cluster.apiKey);
    [big, other] = [await batch(1), await batch(20)];
    await plant(big);
  },
  180_000 + BLOCKED / 10,
);
afterAll(async () => {
  await cluster?.stop();
  await site?.stop();
}, 60_000);

async function batch(pages: number): Promise<string> {
  const urls = Array.from({ length: pages }, (_, i) => site.leaf('list', i));
  const { body, text } = await api.post('/v2/batch/scrape', { urls, formats: ['markdown'] });
  if (typeof body['id'] !== 'string') throw new Error(text);
  await api.finished(`/v2/batch/scrape/${body['id']}`);
  return body['id'];
}

/** What a crawl of a site with long sitemaps of forbidden URLs leaves behind. */
async function plant(job: string): Promise<void> {
  const [row] = await query<{ job_no: string }>(cluster, 'SELECT job_no FROM job_id WHERE id = $1', [job]);
  await query(
    cluster,
    `INSERT INTO url_outcome (job_no, item, url, parent_item, depth, outcome, attempts, at)
     SELECT $1, 1000000 + n, 'https://forbidden.example/private/catalogue/of/things/' || n || '?page=' || n % 10, 1, 1, 'robots', 1,
       now() + n / 100 * interval '1 millisecond'
     FROM generate_series(1, $2::int) n`,
    [row!.job_no, BLOCKED],
  );
  await query(
    cluster,
    `INSERT INTO job_error (job_no, id, at, url, code, message)
     SELECT $1, gen_random_uuid(), now(), 'https://forbidden.example/failed/' || n, 'SCRAPE_TIMEOUT', 'too slow'
     FROM generate_series(1, $2::int) n`,
    [row!.job_no, FAILED],
  );
  await query(cluster, 'ANALYZE url_outcome');
}

interface Reading {
  urls: string[];
  failed: string[];
  first: Answer;
  times: number[];
  largest: number;
}

/** The whole list, page after page. */
async function readAll(path: string, method = 'GET'): Promise<Reading> {
  const reading: Reading = { urls: [], failed: [], first: undefined as never, times: [], largest: 0 };
  for (let at: string | undefined = path; at !== undefined;) {
    const answer: Answer = await api.call(at, { method });
    if (answer.status !== 200) throw new Error(`${at}: ${answer.text}`);
    reading.first ??= answer;
    const body = answer.body as { urls?: { url: string }[]; robotsBlocked?: string[]; errors?: { url: string }[] };
    const urls = body.robotsBlocked ?? body.urls!.map(({ url }) => url);
    const failed = body.errors?.map(({ url }) => url) ?? [];
    expect(urls.length + failed.length).toBeLessThanOrEqual(MAX_ROWS);
    reading.urls.push(...urls);
    reading.failed.push(...failed);
    reading.times.push(answer.ms);
    reading.largest = Math.max(reading.largest, Buffer.byteLength(answer.text));
    at = answer.body['next'] as string | undefined;
  }
  return reading;
}

function quantile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
}

function told(what: string, times: readonly number[], more = ''): void {
  const [half, most, all] = [0.5, 0.99, 1].map((share) => quantile(times, share).toFixed(1));
  console.info(`${what}: ${times.length} calls, p50 ${half}, p99 ${most}, max ${all} ms${more}`);
}

async function timesOfOther(): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < SAMPLES; n++) {
    const { status, ms } = await api.call(`/v2/crawl/${other}`);
    expect(status).toBe(200);
    times.push(ms);
  }
  return times;
}

describe(`a job with ${BLOCKED} blocked URLs`, () => {
  it(
    'tells every URL once by its errors and by its ledger, in small pages',
    async () => {
      const errors = await readAll(`/v2/crawl/${big}/errors`);
      told('errors', errors.times, `, largest page ${errors.largest} bytes`);
      expect(errors.urls.length).toBe(BLOCKED);
      expect(new Set(errors.urls).size).toBe(BLOCKED);
      expect(new Set(errors.failed).size).toBe(FAILED);
      expect(errors.failed.length).toBe(FAILED);
      // Who knows nothing of pages finds some of both.
      const first = errors.first.body as { errors: unknown[]; robotsBlocked: unknown[] };
      expect([first.errors.length, first.robotsBlocked.length]).toEqual([500, 500]);

      const ledger = await readAll(`/v2/crawl/${big}/ledger?limit=1000`);
      told('ledger', ledger.times, `, largest page ${ledger.largest} bytes`);
      expect(ledger.urls.length).toBe(BLOCKED + 1);
      expect(new Set(ledger.urls).size).toBe(BLOCKED + 1);
      expect(ledger.first.body).toMatchObject({ counts: { ok: 1, robots: BLOCKED }, discovered: BLOCKED + 1 });

      for (const { largest, times } of [errors, ledger]) {
        expect(largest).toBeLessThanOrEqual(MAX_BYTES);
        expect(quantile(times, 0.5)).toBeLessThan(200);
      }
    },
    HARD_LIMIT_MS,
  );

  it('answers v1 in the same way, and by DELETE too, on its own path', async () => {
    for (const method of ['GET', 'DELETE']) {
      const { body } = await api.call(`/v1/crawl/${big}/errors?limit=10`, { method });
      expect((body['errors'] as unknown[]).length + (body['robotsBlocked'] as unknown[]).length).toBe(10);
      expect(body['next']).toContain(`/v1/crawl/${big}/errors?after=`);
    }
  });

  it('filters by outcome as fast, and refuses to pass over too many rows', async () => {
    const filtered = await api.call(`/v2/crawl/${big}/ledger?outcome=robots&limit=1000`);
    const next = await api.call(filtered.body['next'] as string);
    const urls = [filtered, next].flatMap(({ body }) => (body['urls'] as { url: string }[]).map(({ url }) => url));
    expect(new Set(urls).size).toBe(2_000);
    expect(next.body['next']).toContain('outcome=robots');
    for (const list of ['ledger', 'errors']) {
      const far = await api.call(`/v2/crawl/${big}/${list}?skip=10000&limit=1`);
      expect(far.status).toBe(200);
      const tooFar = await api.call(`/v2/crawl/${big}/${list}?skip=10001`);
      expect([tooFar.status, tooFar.body['code']]).toEqual([400, 'BAD_REQUEST']);
      expect(tooFar.body['error']).toContain('next');
      expect((await api.call(`/v2/crawl/${big}/${list}?after=nonsense`)).status).toBe(400);
    }
  });

  it('moves nobody else when eight read its lists without a pause', async () => {
    await timesOfOther();
    const alone = await timesOfOther();
    let isOver = false;
    const statuses: Record<number, number> = {};
    const readers = Array.from({ length: READERS }, async (_, n) => {
      for (let at = n % 2 === 0 ? `/v2/crawl/${big}/errors` : `/v2/crawl/${big}/ledger?limit=1000`; !isOver;) {
        const answer = await api.call(at);
        statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
        if (answer.status === 503) {
          expect(answer.body['code']).toBe('SERVER_BUSY');
          expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
        }
        at = (answer.body['next'] as string | undefined) ?? at;
      }
    });
    const beside = await timesOfOther();
    isOver = true;
    await Promise.all(readers);
    told('another job, alone', alone);
    told('another job, beside eight readers', beside, ` (answers to them: ${JSON.stringify(statuses)})`);
    expect(Object.keys(statuses).filter((status) => status !== '200' && status !== '503')).toEqual([]);
    expect(statuses[200]).toBeGreaterThan(READERS);
    expect(quantile(beside, 0.99)).toBeLessThan(Math.max(800, 5 * quantile(alone, 0.99)));
  }, 60_000);
});
