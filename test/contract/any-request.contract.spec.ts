/**
 * Whatever anybody sends to any documented call, the answer is one that the caller can use: JSON, and no fault of ours. Requests
 * are generated from the description of the interface; `FUZZ_SEED` repeats those of a run, and each run tells its own.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc, { type Arbitrary } from 'fast-check';
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { startDns, startSite, type DnsServer, type Site } from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import { startCluster, workspace, type TestCluster } from '../support/cluster.js';
import { modelEnv, startModelServer, type ModelServer } from '../support/model-server/index.js';
import { startSearxng, type SearxngServer } from '../support/searxng-server.js';
import { BodyMaker, jsonOf, ODD_TEXTS, oddValue, type Schema } from './schema-arbitrary.js';

const SETUP_TIMEOUT_MS = 120_000;
const OPERATION_TIMEOUT_MS = 90_000;
/** Longer than any call may take with what these specs send. */
const PATIENCE_MS = 30_000;
/** Set by who wants to look longer. */
const FACTOR = Number(process.env.FUZZ_FACTOR ?? 1);
const RUNS = 25 * FACTOR;
const RUNS_WITH_BODY = 60 * FACTOR;
const SEED = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31));
const HEADERS_TIMEOUT_MS = 3_000;
const ADMIN_KEY = 'operator-0123456789abcdef';
/** Said of pages, sites and providers by the calls that ask them; never a fault of the gateway. */
const OF_OTHERS = /^(?:SCRAPE_|MAP_FAILED|SEARCH_FAILED|CONCURRENCY_)/;

interface Operation {
  requestBody?: { content: Record<string, { schema: Schema }> };
  parameters?: { in: string; name: string }[];
}

interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const description = JSON.parse(readFileSync(path.join(workspace, 'docs/openapi.json'), 'utf8')) as Description;
/** Its body is read field by field, so that the description has none. */
const UNDESCRIBED_BODIES: Record<string, Schema> = {
  'PATCH /admin/teams/{id}': { $ref: '#/components/schemas/TeamBody' },
};

const operations = Object.entries(description.paths).flatMap(([route, methods]) =>
  Object.entries(methods).map(([method, operation]): [string, Operation] => [
    `${method.toUpperCase()} ${route}`,
    operation,
  ]),
);

let site: Site;
let dns: DnsServer;
let searxng: SearxngServer;
let model: ModelServer;
let cluster: TestCluster;
let api: ApiClient;
let admin: ApiClient;
let ids: string[];

beforeAll(async () => {
  process.stderr.write(`troupe    | requests of FUZZ_SEED=${SEED}\n`);
  site = await startSite((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<main><h1>Page</h1><p>Words.</p></main>'),
  );
  dns = await startDns({});
  searxng = await startSearxng(() => [{ url: site.origin, title: 'a', content: 'a', category: 'general' }]);
  model = await startModelServer();
  const env = {
    ADMIN_KEY,
    ALLOW_PRIVATE_TARGETS: `127.0.0.1:${site.port}`,
    DNS_SERVERS: dns.address,
    SEARXNG_URL: searxng.url,
    HEADERS_TIMEOUT_MS: String(HEADERS_TIMEOUT_MS),
    HOST_GAP_MS: '0',
    HOST_MAX_CONN: '32',
    HOST_EXPRESS_CONN: '32',
    TEAM_CONCURRENCY: '64',
    ...modelEnv(model),
  };
  cluster = await startCluster({ env });
  api = new ApiClient(cluster.url, cluster.apiKey);
  admin = new ApiClient(cluster.url, ADMIN_KEY);
  ids = await makeIds();
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await cluster?.stop();
  await model?.close();
  await searxng?.close();
  dns?.close();
  await site?.close();
}, SETUP_TIMEOUT_MS);

/** Of a page, two jobs, an extract job and a team: what paths may name. */
async function makeIds(): Promise<string[]> {
  const page = await api.post('/v2/scrape', { url: site.origin });
  const crawl = await api.post('/v2/crawl', { url: site.origin, limit: 1 });
  const batch = await api.post('/v2/batch/scrape', { urls: [site.origin] });
  const extract = await api.post('/v2/extract', { urls: [site.origin], prompt: 'x' });
  const team = await admin.post('/admin/teams', { name: 'of the specs' });
  const { scrapeId } = (page.body.data as { metadata: { scrapeId: string } }).metadata;
  return [
    scrapeId,
    ...[crawl, batch, extract].map(({ body }) => body.id as string),
    (team.body.team as { id: string }).id,
  ];
}

interface Sent {
  path: string;
  headers: Record<string, string>;
  /** undefined: none. */
  body: string | undefined;
}

function requests(line: string, operation: Operation): Arbitrary<Sent> {
  const route = line.slice(line.indexOf(' ') + 1);
  const schema = operation.requestBody?.content['application/json']?.schema ?? UNDESCRIBED_BODIES[line];
  const maker = new BodyMaker({ schemas: description.components.schemas, page: site.origin, ids });
  return fc
    .tuple(pathOf(route), queryOf(operation), headers(), schema === undefined ? rarely(oddValue) : maker.of(schema))
    .map(([place, query, sent, value]) => ({
      path: place + query,
      headers: sent,
      body: value === undefined ? undefined : jsonOf(value),
    }));
}

function rarely<T>(value: Arbitrary<T>): Arbitrary<T | undefined> {
  return fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
}

function pathOf(route: string): Arbitrary<string> {
  const odd = ODD_TEXTS.map((text) => encodeURIComponent(Buffer.from(text).toString()));
  const wrong = [...odd, '%', '%ff', '%c0%80', '0', '-1', '99999999999999999999', '1.5'];
  const id = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...ids, ...ids.map((each) => each.toUpperCase())) },
    { weight: 2, arbitrary: fc.uuid() },
    { weight: 2, arbitrary: fc.constantFrom(...wrong) },
  );
  const parts = route.split(/\{[^}]+\}/);
  return fc
    .tuple(...parts.slice(1).map(() => id))
    .map((values) => parts.map((part, i) => part + (values[i] ?? '')).join(''));
}

function queryOf({ parameters = [] }: Operation): Arbitrary<string> {
  const described = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  const name = fc.constantFrom(
    ...described,
    'limit',
    'skip',
    'before',
    'outcome',
    'from',
    'to',
    'team',
    'groupBy',
    '__proto__',
    'a[b]',
  );
  const value = fc.constantFrom(
    ...ODD_TEXTS.slice(0, -1),
    '0',
    '1',
    '5',
    '99999999999999999999',
    '2026-01-01',
    '9'.repeat(400),
  );
  const pairs = fc.array(fc.tuple(name, value), { maxLength: 3 });
  const query = pairs.map((list) => new URLSearchParams(list).toString());
  return fc
    .oneof(query, fc.constantFrom('', '%', '&&=', 'limit', 'limit=1&limit=2'))
    .map((text) => (text === '' ? '' : `?${text}`));
}

function headers(): Arbitrary<Record<string, string>> {
  const word = fc.constantFrom('x', '', '*', 'a'.repeat(400), '\xff\xfe', '{}', ';q=', '-1', 'bytes=0-');
  const optional = fc.record(
    {
      'x-idempotency-key': word,
      'x-request-id': word,
      'x-forwarded-host': word,
      'x-forwarded-for': word,
      accept: word,
      range: word,
      'if-none-match': word,
      traceparent: word,
      origin: word,
      'content-type': fc.constantFrom(
        'application/json; charset=utf-8',
        'application/json; charset=utf-16',
        'application/json; charset="',
        'application/problem+json',
        'text/plain',
        'multipart/form-data; boundary=x',
      ),
      'content-encoding': fc.constantFrom('gzip', 'br', 'x'),
    },
    { requiredKeys: [] },
  );
  return fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: optional });
}

async function expectUsable(line: string, { path: place, headers: sent, body }: Sent): Promise<void> {
  const method = line.slice(0, line.indexOf(' '));
  const { key } = place.startsWith('/admin') ? admin : api;
  const response = await fetch(cluster.url + place, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...sent },
    body: method === 'GET' ? undefined : body,
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  const said = await response.text();
  const answer = JSON.parse(said) as { success?: boolean; error?: string; code?: string };
  if (response.status < 400) return;
  expect({ status: response.status, answer }).toEqual({
    status: response.status,
    answer: expect.objectContaining({ success: false, error: expect.any(String) }),
  });
  const isOurs = response.status >= 500 && response.status !== 501 && !OF_OTHERS.test(answer.code ?? '');
  if (isOurs) throw new Error(`${response.status} ${said}`);
}

describe('any request is answered without a fault', () => {
  it.each(operations)(
    '%s',
    async (line, operation) => {
      const hasBody = operation.requestBody !== undefined || line in UNDESCRIBED_BODIES;
      await fc.assert(
        fc.asyncProperty(requests(line, operation), (sent) => expectUsable(line, sent)),
        {
          seed: SEED,
          numRuns: hasBody ? RUNS_WITH_BODY : RUNS,
          interruptAfterTimeLimit: OPERATION_TIMEOUT_MS / 2,
          endOnFailure: false,
        },
      );
    },
    OPERATION_TIMEOUT_MS,
  );

  it('nor does a head that never ends hold the gateway', async () => {
    const startedMs = performance.now();
    const { port } = new URL(cluster.url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write('GET /v2/health/liveness HTTP/1.1\r\nhost: x\r\nx-slow: ');
    const timer = setInterval(() => socket.write('a'), 100);
    socket.on('close', () => clearInterval(timer));
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 /);
    expect(performance.now() - startedMs).toBeLessThan(3 * HEADERS_TIMEOUT_MS);
  });

  it('and the cluster is well afterwards', async () => {
    expect(await api.post('/v2/scrape', { url: site.origin })).toMatchObject({ status: 200 });
  });
});
