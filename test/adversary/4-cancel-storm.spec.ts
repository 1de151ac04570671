/** A job that is cancelled in the moment of its start, a cancel whose message is lost: what DELETE has taken in, it does. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startDns, type DnsServer } from '@troupe/testing';
import { query } from '../chaos/evidence.js';
import { ApiClient, type Answer } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { modelEnv, readingBrain, startModelServer, type ModelServer } from '../support/model-server/index.js';

const STORM = 500;
/** Of the storm, extract jobs and agents. */
const WITH_MODELS = 40;
/** One job in four is deleted so long after it was posted: it has just begun. */
const UNDER_WAY_MS = 250;
/** Clients that post and delete. */
const CLIENTS = 16;
const EFFECT_MS = 10_000;
/** Actors that are not answered forget what they held. */
const HANDED_BACK_MS = 45_000;
/** What was being sent to a fetcher when the last call was answered. */
const ON_THE_WAY_MS = 2_000;
const BUSY_PAGES = 10_000;
/** The sweep takes up what is 10 s old, each 5 s. */
const SWEPT_MS = 40_000;

interface Job {
  path: string;
  id: string;
  kind: string;
}

let cluster: TestCluster;
let api: ApiClient;
let server: Server;
let model: ModelServer;
let names: DnsServer;
let port: number;
/** `performance.now()` of each page request of the storm. */
const hits: number[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    const [, folder, n] = request.url!.split('/');
    if (folder === 'storm') hits.push(performance.now());
    if (request.url === '/robots.txt') return void response.writeHead(404).end();
    const links = Array.from({ length: 20 }, (_, i) => `<a href="/${folder}/${Number(n) * 20 + i + 1}">${i}</a>`);
    const page = `<title>x</title><main><p>A plain page.</p>${links.join('')}</main>`;
    const latencyMs = folder === 'storm' ? 300 : 20;
    setTimeout(() => response.writeHead(200, { 'content-type': 'text/html' }).end(page), latencyMs);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
  model = await startModelServer({ brain: (request) => ({ ...readingBrain(request), delayMs: 1_000 }) });
  names = await startDns(Object.fromEntries(Array.from({ length: HOSTS }, (_, i) => [nameOf(i), ['127.0.0.1']])));
  const policy = { HOST_GAP_MS: '0', TEAM_CONCURRENCY: '30' };
  const env = { ...modelEnv(model), ...policy, ALLOW_PRIVATE_TARGETS: '127.0.0.0/8', DNS_SERVERS: names.address };
  cluster = await startCluster({ env });
  api = new ApiClient(cluster.url, cluster.apiKey);
}, 180_000);

afterAll(async () => {
  await cluster?.stop();
  await model?.close();
  names?.close();
  server?.closeAllConnections();
  server?.close();
}, 60_000);

const HOSTS = 41;
const nameOf = (host: number): string => `h${host}.site.test`;
const pageAt = (host: number, folder: string, n: number): string => `http://${nameOf(host)}:${port}/${folder}/${n}`;

/** The n-th job of the storm: crawls and batches in turn, and some with a model. */
function orderOf(n: number): { path: string; kind: string; body: object } {
  const url = pageAt(10 + (n % 20), 'storm', n);
  if (n % Math.floor(STORM / WITH_MODELS) === 0) {
    const schema = { type: 'object', properties: { name: { type: 'string' } } };
    if (n % 2 === 0)
      return { path: '/v2/extract', kind: 'extract', body: { urls: [`${url}/*`], prompt: 'names', schema } };
    return { path: '/v2/agent', kind: 'agent', body: { prompt: 'names', urls: [url], schema } };
  }
  if (n % 2 === 0) return { path: '/v2/crawl', kind: 'crawl', body: { url, limit: 1_000, crawlEntireDomain: true } };
  // More than can be fetched before it is deleted: what has ended answers 409.
  const urls = Array.from({ length: 50 }, (_, i) => `${url}/${i}`);
  return { path: '/v2/batch/scrape', kind: 'batch', body: { urls } };
}

const del = (path: string): Promise<Answer> => api.call(path, { method: 'DELETE' });

async function postAndDelete(n: number): Promise<Job> {
  const { path, kind, body } = orderOf(n);
  const posted = await api.post(path, body);
  expect({ path, status: posted.status, text: posted.text }).toMatchObject({ path, status: 200 });
  const id = posted.body.id as string;
  if (n % 4 === 3) await sleep(UNDER_WAY_MS);
  const deleted = await del(`${path}/${id}`);
  expect({ path, status: deleted.status, text: deleted.text }).toMatchObject({ path, status: 200 });
  return { path, id, kind };
}

async function storm(): Promise<Job[]> {
  const jobs: Job[] = [];
  let next = 0;
  const client = async (): Promise<void> => {
    for (let n = next++; n < STORM; n = next++) jobs.push(await postAndDelete(n));
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return jobs;
}

/** How many of the jobs a client is told of under each status. */
async function statuses(jobs: readonly Job[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const queue = [...jobs];
  const client = async (): Promise<void> => {
    for (let job = queue.pop(); job !== undefined; job = queue.pop()) {
      const { body } = await api.call(`${job.path}/${job.id}`);
      counts[String(body.status)] = (counts[String(body.status)] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return counts;
}

const OPEN = `SELECT 'row' AS what, i.kind || '/' || i.id || ' of ' || coalesce(j.parent::text, 'nobody') AS which FROM job j JOIN job_id i USING (job_no)
    WHERE j.status = 'scraping' AND (i.id = ANY($1::uuid[]) OR j.parent = ANY($1::uuid[]))
  UNION ALL SELECT 'command', subject FROM cmd_outbox
  UNION ALL SELECT 'lane', l.job_no || '.' || l.lane FROM lane l JOIN job_id i USING (job_no) WHERE i.id = ANY($1::uuid[])
  UNION ALL SELECT 'actor', a.key || ' ' || left((a.state->'s' #- '{spec}')::text, 600) FROM actor a
    WHERE NOT a.terminal AND split_part(a.key, '/', 2) = ANY($1::text[]) AND a.kind IN ('crawl', 'batch', 'extract', 'agent')
      AND coalesce(a.state->'s'->>'phase', 'none') = ANY($2::text[])`;

/** Of an actor that may begin something. Others hand back what they held. */
const BUSY = ['none', 'idle', 'running'];
const ALL = [...BUSY, 'closing'];

/** What jobs still have, once nothing is left or the time is over. */
async function openEnds(jobs: readonly Job[], phases: string[], untilMs: number): Promise<object[]> {
  for (;;) {
    const open = await query(cluster, OPEN, [jobs.map(({ id }) => id), phases]);
    if (open.length === 0 || performance.now() > untilMs) return open;
    await sleep(200);
  }
}

async function untilStatus(path: string, status: string, withinMs: number): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    // While the gateway is away nothing is known.
    const answer = await api.call(path).catch(() => null);
    const elapsed = performance.now() - startedAt;
    if (answer?.body.status === status) return elapsed;
    if (elapsed > withinMs) throw new Error(`${path} is ${String(answer?.body.status)} after ${withinMs} ms`);
    await sleep(100);
  }
}

async function recorded(id: string): Promise<boolean> {
  const commands = await query(
    cluster,
    `SELECT 1 AS n FROM cmd_outbox WHERE convert_from(body, 'UTF8') LIKE '%"Cancel"%' AND convert_from(body, 'UTF8') LIKE '%' || $1 || '%'`,
    [id],
  );
  return commands.length > 0;
}

describe('jobs that are cancelled at once', () => {
  it('are all cancelled within 10 s, and nothing of them runs on, while the scheduler is busy', async () => {
    const urls = Array.from({ length: BUSY_PAGES }, (_, i) => pageAt(2 + (i % 4), 'busy', i));
    const busy = await api.post('/v2/batch/scrape', { urls, formats: ['markdown'] });
    expect(busy.status).toBe(200);
    await sleep(1_000);
    const startedAt = performance.now();
    const jobs = await storm();
    const deletedAt = performance.now();
    const open = await openEnds(jobs, BUSY, deletedAt + EFFECT_MS);
    const restedAt = performance.now();
    expect(open).toEqual([]);
    expect(await statuses(jobs)).toEqual({ cancelled: STORM });
    await sleep(ON_THE_WAY_MS);
    const late = hits.filter((at) => at > Math.max(restedAt, deletedAt) + ON_THE_WAY_MS / 2);
    process.stderr.write(
      `    ${STORM} jobs posted and deleted in ${Math.round(deletedAt - startedAt)} ms, at rest ${Math.round(restedAt - deletedAt)} ms later; ${hits.length} of their pages were asked for\n`,
    );
    expect(late).toEqual([]);
    expect(await openEnds(jobs, ALL, deletedAt + HANDED_BACK_MS)).toEqual([]);
    const { body } = await api.call(`/v2/batch/scrape/${busy.body.id as string}?limit=1`);
    expect(body).toMatchObject({ status: 'scraping' });
    expect((await del(`/v2/batch/scrape/${busy.body.id as string}`)).status).toBe(200);
  }, 180_000);
});

describe('a cancel of which only the record is left', () => {
  const body = (): object => ({ url: pageAt(40, 'lost', 1), limit: 1_000, delay: 1, crawlEntireDomain: true });

  it('takes effect when the gateway dies with its answer', async () => {
    const posted = await api.post('/v2/crawl', body());
    const path = `/v2/crawl/${posted.body.id as string}`;
    expect((await del(path)).status).toBe(200);
    const pid = await cluster.signal('gateway', 'SIGKILL');
    await cluster.waitForRestart('gateway', pid);
    await untilStatus(path, 'cancelled', EFFECT_MS);
  }, 60_000);

  it('takes effect when its message dies with the gateway: NATS is gone when it is recorded', async () => {
    const posted = await api.post('/v2/crawl', body());
    const id = posted.body.id as string;
    await sleep(1_500);
    const nats = await cluster.signal('nats-server', 'SIGKILL');
    const answer = del(`/v2/crawl/${id}`).catch(() => null);
    for (const until = performance.now() + 5_000; !(await recorded(id)) && performance.now() < until;) await sleep(5);
    expect(await recorded(id)).toBe(true);
    const gateway = await cluster.signal('gateway', 'SIGKILL');
    await answer;
    await Promise.all([
      cluster.waitForRestart('nats-server', nats),
      cluster.waitForRestart('gateway', gateway, 60_000),
    ]);
    const tookMs = await untilStatus(`/v2/crawl/${id}`, 'cancelled', SWEPT_MS);
    process.stderr.write(`    cancelled ${Math.round(tookMs)} ms after the gateway was back\n`);
    expect(await recorded(id)).toBe(false);
  }, 120_000);
});
