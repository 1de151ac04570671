/**
 * Postgres or NATS of one process falls silent: packets vanish, no connection ends, nobody is told. Others do its work within
 * 15 s, nothing is lost or done twice, and the process says what it misses and comes back by itself.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeJob, readBooks } from '../chaos/evidence.js';
import { expectBalanced, expectSameUrls } from '../chaos/exactness.js';
import { JobClient } from '../chaos/job-client.js';
import { KnownSite } from '../chaos/known-site.js';
import { closeWays, openWays, readinessOf, TroubledScheduler, type Ways } from '../chaos/troubled-scheduler.js';
import { openWatch } from '../e2e/watch-client.js';
import { WebhookReceiver } from '../e2e/webhook-receiver.fixture.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { startService, type ServiceProcess } from '../support/service-process.js';
import type { Silence } from '../support/tcp-relay.js';

const OWNED_MS = 15_000;
const ANSWERED_MS = 15_000;
const HEALED_MS = 10_000;
const PATIENCE_MS = 60_000;
const TEST_MS = 2 * PATIENCE_MS;
/** Slow enough that a crawl is still under way when its scheduler is taken for lost. */
const SLOW_MS = 1_000;
const FAST_MS = 3;
const ENV = {
  HOST_GAP_MS: '0',
  HOST_MAX_CONN: '8',
  TEAM_CONCURRENCY: '50',
  ALLOW_PRIVATE_TARGETS: '127.0.0.1',
  ALLOW_PRIVATE_WEBHOOKS: '127.0.0.1',
  LOG_FORMAT: 'json',
};

let cluster: TestCluster;
let site: KnownSite;
let scheduler: TroubledScheduler;
let crawls: JobClient;

const say = (text: string): void => void process.stderr.write(`    ${text}\n`);

beforeAll(async () => {
  site = await KnownSite.start({ pages: 120, islands: 10 });
  cluster = await startCluster({
    args: ['--schedulers', '0'],
    dataDir: process.env.CHAOS_DATA_DIR,
    env: { ...ENV, FETCHER_CLASSES: 'http' },
  });
  scheduler = await TroubledScheduler.start(cluster, ENV);
  crawls = new JobClient(cluster);
}, 180_000);

afterAll(async () => {
  await scheduler?.stop();
  await cluster?.stop();
  await site?.stop();
}, 90_000);

const wishOf = (folder: string) => ({
  url: site.startUrl(folder),
  limit: 10_000,
  scrapeOptions: { formats: ['markdown'] },
});

async function untilPages(id: string, pages: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (let { completed } = await crawls.status(id); completed < pages; { completed } = await crawls.status(id)) {
    if (performance.now() > deadline)
      throw new Error(`${completed} of ${pages} pages\n${await describeJob(cluster, id)}`);
    await sleep(100);
  }
}

async function expectExact(id: string, folder: string): Promise<void> {
  const expected = site.expected(folder);
  const books = await readBooks(cluster, id);
  expectSameUrls(books.finalUrls, expected);
  expectBalanced(books, expected.size);
  const documents = await crawls.documents(id);
  expectSameUrls(
    documents.map(({ metadata }) => metadata.url),
    expected,
  );
  say(`${folder}: ${expected.size} pages, ${site.repeats(folder)} requests again`);
}

/** What the process says of a server that is not there; at first, that there was no answer in time. */
const WHY = { postgres: /^Postgres has not answered for \d+ s$/, nats: /^NATS is not connected$/ };

async function untilItSays(server: keyof Ways, why: RegExp): Promise<{ httpStatus: number; reason: string }> {
  for (const deadline = performance.now() + OWNED_MS; ; await sleep(200)) {
    const { httpStatus, checks } = await readinessOf(scheduler.process);
    const reason = checks[server]?.error ?? '';
    if (why.test(reason) || performance.now() > deadline) return { httpStatus, reason };
  }
}

/** A crawl whose scheduler is cut off in its middle. */
async function crawlThrough(folder: string, server: keyof Ways, who: Silence): Promise<void> {
  site.latencyMs = SLOW_MS;
  const id = await scheduler.startHere(crawls, wishOf(folder));
  await untilPages(id, 10);
  const way = scheduler.ways[server];
  way.silent(who);
  const ownedMs = await scheduler.untilTakenOver();
  const { httpStatus, reason } = await untilItSays(server, WHY[server]);
  const { completed } = await crawls.status(id);
  site.latencyMs = FAST_MS;
  await crawls.end(id, PATIENCE_MS);
  await way.mend();
  const backMs = await scheduler.until((n) => n > 1, 'it does not come back');
  say(`${folder}: all taken over after ${ownedMs} ms, at ${completed} pages; back ${backMs} ms after the mend`);
  await expectExact(id, folder);
  expect(ownedMs).toBeLessThan(OWNED_MS);
  expect(httpStatus).toBe(503);
  expect(reason).toMatch(WHY[server]);
  await expect(readinessOf(scheduler.process)).resolves.toMatchObject({ httpStatus: 200 });
}

describe('a scheduler whose server says nothing', () => {
  it(
    '(Postgres, both ways) loses its partitions within 15 s, and its crawl ends exactly',
    async () => {
      await crawlThrough('postgres-both', 'postgres', 'both');
    },
    TEST_MS,
  );

  it(
    '(Postgres is not heard, and hears all) loses them, too, and commits nothing twice',
    async () => {
      await crawlThrough('postgres-mute', 'postgres', 'server');
    },
    TEST_MS,
  );

  it(
    '(NATS) loses them, too',
    async () => {
      await crawlThrough('nats-both', 'nats', 'both');
    },
    TEST_MS,
  );
});

describe('a gateway and a dispatcher whose Postgres says nothing', () => {
  let ways: Ways;
  let gateway: ServiceProcess;
  let dispatcher: ServiceProcess;
  let receiver: WebhookReceiver;

  beforeAll(async () => {
    const opened = await openWays(cluster);
    ways = opened.ways;
    const env = { ...ENV, ...opened.env };
    [gateway, dispatcher] = await Promise.all([
      startService(cluster, 'gateway', env),
      startService(cluster, 'dispatcher', env),
    ]);
    receiver = await WebhookReceiver.start();
  }, 60_000);

  afterAll(async () => {
    await ways?.postgres.mend();
    await Promise.all([gateway?.stop(), dispatcher?.stop()]);
    await receiver?.down();
    if (ways !== undefined) await closeWays(ways);
  }, 60_000);

  async function ask(method: string, path: string, body?: object) {
    const startedAt = performance.now();
    const response = await fetch(gateway.url + path, {
      method,
      headers: { authorization: `Bearer ${cluster.apiKey}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const answer = (await response.json()) as { code?: string; id?: string; status?: string };
    const retryAfterS = Number(response.headers.get('retry-after'));
    return { status: response.status, retryAfterS, answer, ms: Math.round(performance.now() - startedAt) };
  }

  it(
    'answer 503 within a bounded time, go on by themselves, and so do WebSockets and webhooks',
    async () => {
      site.latencyMs = SLOW_MS;
      const webhook = { url: receiver.url('/hook'), events: ['completed', 'page'] };
      const id = await crawls.start({ ...wishOf('gateway'), webhook });
      const watch = openWatch(`${gateway.url}/v2/crawl/${id}`, { authorization: `Bearer ${cluster.apiKey}` });
      await watch.opened;
      await untilPages(id, 10);

      ways.postgres.silent('both');
      const calls: [string, string, object?][] = [
        ['GET', `/v2/crawl/${id}`],
        ['POST', '/v2/crawl', wishOf('refused')],
        ['DELETE', `/v2/crawl/${id}`],
        ['GET', `/v2/crawl/${id}/errors`],
      ];
      const first = await Promise.all(calls.map((call) => ask(...call)));
      const second = await Promise.all(calls.map((call) => ask(...call)));
      say(
        `503 after ${first.map(({ ms }) => ms).join(', ')} ms, then after ${second.map(({ ms }) => ms).join(', ')} ms`,
      );
      expect(await readinessOf(gateway)).toMatchObject({ httpStatus: 503, checks: { postgres: { status: 'down' } } });
      site.latencyMs = FAST_MS;
      await crawls.end(id, PATIENCE_MS);
      await ways.postgres.mend();

      const mendedAt = performance.now();
      let healed = await ask('GET', `/v2/crawl/${id}`);
      while (healed.status !== 200 && performance.now() - mendedAt < PATIENCE_MS) {
        await sleep(200);
        healed = await ask('GET', `/v2/crawl/${id}`);
      }
      const healedMs = Math.round(performance.now() - mendedAt);
      const seen = await watch.ended;
      const expected = site.expected('gateway');
      await receiver.until(
        '/hook',
        (posts) => posts.some(({ event }) => event.type === 'crawl.completed'),
        PATIENCE_MS,
      );
      say(
        `healed ${healedMs} ms after the mend; ${seen.documents.length} pages by WebSocket, ${receiver.received.length} posts`,
      );

      for (const { status, retryAfterS, answer } of [...first, ...second]) {
        expect([status, answer.code]).toEqual([503, 'UNKNOWN_ERROR']);
        expect(retryAfterS).toBeGreaterThan(0);
      }
      expect(Math.max(...first.map(({ ms }) => ms))).toBeLessThan(ANSWERED_MS);
      expect(Math.max(...second.map(({ ms }) => ms))).toBeLessThan(1_000);
      expect(healedMs).toBeLessThan(HEALED_MS);
      expect(healed.answer.status).toBe('completed');
      expect([seen.code, seen.reason]).toEqual([1000, '{"type":"done"}']);
      const watched = (seen.catchup?.data ?? []).length + seen.documents.length;
      expect(watched).toBe(expected.size);
      const posted = receiver.received
        .filter(({ event }) => event.type === 'crawl.page')
        .map(({ event }) => event.webhookId);
      expect(new Set(posted).size).toBe(expected.size);
      await expectExact(id, 'gateway');
    },
    TEST_MS,
  );
});
