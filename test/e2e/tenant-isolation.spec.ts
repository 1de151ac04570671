/** Two teams on one cluster: what belongs to one does not exist for the other, whatever it asks (docs/api/README.md, "Ownership"). */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSite, type Site } from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { modelEnv, startModelServer, type BrainRequest, type ModelServer } from '../support/model-server/index.js';

/** What a team can own, by the id that names it. */
type Kind = 'crawl' | 'batch' | 'extract' | 'agent' | 'scrape' | 'page';

/** A call about something that has an id, `:id` in path or body. A new one gets a line here. */
interface OwnedCall {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  json?: unknown;
  headers?: Record<string, string>;
  /** Ids that make sense in this place; a path of jobs is asked for jobs of every kind. */
  kinds: readonly Kind[];
}

const ALL_JOBS = ['crawl', 'batch', 'extract', 'agent'] as const;
const PAGES = ['scrape', 'page'] as const;
const JOB_PATHS = ['/v1/crawl', '/v1/batch/scrape', '/v2/crawl', '/v2/batch/scrape'];
const OWN_PATHS = ['/v2/crawl', '/v2/batch/scrape'];

const CALLS: OwnedCall[] = [
  ...JOB_PATHS.flatMap((path): OwnedCall[] => [
    { method: 'GET', path: `${path}/:id`, kinds: ALL_JOBS },
    { method: 'GET', path: `${path}/:id?skip=1&limit=1`, kinds: ALL_JOBS },
    { method: 'GET', path: `${path}/:id/errors`, kinds: ALL_JOBS },
    { method: 'DELETE', path: `${path}/:id`, kinds: ALL_JOBS },
  ]),
  ...['/v1/crawl', '/v1/batch/scrape'].map((path): OwnedCall => ({
    method: 'DELETE',
    path: `${path}/:id/errors`,
    kinds: ALL_JOBS,
  })),
  ...OWN_PATHS.flatMap((path): OwnedCall[] => [
    { method: 'GET', path: `${path}/:id/ledger`, kinds: ALL_JOBS },
    { method: 'GET', path: `${path}/:id/hosts`, kinds: ALL_JOBS },
    { method: 'GET', path: `${path}/:id/deliveries`, kinds: ALL_JOBS },
    { method: 'POST', path: `${path}/:id/deliveries/replay`, json: {}, kinds: ALL_JOBS },
    { method: 'GET', path: `${path}/:id`, headers: { accept: 'application/x-ndjson' }, kinds: ALL_JOBS },
  ]),
  ...['/v1/batch/scrape', '/v2/batch/scrape'].map((path): OwnedCall => ({
    method: 'POST',
    path,
    json: { urls: ['https://example.com/'], appendToId: ':id' },
    kinds: ALL_JOBS,
  })),
  ...['/v1/extract', '/v2/extract', '/v2/agent'].flatMap((path): OwnedCall[] => [
    { method: 'GET', path: `${path}/:id`, kinds: ALL_JOBS },
    { method: 'DELETE', path: `${path}/:id`, kinds: ALL_JOBS },
  ]),
  { method: 'POST', path: '/v2/crawl/:id/pause', json: {}, kinds: ALL_JOBS },
  { method: 'POST', path: '/v2/crawl/:id/resume', json: {}, kinds: ALL_JOBS },
  { method: 'GET', path: '/v1/scrape/:id', kinds: PAGES },
  { method: 'GET', path: '/v2/scrape/:id', kinds: PAGES },
];

let cluster: TestCluster;
let site: Site;
let model: ModelServer;
let owner: ApiClient;
let stranger: ApiClient;
const ids = {} as Record<Kind, string>;

beforeAll(async () => {
  site = await startSite((request, response) => {
    const send = () => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(
        `<html><body><main><h1>Page</h1><p>Text of ${request.url}.</p><a href="/slow/${Math.random()}">more</a></main></body></html>`,
      );
    };
    if (request.url?.startsWith('/slow')) setTimeout(send, 1_000);
    else send();
  });
  model = await startModelServer({ brain: answerFounder });
  cluster = await startCluster({
    env: {
      ...modelEnv(model),
      ALLOW_PRIVATE_TARGETS: '127.0.0.1',
      TROUPE_BOOTSTRAP_KEYS: 'owner:fc-owner-key,stranger:fc-stranger-key',
    },
  });
  owner = new ApiClient(cluster.url, 'fc-owner-key');
  stranger = new ApiClient(cluster.url, 'fc-stranger-key');
  await makeBelongings();
}, 180_000);

afterAll(async () => {
  await cluster?.stop();
  await model?.close();
  await site?.close();
});

/** Agents answer by a tool, extracts by the schema that they were given. */
function answerFounder({ tools }: BrainRequest) {
  return tools.some(({ name }) => name === 'answer')
    ? { toolCalls: [{ name: 'answer', arguments: { founder: 'Ada' } }] }
    : { value: { founder: 'Ada' } };
}

async function makeBelongings(): Promise<void> {
  const scrape = await owner.post('/v2/scrape', { url: `${site.origin}/one` });
  ids.scrape = (scrape.body.data as { metadata: { scrapeId: string } }).metadata.scrapeId;
  const crawl = await owner.post('/v2/crawl', { url: `${site.origin}/slow`, limit: 10_000 });
  ids.crawl = crawl.body.id as string;
  const batch = await owner.post('/v2/batch/scrape', { urls: [`${site.origin}/two`] });
  ids.batch = batch.body.id as string;
  const { data } = await owner.finished<{ data: { metadata: { scrapeId: string } }[] }>(
    `/v2/batch/scrape/${ids.batch}`,
  );
  ids.page = data[0]!.metadata.scrapeId;
  const schema = { type: 'object', properties: { founder: { type: 'string' } } };
  const extract = await owner.post('/v2/extract', { urls: [`${site.origin}/three`], prompt: 'founder', schema });
  ids.extract = extract.body.id as string;
  const agent = await owner.post('/v2/agent', { prompt: 'founder' });
  ids.agent = agent.body.id as string;
  for (const path of MODEL_PATHS) expect((await ended(path)).status).toBe('completed');
  await sleep(500); // the document of a single scrape is stored behind its answer
}

const MODEL_PATHS = ['extract', 'agent'] as const;

async function ended(kind: (typeof MODEL_PATHS)[number]): Promise<Record<string, unknown>> {
  for (let tries = 0; tries < 300; tries++) {
    const { body } = await owner.call(`/v2/${kind}/${ids[kind]}`);
    if (body.status !== 'processing') return body;
    await sleep(200);
  }
  throw new Error(`the ${kind} job did not end within a minute`);
}

const cases = CALLS.flatMap((call) => call.kinds.map((kind) => ({ ...call, kind })));
const ask = (client: ApiClient, { method, path, json, headers }: OwnedCall, id: string) =>
  client.call(path.replace(':id', id), { method, headers, raw: JSON.stringify(json)?.replace(':id', id) });

describe('a team', () => {
  it.each(cases)('gets 404 for $method $path with the id of another team’s $kind', async ({ kind, ...call }) => {
    const { status, body } = await ask(stranger, call, ids[kind]);
    expect({ status, body }).toMatchObject({ status: 404, body: { success: false, error: expect.any(String) } });
  });

  it.each(cases)('is told the same about its unknown id by $method $path ($kind)', async ({ kind, ...call }) => {
    const [foreign, unknown] = await Promise.all([
      ask(stranger, call, ids[kind]),
      ask(stranger, call, '00000000-0000-4000-8000-000000000000'),
    ]);
    expect({ status: foreign.status, body: foreign.body }).toEqual({ status: unknown.status, body: unknown.body });
  });

  it('does not see the crawls of another one', async () => {
    const seen = async (client: ApiClient) => (await client.call('/v2/crawl/active')).body.crawls as { id: string }[];
    expect(await seen(stranger)).toEqual([]);
    expect((await seen(owner)).map(({ id }) => id)).toEqual([ids.crawl]);
  });

  it('does not see the use of another one', async () => {
    const used = async (client: ApiClient) => (await client.call('/v2/team/credit-usage/historical')).body.periods;
    expect(await used(stranger)).toEqual([]);
    expect(await used(owner)).toMatchObject([{ creditsUsed: expect.any(Number) }]);
    expect((await stranger.call('/v2/team/queue-status')).body.jobsInQueue).toBe(0);
  });

  it('has not disturbed what it asked for', async () => {
    expect((await owner.call(`/v2/crawl/${ids.crawl}`)).body).toMatchObject({ success: true, status: 'scraping' });
    for (const kind of PAGES) expect((await owner.call(`/v2/scrape/${ids[kind]}`)).status).toBe(200);
    expect((await owner.call(`/v2/batch/scrape/${ids.batch}`)).body).toMatchObject({
      status: 'completed',
      completed: 1,
    });
    for (const kind of MODEL_PATHS) expect(await ended(kind)).toMatchObject({ status: 'completed' });
    expect((await owner.call(`/v2/agent/${ids.agent}`)).body.data).toEqual({ founder: 'Ada' });
    expect((await owner.call(`/v2/crawl/${ids.crawl}`, { method: 'DELETE' })).status).toBe(200);
  });
});

describe('the admin API', () => {
  it.each(['GET', 'POST', 'PATCH', 'PUT', 'DELETE'])(
    'does not exist without ADMIN_KEY: %s answers 404',
    async (method) => {
      for (const path of ['/admin/teams', `/admin/teams/${ids.crawl}`, '/admin/blocklist', '/admin/audit']) {
        const { status, body } = await owner.call(path, { method });
        expect({ status, body }).toEqual({ status: 404, body: { success: false, error: 'Not found' } });
      }
    },
  );
});
