/** A team's own language model, set over HTTP and on the command line, through the whole cluster with scripted models. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSite, type Site } from '@troupe/testing';
import { ApiClient, type Answer } from '../support/api-client.js';
import { startCluster, workspace, type TestCluster } from '../support/cluster.js';
import { modelEnv, readingBrain, startModelServer, type ModelServer } from '../support/model-server/index.js';

const SETUP_TIMEOUT_MS = 120_000;
/** A change is known to every extractor within ten seconds. */
const KNOWN_BY_MS = 15_000;
const ADMIN_KEY = 'operator-0123456789abcdef';
const TEAM_KEY = 'fc-own-model-0f1e2d3c4b5a';
const SCHEMA = { type: 'object', properties: { title: { type: 'string' }, price: { type: 'number' } } };
const FACTS = { title: 'Widget', price: 9.5 };

let site: Site;
/** Of the installation, and of a team. */
let common: ModelServer;
let own: ModelServer;
let cluster: TestCluster;
let admin: ApiClient;
let others: ApiClient;
/** The team with the model of its own. */
let team: Made;

interface Made {
  id: string;
  name: string;
  api: ApiClient;
}

beforeAll(async () => {
  site = await startSite((request, response) => {
    const isThere = request.url !== '/robots.txt';
    response.writeHead(isThere ? 200 : 404, { 'content-type': 'text/html' });
    response.end(
      '<html><head><title>W</title></head><body><main><h1>Widget</h1><p>Price: 9.50</p></main></body></html>',
    );
  });
  [common, own] = await Promise.all([startModelServer(), startModelServer()]);
  cluster = await startCluster({
    env: { ALLOW_PRIVATE_TARGETS: '127.0.0.1', HOST_GAP_MS: '0', ADMIN_KEY, ...modelEnv(common), LOG_LEVEL: 'debug' },
  });
  admin = new ApiClient(cluster.url, ADMIN_KEY);
  others = new ApiClient(cluster.url, cluster.apiKey);
  team = await makeTeam();
}, SETUP_TIMEOUT_MS);

beforeEach(() => {
  for (const model of [common, own]) {
    model.requests.length = 0;
    model.setBrain(readingBrain);
  }
});

afterAll(async () => {
  await cluster?.stop();
  await Promise.all([common?.close(), own?.close(), site?.close()]);
}, SETUP_TIMEOUT_MS);

async function makeTeam(): Promise<Made> {
  const name = `team ${randomUUID()}`;
  const made = await admin.post('/admin/teams', { name });
  const { id } = made.body.team as { id: string };
  const { body } = await admin.post(`/admin/teams/${id}/keys`, { name: 'first' });
  return { id, name, api: new ApiClient(cluster.url, body.key as string) };
}

const setModel = (id: string, json: object): Promise<Answer> =>
  admin.call(`/admin/teams/${id}/model`, { method: 'PUT', json });
const removeModel = (id: string): Promise<Answer> => admin.call(`/admin/teams/${id}/model`, { method: 'DELETE' });
const scrape = (api: ApiClient): Promise<Answer> =>
  api.post('/v2/scrape', { url: `${site.origin}/widget`, formats: [{ type: 'json', schema: SCHEMA }] });
const factsIn = ({ body }: Answer): unknown => (body.data as { json?: unknown }).json;

function adminCommand(env: Record<string, string>, ...args: string[]) {
  return spawnSync(process.execPath, [path.join(workspace, 'deploy/local/start.mjs'), 'admin', ...args], {
    encoding: 'utf8',
    timeout: 20_000,
    env: { ...process.env, TROUPE_DATA_DIR: cluster.dataDir, ADMIN_KEY, ...env },
  });
}

/** Scrapes until the answer fits; resolves with it. */
async function scrapeUntil(api: ApiClient, fits: (answer: Answer) => boolean): Promise<Answer> {
  const deadlineMs = performance.now() + KNOWN_BY_MS;
  for (;;) {
    const answer = await scrape(api);
    if (fits(answer)) return answer;
    if (performance.now() > deadlineMs) throw new Error(`not within ${KNOWN_BY_MS} ms: ${answer.text}`);
    await sleep(300);
  }
}

async function logs(): Promise<string> {
  const files = (await cluster.processes()).map(({ log }) => log);
  return [cluster.output(), ...(await Promise.all(files.map((file) => readFile(file, 'utf8'))))].join('\n');
}

describe("a team's own model", () => {
  it('is asked for its pages with its key from then on, and for nobody else', async () => {
    expect(factsIn(await scrape(team.api))).toEqual(FACTS);
    expect(common.requests).toHaveLength(1);
    const model = { provider: 'openai', model: 'small', baseUrl: `${own.url}/v1` };
    const set = await setModel(team.id, { ...model, apiKey: TEAM_KEY });
    expect(set).toMatchObject({ status: 200, body: { success: true, model: { ...model, hasKey: true } } });
    const answer = await scrapeUntil(team.api, () => own.requests.length > 0);
    expect(factsIn(answer)).toEqual(FACTS);
    expect(own.requests[0]).toMatchObject({
      headers: { authorization: `Bearer ${TEAM_KEY}` },
      body: { model: 'small' },
    });
    common.requests.length = own.requests.length = 0;
    expect(factsIn(await scrape(others))).toEqual(FACTS);
    expect([common.requests.length, own.requests.length]).toEqual([1, 0]);
    expect(common.requests[0]).toMatchObject({
      headers: { authorization: 'Bearer test' },
      body: { model: 'scripted' },
    });
  });

  it('reads the pages of its jobs', async () => {
    const { body } = await team.api.post('/v2/extract', { urls: [`${site.origin}/widget`], schema: SCHEMA });
    let status: Answer;
    do {
      await sleep(200);
      status = await team.api.call(`/v2/extract/${body.id as string}`);
    } while (status.body.status === 'processing');
    expect(status.body).toMatchObject({ status: 'completed', data: FACTS });
    expect([common.requests.length, own.requests.length]).toEqual([0, 1]);
  });

  it('is a secret in part: its key is in no answer, error, audit entry or log, even when the provider repeats it', async () => {
    own.setBrain(() => ({ status: 401, error: { message: `Incorrect API key provided: ${TEAM_KEY}.` } }));
    const refused = await scrape(team.api);
    expect(refused).toMatchObject({ status: 500, body: { code: 'SCRAPE_JSON_FAILED' } });
    expect(refused.body.error).toContain("the team's model.apiKey");
    const shown = await Promise.all(
      [`/admin/teams/${team.id}`, '/admin/teams', '/admin/audit'].map((call) => admin.call(call)),
    );
    expect(shown.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(shown[0]!.body.team).toMatchObject({ model: { provider: 'openai', model: 'small', hasKey: true } });
    expect(shown[2]!.text).toContain('"model.set"');
    const told = [refused.text, ...shown.map(({ text }) => text), await logs()];
    expect(told.map((text) => text.includes(TEAM_KEY))).toEqual(told.map(() => false));
  });

  it('at a private address is not reached, and the answer says so', async () => {
    const other = await makeTeam();
    await setModel(other.id, { provider: 'openai', model: 'small', baseUrl: 'http://10.1.2.3/v1', apiKey: TEAM_KEY });
    const refused = await scrapeUntil(other.api, ({ status }) => status !== 200);
    expect(refused).toMatchObject({ status: 500, body: { success: false, code: 'SCRAPE_JSON_FAILED' } });
    expect(refused.body.error).toMatch(/10\.1\.2\.3 is not asked: its model\.baseUrl .*not allowed here/);
  });

  it('that is removed gives its pages back to the model of the installation', async () => {
    expect(await removeModel(team.id)).toMatchObject({ status: 200, body: { success: true, model: null } });
    const answer = await scrapeUntil(team.api, () => common.requests.length > 0);
    expect(factsIn(answer)).toEqual(FACTS);
    expect((await admin.call(`/admin/teams/${team.id}`)).body.team).toMatchObject({ model: null });
  });

  it('is set and removed on the command line, with its key from the environment', async () => {
    const set = adminCommand(
      { MODEL_KEY: TEAM_KEY },
      'model',
      team.name,
      'openai',
      'tiny',
      '--base-url',
      `${own.url}/v1`,
    );
    expect(set).toMatchObject({ status: 0, stdout: expect.stringContaining('"hasKey": true') });
    expect(set.stdout + set.stderr).not.toContain(TEAM_KEY);
    await scrapeUntil(team.api, () => own.requests.length > 0);
    expect(own.requests[0]).toMatchObject({
      headers: { authorization: `Bearer ${TEAM_KEY}` },
      body: { model: 'tiny' },
    });
    expect(adminCommand({}, 'model', 'remove', team.name)).toMatchObject({ status: 0 });
    expect((await admin.call(`/admin/teams/${team.id}`)).body.team).toMatchObject({ model: null });
  });
});

describe('a model that cannot be one', () => {
  const GOOD = { provider: 'openai', model: 'small', apiKey: TEAM_KEY };
  const ADDRESS = 'Expected an http:// or https:// address without a password and without a query';

  it.each([
    ['no provider', { model: 'small' }, 'provider', 'Required'],
    ['a provider that nobody knows', { ...GOOD, provider: 'acme' }, 'provider', "'openai' | 'azure'"],
    ['no model', { provider: 'openai' }, 'model', 'Required'],
    ['a model without a name', { ...GOOD, model: '' }, 'model', 'String must be ≥ 1'],
    ['an address that is none', { ...GOOD, baseUrl: 'models' }, 'baseUrl', ADDRESS],
    ['an address of another kind', { ...GOOD, baseUrl: 'ftp://models.example/' }, 'baseUrl', ADDRESS],
    ['a password in the address', { ...GOOD, baseUrl: 'https://a:b@models.example/v1' }, 'baseUrl', ADDRESS],
    ['a key in the address', { ...GOOD, baseUrl: 'https://models.example/v1?key=x' }, 'baseUrl', ADDRESS],
    ['a key of two words', { ...GOOD, apiKey: 'one two' }, 'apiKey', 'Expected a key without spaces'],
    ['a field that nobody knows', { ...GOOD, temperature: 1 }, '', 'Unrecognized key(s): temperature'],
  ])('is refused for %s, with the field to mend', async (_, body, field, message) => {
    const answer = await setModel(team.id, body);
    expect(answer).toMatchObject({ status: 400, body: { success: false } });
    const issues = answer.body.details as { path: string[]; message: string }[];
    expect(issues).toEqual([
      expect.objectContaining({ path: field === '' ? [] : [field], message: expect.stringContaining(message) }),
    ]);
  });

  it('is refused for azure without the address of its resource', async () => {
    expect(await setModel(team.id, { ...GOOD, provider: 'azure' })).toMatchObject({
      status: 400,
      body: { success: false, error: 'baseUrl must be set for the provider azure' },
    });
  });

  it('is refused for a team that does not exist, and to who is not the operator', async () => {
    expect((await setModel(randomUUID(), GOOD)).body).toEqual({ success: false, error: 'Team not found' });
    expect((await removeModel(randomUUID())).status).toBe(404);
    expect((await setModel('shop', GOOD)).status).toBe(400);
    const byTeam = await team.api.call(`/admin/teams/${team.id}/model`, { method: 'PUT', json: GOOD });
    expect(byTeam.status).toBe(401);
    expect((await admin.call(`/admin/teams/${team.id}`)).body.team).toMatchObject({ model: null });
  });

  it('is refused on the command line with the same words', () => {
    const unknown = adminCommand({}, 'model', team.name, 'acme', 'small');
    expect(unknown).toMatchObject({ status: 1, stderr: expect.stringContaining('provider: Invalid enum value') });
    const missing = adminCommand({}, 'model', team.name, 'openai');
    expect(missing).toMatchObject({ status: 2, stderr: expect.stringContaining('"admin model" needs <model>') });
  });
});
