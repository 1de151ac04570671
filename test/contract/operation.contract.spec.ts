/**
 * Rows of docs/api/errors.md whose cause is the operator's or the machine's: no credits, blocked hosts, too many requests,
 * expired jobs, and a database that is away. Always on a cluster of its own.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startSite, type Site } from '@troupe/testing';
import { ApiClient, type Answer } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';

const ADMIN_KEY = 'operator-0123456789abcdef';
const TIMEOUT_MS = 120_000;
/** What a change of the operator's may take until every process knows it. */
const KNOWN_BY_MS = 30_000;
const VERSIONS = ['v1', 'v2'] as const;
const BLOCKED = 'http://blocked.example/';

let site: Site;
let cluster: TestCluster;
let admin: ApiClient;
/** Of a team that may ask often. */
let api: ApiClient;
let database: string;

beforeAll(async () => {
  site = await startSite((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<main><h1>Page</h1><p>Words.</p></main>'),
  );
  const env = { ADMIN_KEY, ALLOW_PRIVATE_TARGETS: '127.0.0.1', BILLING: 'on', RATE_LIMITS: 'on', HOST_GAP_MS: '0' };
  cluster = await startCluster({ env });
  database = (await cluster.record()).postgres;
  admin = new ApiClient(cluster.url, ADMIN_KEY);
  api = await teamWith({ flags: { rateLimits: { crawl: 10_000, scrape: 10_000, map: 10_000 } } });
}, TIMEOUT_MS);
afterAll(async () => {
  await cluster?.stop();
  await site?.close();
}, TIMEOUT_MS);

async function teamWith(settings: object): Promise<ApiClient> {
  const { body } = await admin.post('/admin/teams', { name: `team ${randomUUID()}`, ...settings });
  const made = await admin.post(`/admin/teams/${(body.team as { id: string }).id}/keys`, { name: 'only' });
  return new ApiClient(cluster.url, made.body.key as string);
}

async function query(sql: string, values: unknown[]): Promise<{ status?: string }[]> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  return client.query<{ status?: string }>(sql, values).then(
    ({ rows }) => client.end().then(() => rows),
    (error: unknown) => client.end().then(() => Promise.reject(error as Error)),
  );
}

async function until(isTrue: () => Promise<boolean>, withinMs: number): Promise<void> {
  const startedMs = performance.now();
  while (!(await isTrue())) {
    if (performance.now() - startedMs > withinMs) throw new Error(`not within ${withinMs} ms`);
    await sleep(100);
  }
}

/** Every call that begins work. */
const submits = (version: string, url: string): [string, object][] => [
  [`/${version}/scrape`, { url }],
  [`/${version}/crawl`, { url }],
  [`/${version}/map`, { url }],
  [`/${version}/batch/scrape`, { urls: [url], ignoreInvalidURLs: false }],
];

describe.each(VERSIONS)('%s', (version) => {
  it('answers 402 without a code when the credits are used up', async () => {
    const poor = await teamWith({ creditsLimit: 0 });
    for (const [path, body] of submits(version, site.origin)) {
      const answer = await poor.post(path, body);
      expect([path, answer.status]).toEqual([path, 402]);
      expect(answer.body).toEqual({ success: false, error: expect.stringContaining('credits') });
    }
  });

  it(
    'answers 403 for a host on the blocklist',
    async () => {
      await admin.call('/admin/blocklist', { method: 'PUT', json: { hosts: ['blocked.example'] } });
      await until(async () => (await api.post(`/${version}/crawl`, { url: BLOCKED })).status === 403, KNOWN_BY_MS);
      for (const [path, body] of submits(version, BLOCKED)) {
        const answer = await api.post(path, body);
        expect([path, answer.status]).toEqual([path, 403]);
        expect(answer.body).toEqual({ success: false, code: 'UNSUPPORTED_SITE', error: expect.any(String) });
      }
    },
    TIMEOUT_MS,
  );

  it.each(['scrape', 'crawl', 'map'])(
    'answers 429 with Retry-After when a team asks too often to %s',
    async (group) => {
      const limited = await teamWith({ flags: { rateLimits: { [group]: 1 } } });
      const leftMs = 60_000 - (Date.now() % 60_000);
      // Requests are counted by the minutes of the clock.
      if (leftMs < 3_000) await sleep(leftMs + 100);
      expect((await limited.post(`/${version}/${group}`, {})).status).toBe(400);
      const { status, body, headers } = await limited.post(`/${version}/${group}`, { url: site.origin });
      expect(status).toBe(429);
      expect(body).toEqual({ success: false, error: expect.stringMatching(/^Rate limit exceeded/) });
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60);
    },
  );

  it('answers 404 `Job expired` to the owner of a job whose time is over, and knows it not for others', async () => {
    const other = await teamWith({});
    const jobs: [string, object][] = [
      [`/${version}/crawl`, { url: site.origin, limit: 1 }],
      [`/${version}/batch/scrape`, { urls: [site.origin] }],
    ];
    for (const [path, body] of jobs) {
      const id = (await api.post(path, body)).body.id as string;
      await until(
        async () => (await query('SELECT status FROM job WHERE id = $1', [id]))[0]?.status === 'completed',
        20_000,
      );
      await query(`UPDATE job SET expires_at = now() - interval '1 second' WHERE id = $1`, [id]);
      const answers: Answer[] = [
        await api.call(`${path}/${id}`),
        await api.call(`${path}/${id}?skip=0`),
        await api.call(`${path}/${id}/errors`),
      ];
      if (path.endsWith('crawl')) answers.push(await api.call(`${path}/${id}`, { method: 'DELETE' }));
      for (const answer of answers) {
        expect(answer.status).toBe(404);
        expect(answer.body).toEqual({ success: false, error: 'Job expired' });
      }
      expect((await other.call(`${path}/${id}`)).body).toEqual({ success: false, error: 'Job not found' });
    }
  });
});

describe('while the database is away', () => {
  const ID = '00000000-0000-4000-8000-000000000000';
  let pid: number;

  beforeAll(async () => {
    expect((await api.call('/v2/crawl/active')).status).toBe(200);
    // Else it would start the database again at once.
    cluster.launcher.kill('SIGSTOP');
    pid = await cluster.signal('postgres', 'SIGINT');
    await until(
      () =>
        query('SELECT 1', []).then(
          () => false,
          () => true,
        ),
      10_000,
    );
  }, TIMEOUT_MS);
  afterAll(() => void cluster.launcher.kill('SIGCONT'));

  const paths = VERSIONS.flatMap((version): [string, (() => object) | null][] => [
    [`/${version}/crawl`, () => ({ url: site.origin })],
    [`/${version}/batch/scrape`, () => ({ urls: [site.origin] })],
    [`/${version}/crawl/${ID}`, null],
    [`/${version}/crawl/active`, null],
    [`/${version}/batch/scrape/${ID}/errors`, null],
  ]);

  it.each(paths)('%s answers 503 and when to come back', async (path, body) => {
    const answer = body === null ? await api.call(path) : await api.post(path, body());
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(answer.body).toEqual({ success: false, code: 'UNKNOWN_ERROR', error: expect.any(String) });
    expect(answer.text).not.toMatch(/node_modules|\.js:\d|postgres|ECONN|127\.0\.0\.1/);
  });

  it('no key that is not known yet is called invalid', async () => {
    const stranger = new ApiClient(cluster.url, `fc-${randomUUID()}`);
    expect(await stranger.call('/v2/crawl/active')).toMatchObject({ status: 503, body: { code: 'UNKNOWN_ERROR' } });
  });

  it(
    'is over as soon as it is back, without a restart of the gateway',
    async () => {
      const gateway = (await cluster.processes()).find(({ name }) => name === 'gateway')!.pid;
      cluster.launcher.kill('SIGCONT');
      await cluster.waitForRestart('postgres', pid);
      await until(async () => (await api.call('/v2/crawl/active')).status === 200, 20_000);
      expect((await api.post('/v2/crawl', { url: site.origin, limit: 1 })).status).toBe(200);
      expect((await cluster.processes()).find(({ name }) => name === 'gateway')!.pid).toBe(gateway);
    },
    TIMEOUT_MS,
  );
});
