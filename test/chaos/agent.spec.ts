/** An extractor that dies in the middle of a run costs time: no step that is recorded is made again, or paid for again. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSite, type Site } from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import {
  blocksOf,
  modelEnv,
  startModelServer,
  type BrainRequest,
  type ModelServer,
} from '../support/model-server/index.js';

const SETUP_TIMEOUT_MS = 120_000;
/** The queue gives the task of a dead extractor to another after a minute. */
const PATIENCE_MS = 180_000;
const USAGE = { prompt: 300, answer: 30 };
const CREDITS = 3 * 22 + 2;

let site: Site;
let model: ModelServer;
let cluster: TestCluster;
let api: ApiClient;

/** Number of the step that is asked for. */
const stepOf = ({ messages }: Pick<BrainRequest, 'messages'>) =>
  (blocksOf(messages)
    .find(({ label }) => label === 'steps so far')
    ?.text.split('\n').length ?? 0) + 1;
const askedFor = (step: number) => model.requests.filter((request) => stepOf(request) === step);

beforeAll(async () => {
  site = await startSite((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Ada</p>'));
  model = await startModelServer({
    brain: (request) => {
      const step = stepOf(request);
      if (step === 3) return { toolCalls: [{ name: 'answer', arguments: { founder: 'Ada' } }], usage: USAGE };
      const delayMs = step === 2 && askedFor(2).length === 1 ? 60_000 : 0;
      return { toolCalls: [{ name: 'scrape', arguments: { url: `${site.origin}/${step}` } }], usage: USAGE, delayMs };
    },
  });
  const env = { ...modelEnv(model), ALLOW_PRIVATE_TARGETS: `127.0.0.1:${site.port}`, HOST_GAP_MS: '0' };
  cluster = await startCluster({ env });
  api = new ApiClient(cluster.url, cluster.apiKey);
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await cluster?.stop();
  await model?.close();
  await site?.close();
}, SETUP_TIMEOUT_MS);

it(
  'a killed extractor repeats no step of an agent',
  async () => {
    const { body } = await api.post('/v2/agent', { prompt: 'founder' });
    const path = `/v2/agent/${body.id as string}`;
    const until = Date.now() + PATIENCE_MS;
    while (askedFor(2).length === 0 && Date.now() < until) await sleep(50);
    const pid = await cluster.signal('extractor', 'SIGKILL');
    await cluster.waitForRestart('extractor', pid);
    let status = (await api.call(path)).body;
    for (; status.status === 'processing' && Date.now() < until; status = (await api.call(path)).body) await sleep(500);
    expect(status).toMatchObject({ status: 'completed', data: { founder: 'Ada' }, creditsUsed: CREDITS });
    expect([1, 2, 3].map((step) => askedFor(step).length)).toEqual([1, 2, 1]);
    expect(site.log).toEqual(['GET /1', 'GET /2']);
  },
  PATIENCE_MS + 30_000,
);
