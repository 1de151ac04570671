/**
 * A tenant whose receiver never answers takes nothing from others: their webhooks arrive at once, the receiver sees five posts at
 * a time from all dispatchers together, and rests when it did not answer.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { KnownSite } from '../chaos/known-site.js';
import { WebhookReceiver } from '../e2e/webhook-receiver.fixture.js';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { startService, type ServiceProcess } from '../support/service-process.js';

const ADMIN_KEY = 'operator-of-webhooks-1';
const JOBS = 50;
const PER_HOST = 5;
/** The time that a receiver is given. */
const POST_MS = 10_000;

/** Takes every post and never answers. */
class Tarpit {
  /** `performance.now()` of each arrival. */
  readonly arrivals: number[] = [];
  peak = 0;
  private open = 0;
  private readonly server: Server = createServer((_request, response) => {
    this.arrivals.push(performance.now());
    this.peak = Math.max(this.peak, ++this.open);
    response.once('close', () => this.open--);
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/never`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

let cluster: TestCluster;
let site: KnownSite;
let receiver: WebhookReceiver;
const tarpit = new Tarpit();
const more: ServiceProcess[] = [];
const ENV = {
  ALLOW_PRIVATE_TARGETS: '127.0.0.1',
  ALLOW_PRIVATE_WEBHOOKS: '127.0.0.1',
  HOST_GAP_MS: '0',
  LOG_FORMAT: 'json',
};

beforeAll(async () => {
  site = await KnownSite.start({ pages: 1, islands: 0, latencyMs: 1 });
  receiver = await WebhookReceiver.start();
  cluster = await startCluster({ env: { ...ENV, ADMIN_KEY, FETCHER_CLASSES: 'http' } });
  for (let n = 0; n < 2; n++) more.push(await startService(cluster, 'dispatcher', ENV));
}, 180_000);
afterAll(async () => {
  await Promise.all(more.map((service) => service.stop()));
  await cluster?.stop();
  await Promise.all([site?.stop(), receiver?.down(), tarpit.stop()]);
}, 90_000);

async function newTeam(name: string): Promise<ApiClient> {
  const admin = new ApiClient(cluster.url, ADMIN_KEY);
  const { team } = (await admin.post('/admin/teams', { name })).body as { team: { id: string } };
  const { key } = (await admin.post(`/admin/teams/${team.id}/keys`, { name })).body as { key: string };
  return new ApiClient(cluster.url, key);
}

async function startBatch(team: ApiClient, webhook: string, pages: number): Promise<void> {
  const urls = Array.from({ length: pages }, (_, i) => site.leaf('w', i));
  const answer = await team.post('/v2/batch/scrape', { urls, formats: ['markdown'], webhook: { url: webhook } });
  if (answer.status !== 200) throw new Error(answer.text);
}

it('50 jobs to a tarpit delay no webhook of another team, and the tarpit sees five posts at a time from three dispatchers', async () => {
  const [greedy, modest] = [await newTeam('greedy'), await newTeam('modest')];
  const never = await tarpit.start();
  for (let n = 0; n < JOBS; n++) await startBatch(greedy, never, 3);
  for (let round = 0; round < 4; round++) {
    await sleep(4_000);
    const path = `/modest/${round}`;
    const startedAt = performance.now();
    await startBatch(modest, receiver.url(path), 1);
    await receiver.until(path, (requests) => requests.length > 0, 20_000);
    const toldMs = performance.now() - startedAt;
    process.stderr.write(
      `    another team was told after ${Math.round(toldMs)} ms, ${tarpit.peak} posts at once at most\n`,
    );
    expect(toldMs).toBeLessThan(5_000);
  }
  expect(tarpit.arrivals.length).toBeGreaterThanOrEqual(PER_HOST - 1);
  expect(tarpit.peak).toBeLessThanOrEqual(PER_HOST);

  // Whatever was under way when the fifth post failed has failed by now: from here on it is tried once a minute.
  const restsFrom = tarpit.arrivals[0]! + 2 * POST_MS + 2_000;
  await sleep(Math.max(0, restsFrom + 30_000 - performance.now()));
  expect(tarpit.arrivals.filter((at) => at > restsFrom).length).toBeLessThanOrEqual(1);
  expect(tarpit.peak).toBeLessThanOrEqual(PER_HOST);
}, 180_000);
