/**
 * No wish is too large to be refused and no job is without an end: what is too large answers 400, the largest that is taken
 * runs, commands do not wait for each other, and a job that nobody works on is started again or fails.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import { randomBytes, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { actorKey, actorSubject } from '@troupe/contracts';
import { query } from '../chaos/evidence.js';
import { WebhookReceiver } from '../e2e/webhook-receiver.fixture.js';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';

const LOST_AFTER_MS = 2_000;
/** Commands are sent again after ten seconds, looked for each five. */
const RECOVERY_MS = 40_000;
const MOST_BYTES = 512 * 1024;

interface Status {
  status: string;
  completed: number;
  error?: string;
}
interface Planted {
  id: string;
  /** The job's start, as a gateway records it. */
  envelope: Record<string, unknown> & { body: { spec: Record<string, unknown> & { scope: Record<string, unknown> } } };
}

let cluster: TestCluster;
let api: ApiClient;
let server: Server;
let origin: string;
let receiver: WebhookReceiver;
/** A start as the gateway of today writes it. */
let pattern: { envelope: string; team: string };

beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.url === '/robots.txt') return void response.writeHead(404).end();
    const links = [1, 2, 3].map((n) => `<a href="/${n}">${n}</a>`).join(' ');
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<title>x</title><main><p>A page.</p>${links}</main>`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  receiver = await WebhookReceiver.start();
  cluster = await startCluster({
    env: {
      ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
      ALLOW_PRIVATE_WEBHOOKS: '127.0.0.1',
      HOST_GAP_MS: '0',
      FETCHER_CLASSES: 'http',
      JOB_LOST_AFTER_MS: String(LOST_AFTER_MS),
    },
  });
  api = new ApiClient(cluster.url, cluster.apiKey);
  const { body } = await api.post('/v2/crawl', { url: origin, limit: 3, sitemap: 'skip' });
  await api.finished(`/v2/crawl/${body.id as string}`);
  const [row] = await query<{ envelope: string; team: string }>(
    cluster,
    `SELECT convert_from(s.envelope, 'UTF8') AS envelope, j.team_id AS team FROM job_start s JOIN job j USING (job_no) WHERE j.id = $1`,
    [body.id],
  );
  pattern = row!;
}, 180_000);

afterAll(async () => {
  await cluster?.stop();
  await receiver?.down();
  server?.closeAllConnections();
  server?.close();
}, 60_000);

const ended = (id: string, withinMs: number) => api.finished<Status>(`/v2/crawl/${id}`, withinMs);

/** A job's row without anything else. */
async function plant(age = '0 seconds'): Promise<Planted> {
  const id = randomUUID();
  const [{ no } = { no: '' }] = await query<{ no: string }>(
    cluster,
    `WITH n AS (SELECT ((((extract(epoch FROM now())::bigint / 86400) - 19723) << 40) | nextval('job_sequence')) AS no),
       i AS (INSERT INTO job_id (id, job_no, team_id, kind, expires_at) SELECT $1, no, $2, 'crawl', now() + interval '1 day' FROM n)
     INSERT INTO job (job_no, id, team_id, kind, status, created_at, expires_at, options, total, completed, credits, zdr, shards)
     SELECT no, $1, $2, 'crawl', 'scraping', now() - $3::interval, now() + interval '1 day', '{}', 0, 0, 0, false, 1 FROM n
     RETURNING job_no::text AS no`,
    [id, pattern.team, age],
  );
  const envelope = JSON.parse(pattern.envelope) as Planted['envelope'];
  Object.assign(envelope, { id: `start.${id}`, to: actorKey('crawl', id) });
  Object.assign(envelope.body, { job: id, jobNo: no, createdMs: Date.now() });
  return { id, envelope };
}

/** As a gateway leaves it that dies before it is published. */
async function plantCommand({ id, envelope }: Planted, body = JSON.stringify(envelope)): Promise<void> {
  await query(
    cluster,
    `INSERT INTO cmd_outbox (id, subject, body, created_at) VALUES ($1, $2, convert_to($3, 'UTF8'), now() - interval '1 minute')`,
    [id, actorSubject(actorKey('crawl', id)), body],
  );
}

/** A job that counts as lost, and what it was started with. */
async function plantLost(): Promise<Planted> {
  const job = await plant();
  const { jobNo } = job.envelope.body as unknown as { jobNo: string };
  const envelope = JSON.stringify(job.envelope);
  await query(cluster, `INSERT INTO job_start (job_no, envelope) VALUES ($1, convert_to($2, 'UTF8'))`, [
    jobNo,
    envelope,
  ]);
  await query(cluster, `UPDATE job SET created_at = now() - interval '1 minute' WHERE job_no = $1`, [jobNo]);
  return job;
}

const commands = (id: string) => query(cluster, 'SELECT id FROM cmd_outbox WHERE id = $1', [id]);

/** Class names that hardly compress, so that the whole has this many bytes. */
function tagsOf(bytes: number): string[] {
  return Array.from({ length: 900 }, () => `.x${randomBytes(bytes).toString('hex')}`);
}

describe('wishes beyond what a job may carry', () => {
  it.each<[string, string, object, (string | number)[], RegExp]>([
    [
      '1,000 long patterns',
      '/v2/crawl',
      { includePaths: Array(1_000).fill('x'.repeat(1_000)) },
      ['includePaths'],
      /1000000 bytes, at most 200000/,
    ],
    ['1,001 patterns', '/v2/crawl', { excludePaths: Array(1_001).fill('x') }, ['excludePaths'], /1000/],
    ['many headers', '/v2/scrape', { headers: { a: 'x'.repeat(20_000) } }, ['headers'], /20001 bytes, at most 16384/],
    [
      'much of everything',
      '/v2/crawl',
      { scrapeOptions: { excludeTags: tagsOf(400) } },
      [],
      /bytes with all its options, at most 524288/,
    ],
  ])('answer 400 with the place and the number: %s', async (_, path, options, place, number) => {
    const answer = await api.post(path, { url: origin, ...options });
    expect(answer.status).toBe(400);
    expect(answer.body.details).toMatchObject([{ path: place }]);
    expect(answer.text).toMatch(number);
  });

  it.each([
    ['/v2/crawl', 'scrapeOptions'],
    ['/v2/batch/scrape', null],
    ['/v2/scrape', null],
  ])('answer 400 with the number: 50 scripts of 100 KB to %s', async (path, under) => {
    const actions = Array.from({ length: 50 }, () => ({ type: 'executeJavascript', script: '1;'.repeat(50_000) }));
    const options = under === null ? { actions } : { [under]: { actions } };
    const answer = await api.post(
      path,
      path.includes('batch') ? { urls: [origin], ...options } : { url: origin, ...options },
    );
    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(/scripts take 5000000 bytes together, at most 262144/);
    expect(answer.body.details).toMatchObject([{ path: under === null ? ['actions'] : [under, 'actions'] }]);
  });

  it('answer 413 when not even the body is read', async () => {
    const answer = await api.post('/v2/crawl', { url: origin, excludePaths: Array(200).fill('x'.repeat(60_000)) });
    expect(answer.status).toBe(413);
  });

  it('of 70 patterns with 1,990 characters are refused', async () => {
    const includePaths = Array.from({ length: 70 }, (_, i) => `${i}`.padEnd(1_990, 'x'));
    expect((await api.post('/v2/crawl', { url: origin, includePaths })).status).toBe(400);
  });
});

describe('the largest wishes that are taken', () => {
  const excludeTags = tagsOf(278);
  const excludePaths = Array.from({ length: 9 }, (_, i) => `^/${i}x`.padEnd(1_900, 'y'));

  it('start, run and end as a crawl, whose state and lanes carry them', async () => {
    const answer = await api.post('/v2/crawl', {
      url: origin,
      limit: 4,
      sitemap: 'skip',
      excludePaths,
      scrapeOptions: { excludeTags: excludeTags.slice(0, 870), headers: { 'x-a': 'x'.repeat(16_000) } },
    });
    expect(answer.text).toContain('"success":true');
    const { id } = answer.body as { id: string };
    expect(await ended(id, 60_000)).toMatchObject({ status: 'completed', completed: 4 });
    const sql = `SELECT length(envelope) AS bytes FROM job_start s JOIN job j USING (job_no) WHERE j.id = $1`;
    const [{ bytes } = { bytes: 0 }] = await query<{ bytes: number }>(cluster, sql, [id]);
    expect(bytes).toBeGreaterThan(0.95 * MOST_BYTES);
    expect(await commands(id)).toEqual([]);
  }, 90_000);

  it('start, run and end as a batch', async () => {
    const urls = [1, 2, 3].map((n) => `${origin}/${n}`);
    const answer = await api.post('/v2/batch/scrape', { urls, excludeTags });
    expect(answer.status).toBe(200);
    const status = await api.finished<Status>(`/v2/batch/scrape/${answer.body.id as string}`, 60_000);
    expect(status).toMatchObject({ status: 'completed', completed: 3 });
  }, 90_000);

  it('end within ten seconds when they are cancelled', async () => {
    const answer = await api.post('/v2/crawl', { url: origin, delay: 5, excludePaths, scrapeOptions: { excludeTags } });
    const { id } = answer.body as { id: string };
    await sleep(1_000);
    const startedAt = performance.now();
    expect((await api.call(`/v2/crawl/${id}`, { method: 'DELETE' })).status).toBe(200);
    expect(await ended(id, 10_000)).toMatchObject({ status: 'cancelled' });
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  }, 60_000);
});

describe('a command', () => {
  it('that can never be published holds up no other, and its job fails', async () => {
    const large = await plant();
    await plantCommand(
      large,
      JSON.stringify({ ...large.envelope, body: { x: randomBytes(597_000).toString('base64') } }),
    );
    const garbled = await plant();
    await plantCommand(garbled, '{"not": json');
    const others = [await plant(), await plant()];
    for (const other of others) await plantCommand(other);
    for (const { id } of others)
      expect(await ended(id, RECOVERY_MS)).toMatchObject({ status: 'completed', completed: 3 });
    expect(await ended(large.id, RECOVERY_MS)).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/could not be started: A Start of \d+ bytes/),
    });
    expect(await ended(garbled.id, RECOVERY_MS)).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('cannot be read'),
    });
    expect(await Promise.all([large, garbled].map(({ id }) => commands(id)))).toEqual([[], []]);
  }, 120_000);

  it('with wishes that are too large fails its job, and who listens is told', async () => {
    const job = await plant();
    job.envelope.body.spec.scope.includePaths = Array(1_001).fill('x');
    job.envelope.body.spec.webhook = {
      url: receiver.url('/told'),
      headers: {},
      metadata: '{}',
      events: ['started', 'failed', 'completed'],
    };
    await plantCommand(job);
    expect(await ended(job.id, RECOVERY_MS)).toMatchObject({
      status: 'failed',
      error: 'SPEC_TOO_LARGE: 1001 patterns, at most 1000 are allowed',
    });
    const told = await receiver.until('/told', ({ length }) => length === 2);
    expect(told.map(({ event }) => event.type)).toEqual(['crawl.started', 'crawl.failed']);
  }, 90_000);
});

describe('a job that has neither an actor nor a command', () => {
  it('is started again, and ends', async () => {
    const job = await plantLost();
    expect(await ended(job.id, RECOVERY_MS)).toMatchObject({ status: 'completed', completed: 3 });
  }, 60_000);

  it('fails after the third time', async () => {
    const job = await plantLost();
    let starts = 0;
    for (const until = performance.now() + 30_000; performance.now() < until;) {
      starts += (await query(cluster, 'DELETE FROM cmd_outbox WHERE id = $1 RETURNING id', [job.id])).length;
      const { body } = await api.call(`/v2/crawl/${job.id}`);
      if (body.status === 'failed') break;
      await sleep(50);
    }
    expect(starts).toBe(2);
    expect(await ended(job.id, 1_000)).toMatchObject({ status: 'failed', error: 'The job could not be started' });
  }, 60_000);

  it('fails at once when nobody knows what it was started with', async () => {
    const job = await plant('1 minute');
    expect(await ended(job.id, 10_000)).toMatchObject({ status: 'failed', error: 'The job could not be started' });
  }, 30_000);
});
