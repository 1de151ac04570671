/**
 * Limits, credits, account calls and the operator's API on a cluster with two gateways (docs/api/limits.md, docs/api/account.md,
 * docs/api/own.md).
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startDns, startSite, type DnsServer, type Site } from '@troupe/testing';
import { ApiClient, type Answer } from '../support/api-client.js';
import { startCluster, workspace, type TestCluster } from '../support/cluster.js';

const ADMIN_KEY = 'operator-0123456789abcdef';
const HOSTS = ['open.test', 'blocked.test', 'www.blocked.test', ...[1, 2, 3, 4].map((n) => `h${n}.test`)];
/** What a change may take until every process knows it. */
const KNOWN_BY_MS = 30_000;

let dns: DnsServer;
let site: Site;
let cluster: TestCluster;
let gateways: string[];
let admin: ApiClient;
/** The team of the bootstrap key: no limits of its own. */
let api: ApiClient;
let inFlight = 0;
let mostInFlight = 0;

interface Team {
  id: string;
  name: string;
  concurrency: number | null;
  creditsLimit: number | null;
}

interface Made {
  team: Team;
  keyId: string;
  key: string;
  api: ApiClient;
}

beforeAll(async () => {
  dns = await startDns(Object.fromEntries(HOSTS.map((host) => [host, ['127.0.0.1']])));
  site = await startSite((request, response) => {
    const html = (text: string) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(`<html><head><title>Page</title></head><body><main><h1>Page</h1>${text}</main></body></html>`);
    };
    const { pathname } = new URL(request.url ?? '/', 'http://x');
    if (pathname === '/robots.txt' || pathname.startsWith('/sitemap')) return void response.writeHead(404).end();
    if (pathname === '/hop') return void response.writeHead(302, { location: urlOf('blocked.test', '/secret') }).end();
    if (pathname === '/links')
      return html(`<p>Links.</p><a href="/a">a</a> <a href="${urlOf('www.blocked.test', '/b')}">b</a>`);
    if (!pathname.startsWith('/slow')) return html(`<p>Text of ${pathname}.</p>`);
    mostInFlight = Math.max(mostInFlight, ++inFlight);
    setTimeout(() => {
      inFlight--;
      html(`<p>Slow text of ${pathname}.</p><a href="${pathname}/${Math.random()}">more</a>`);
    }, 300);
  });
  cluster = await startCluster({
    args: ['--gateways', '2'],
    env: {
      ADMIN_KEY,
      RATE_LIMITS: 'on',
      BILLING: 'on',
      HOST_GAP_MS: '0',
      ALLOW_PRIVATE_TARGETS: ['127.0.0.1', ...HOSTS].join(','),
      DNS_SERVERS: dns.address,
    },
  });
  gateways = (await cluster.record()).gateways;
  admin = new ApiClient(cluster.url, ADMIN_KEY);
  api = new ApiClient(cluster.url, cluster.apiKey);
}, 180_000);

afterAll(async () => {
  await cluster?.stop();
  await site?.close();
  dns?.close();
});

const urlOf = (host: string, pathname: string): string => `http://${host}:${site.port}${pathname}`;
const good = (answer: Answer): Answer => {
  if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
  return answer;
};

/** A team with a key. */
async function makeTeam(settings: object = {}): Promise<Made> {
  const name = `team ${randomUUID()}`;
  const team = good(await admin.post('/admin/teams', { name, ...settings })).body.team as Team;
  const made = good(await admin.post(`/admin/teams/${team.id}/keys`, { name: 'first' })).body as {
    id: string;
    key: string;
  };
  return { team, keyId: made.id, key: made.key, api: new ApiClient(cluster.url, made.key) };
}

/** Asks until the answer fits; how long that took in ms. */
async function until(ask: () => Promise<boolean>, withinMs: number): Promise<number> {
  const startedMs = performance.now();
  while (!(await ask())) {
    if (performance.now() - startedMs > withinMs) throw new Error(`not within ${withinMs} ms`);
    await sleep(250);
  }
  return performance.now() - startedMs;
}

/** Rate windows are the minutes of the clock: starts where a test fits into one. */
async function earlyInTheMinute(neededMs: number): Promise<void> {
  const leftMs = 60_000 - (Date.now() % 60_000);
  if (leftMs < neededMs) await sleep(leftMs + 100);
}

describe('rate limits', () => {
  it('count all keys of a team on all gateways together, and say when to come back', async () => {
    const { team, api: first } = await makeTeam({ flags: { rateLimits: { map: 3 } } });
    const { key } = good(await admin.post(`/admin/teams/${team.id}/keys`, { name: 'second' })).body as { key: string };
    const second = new ApiClient(gateways[1]!, key);
    await earlyInTheMinute(8_000);
    const statuses = [];
    for (const client of [first, second, second]) {
      statuses.push((await client.post('/v2/map', {})).status);
      await sleep(400);
    }
    expect(statuses).toEqual([400, 400, 400]);
    for (const client of [first, second]) {
      const { status, body, headers } = await client.post('/v2/map', {});
      expect({ status, body }).toEqual({
        status: 429,
        body: { success: false, error: expect.stringMatching(/^Rate limit exceeded/) },
      });
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60);
    }
    expect((await first.call('/v2/team/queue-status')).status).toBe(200);
    expect((await api.post('/v2/map', {})).status).toBe(400);
  });

  it('come after authentication and before everything else', async () => {
    const { api: limited, key } = await makeTeam({ flags: { rateLimits: { crawlStatus: 1 } } });
    await earlyInTheMinute(3_000);
    expect((await limited.call('/v2/crawl/active')).status).toBe(200);
    expect((await limited.call('/v2/crawl/no-id')).status).toBe(429);
    expect((await new ApiClient(cluster.url, `${key}x`).call('/v2/crawl/no-id')).status).toBe(401);
  });
});

describe('idempotency keys', () => {
  it.each([
    ['/v2/crawl', (url: string) => ({ url, limit: 1 })],
    ['/v2/batch/scrape', (url: string) => ({ urls: [url] })],
  ])('work once on %s, for a team, and are not used up by a body that is refused', async (route, body) => {
    const [one, two] = [await makeTeam(), await makeTeam()];
    const header = { 'x-idempotency-key': `key ${randomUUID()}` };
    const order = body(urlOf('open.test', '/idempotent'));
    expect((await one.api.post(route, { ...order, limitt: 1 }, header)).status).toBe(400);
    expect((await one.api.post(route, order, header)).status).toBe(200);
    const again = await one.api.post(route, order, header);
    expect(again).toMatchObject({ status: 409, body: { success: false, error: 'Idempotency key already used' } });
    expect((await two.api.post(route, order, header)).status).toBe(200);
    expect((await one.api.post(route, order, { 'x-idempotency-key': 'x'.repeat(256) })).status).toBe(400);
  });

  it('let one of many jobs in that come at the same time', async () => {
    const { api: team, key } = await makeTeam();
    const other = new ApiClient(gateways[1]!, key);
    const header = { 'x-idempotency-key': randomUUID() };
    const order = { urls: [urlOf('open.test', '/raced')] };
    const answers = await Promise.all(
      [0, 1, 2, 3].map((i) => (i % 2 ? other : team).post('/v2/batch/scrape', order, header)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
  });
});

describe('credits', () => {
  it('run out: 402 for what cannot be paid, and a crawl becomes as short as its team can pay', async () => {
    const { api: poor } = await makeTeam({ creditsLimit: 3 });
    expect((await poor.call('/v2/team/credit-usage')).body.data).toMatchObject({ remainingCredits: 3, planCredits: 3 });
    good(await poor.post('/v2/scrape', { url: urlOf('open.test', '/paid') }));
    good(await poor.post('/v2/map', { url: urlOf('open.test', '/links'), sitemap: 'skip' }));
    const batch = await poor.post('/v2/batch/scrape', { urls: [urlOf('open.test', '/1'), urlOf('open.test', '/2')] });
    expect(batch).toMatchObject({ status: 402, body: { success: false, error: expect.stringContaining('credits') } });
    const crawl = good(await poor.post('/v2/crawl', { url: urlOf('open.test', '/links'), limit: 50 })).body as {
      id: string;
    };
    const job = await poor.finished<{ status: string; completed: number; creditsUsed: number }>(
      `/v2/crawl/${crawl.id}`,
    );
    expect(job).toMatchObject({ status: 'completed', completed: 1, creditsUsed: 1 });
    await until(async () => (await poor.post('/v2/scrape', { url: urlOf('open.test', '/x') })).status === 402, 10_000);
    expect((await poor.post('/v2/crawl', { url: urlOf('open.test', '/') })).status).toBe(402);
    expect((await poor.post('/v2/map', { url: urlOf('open.test', '/') })).status).toBe(402);
    const usage = (await poor.call('/v2/team/credit-usage')).body.data as {
      remainingCredits: number;
      billingPeriodStart: string;
    };
    expect(usage.remainingCredits).toBe(0);
    expect(usage.billingPeriodStart).toMatch(/^\d{4}-\d\d-01T00:00:00\.000Z$/);
  });

  it('are charged exactly: a page 1, an unknown host 1, another failure nothing, a map 1', async () => {
    const { team, keyId, api: payer } = await makeTeam();
    const nowhere = 'http://nowhere.test/';
    const refused = 'http://127.0.0.1:9/';
    expect((await payer.post('/v2/scrape', { url: nowhere })).body).toMatchObject({ success: false });
    expect((await payer.post('/v2/scrape', { url: refused })).status).toBe(500);
    good(await payer.post('/v2/map', { url: urlOf('open.test', '/links'), sitemap: 'skip' }));
    const urls = [urlOf('open.test', '/ok'), nowhere, refused];
    const { id } = good(await payer.post('/v2/batch/scrape', { urls })).body as { id: string };
    expect(await payer.finished(`/v2/batch/scrape/${id}`)).toMatchObject({ completed: 3, creditsUsed: 2 });
    await until(async () => {
      const { periods } = (await payer.call('/v2/team/credit-usage/historical')).body as {
        periods: { creditsUsed: number }[];
      };
      return periods[0]?.creditsUsed === 4;
    }, 5_000);
    const { usage } = good(await admin.call(`/admin/usage?team=${team.id}`)).body as { usage: object[] };
    expect(usage).toEqual([
      {
        day: new Date().toISOString().slice(0, 10),
        team: team.id,
        keyId,
        keyName: 'first',
        credits: 4,
        pages: 3,
        tokens: 60,
      },
    ]);
  });
});

describe('account calls', () => {
  it('write "unlimited" as an integer, in the words of each version', async () => {
    const nothing = { billingPeriodStart: null, billingPeriodEnd: null };
    const v1Nothing = { billing_period_start: null, billing_period_end: null };
    const answers = await Promise.all(
      ['/v2/team/credit-usage', '/v2/team/token-usage', '/v1/team/credit-usage', '/v1/team/token-usage'].map((call) =>
        api.call(call),
      ),
    );
    expect(answers.map(({ body }) => body)).toEqual([
      { success: true, data: { remainingCredits: 99_999_999, planCredits: 99_999_999, ...nothing } },
      { success: true, data: { remainingTokens: 99_999_999, planTokens: 99_999_999, ...nothing } },
      { success: true, data: { remaining_credits: 99_999_999, plan_credits: 99_999_999, ...v1Nothing } },
      { success: true, data: { remaining_tokens: 99_999_999, plan_tokens: 99_999_999, ...v1Nothing } },
    ]);
  });

  it.each(['/v1', '/v2'])('%s tells the history by month, and by key when asked', async (version) => {
    const { api: team } = await makeTeam();
    good(await team.post('/v2/scrape', { url: urlOf('open.test', '/history') }));
    const historical = `${version}/team/credit-usage/historical`;
    const month = new Date();
    const startDate = new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth(), 1)).toISOString();
    const endDate = new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 1)).toISOString();
    const ofPeriods = async (query: string) => (await team.call(historical + query)).body.periods as object[];
    await until(async () => (await ofPeriods('')).length === 1, 5_000);
    expect(await ofPeriods('?byApiKey=1')).toEqual([{ startDate, endDate, creditsUsed: 1 }]);
    expect(await ofPeriods('?byApiKey=true')).toEqual([{ startDate, endDate, apiKey: 'first', creditsUsed: 1 }]);
    expect((await team.call(`${version}/team/token-usage/historical`)).body).toEqual({
      success: true,
      periods: [{ startDate, endDate, tokensUsed: 15 }],
    });
    expect(await team.call(`${historical}?timeRange=week`)).toMatchObject({
      status: 501,
      body: { code: 'NOT_SUPPORTED' },
    });
  });

  it('show the work of a team, and nothing of it when it is done', async () => {
    const { api: team, key } = await makeTeam({ concurrency: 2 });
    const elsewhere = new ApiClient(gateways[1]!, key);
    const urls = Array.from({ length: 6 }, (_, i) => urlOf(`h${(i % 4) + 1}.test`, `/slow/${i}`));
    const idle = { jobsInQueue: 0, activeJobsInQueue: 0, waitingJobsInQueue: 0, maxConcurrency: 2 };
    expect((await team.call('/v2/team/queue-status')).body).toEqual({
      success: true,
      ...idle,
      mostRecentSuccess: null,
    });
    const { id } = good(await team.post('/v2/batch/scrape', { urls })).body as { id: string };
    const scrape = team.post('/v2/scrape', { url: urlOf('open.test', '/slow/single') });
    await until(async () => Number((await elsewhere.call('/v1/concurrency-check')).body.concurrency) > 0, 5_000);
    const busy = (await elsewhere.call('/v1/team/queue-status')).body as Record<string, number>;
    expect(busy.jobsInQueue).toBe(busy.activeJobsInQueue! + busy.waitingJobsInQueue!);
    await Promise.all([scrape, team.finished(`/v2/batch/scrape/${id}`)]);
    await until(async () => (await team.call('/v2/team/queue-status')).body.jobsInQueue === 0, 5_000);
    const { mostRecentSuccess, ...rest } = (await team.call('/v2/team/queue-status')).body;
    expect(rest).toEqual({ success: true, ...idle });
    expect(Date.now() - Date.parse(mostRecentSuccess as string)).toBeLessThan(60_000);
    expect((await team.call('/v2/concurrency-check')).body).toEqual({
      success: true,
      concurrency: 0,
      maxConcurrency: 2,
    });
  });
});

describe('the blocklist', () => {
  it('keeps every request away from a host and what lies below it, and a host comes off again', async () => {
    expect((await api.post('/v2/scrape', { url: urlOf('blocked.test', '/before') })).status).toBe(200);
    const put = await admin.call('/admin/blocklist', {
      method: 'PUT',
      json: { hosts: ['Blocked.TEST'], reason: 'asked for' },
    });
    expect(good(put).body.hosts).toEqual(['blocked.test']);
    const scrape = (url: string) => api.post('/v2/scrape', { url });
    const refused = async (url: string) => (await scrape(url)).body.code === 'UNSUPPORTED_SITE';
    const strict = { urls: [urlOf('blocked.test', '/x')], ignoreInvalidURLs: false };
    await until(async () => (await api.post('/v2/batch/scrape', strict)).status === 403, KNOWN_BY_MS);
    await until(() => refused(urlOf('open.test', '/hop')), KNOWN_BY_MS);
    expect(await refused(urlOf('www.blocked.test', '/x'))).toBe(true);
    const before = site.log.length;
    for (const [route, body] of [
      ['/v2/scrape', { url: urlOf('blocked.test', '/x') }],
      ['/v2/crawl', { url: urlOf('blocked.test', '/x') }],
      ['/v2/map', { url: urlOf('blocked.test', '/x') }],
      ['/v2/batch/scrape', strict],
    ] as const) {
      expect(await api.post(route, body)).toMatchObject({
        status: 403,
        body: { success: false, code: 'UNSUPPORTED_SITE' },
      });
    }
    const batch = good(
      await api.post('/v2/batch/scrape', { urls: [urlOf('blocked.test', '/x'), urlOf('open.test', '/y')] }),
    ).body as { id: string; invalidURLs: string[] };
    expect(batch.invalidURLs).toEqual([urlOf('blocked.test', '/x')]);
    const crawl = good(
      await api.post('/v2/crawl', { url: urlOf('open.test', '/links'), allowExternalLinks: true, sitemap: 'skip' }),
    ).body as { id: string };
    await api.finished(`/v2/crawl/${crawl.id}`);
    expect((await api.call(`/v2/crawl/${crawl.id}/errors`)).body.errors).toMatchObject([
      { url: urlOf('www.blocked.test', '/b'), code: 'UNSUPPORTED_SITE' },
    ]);
    const asked = site.headers.slice(before).map(({ host }) => host ?? '');
    expect(asked.filter((host) => host.includes('blocked'))).toEqual([]);
    expect(good(await admin.call('/admin/blocklist')).body.hosts).toMatchObject([
      { host: 'blocked.test', reason: 'asked for' },
    ]);
    expect((await admin.call('/admin/blocklist', { method: 'PUT', json: { hosts: ['*.x'] } })).status).toBe(400);
    const removed = await admin.call('/admin/blocklist', { method: 'DELETE', json: { hosts: ['blocked.test'] } });
    expect(good(removed).body.removed).toBe(1);
    await until(async () => (await scrape(urlOf('blocked.test', '/after'))).status === 200, KNOWN_BY_MS);
  });
});

describe('keys', () => {
  it('that are revoked are refused by every gateway within 30 s, and an expired one at once', async () => {
    const { team, keyId, key } = await makeTeam();
    const clients = gateways.map((url) => new ApiClient(url, key));
    const brief = new Date(Date.now() + 2_500).toISOString();
    const short = good(await admin.post(`/admin/teams/${team.id}/keys`, { name: 'brief', expiresAt: brief })).body;
    const briefClients = gateways.map((url) => new ApiClient(url, short.key as string));
    const statuses = (of: ApiClient[]) =>
      Promise.all(of.map(async (client) => (await client.call('/v2/crawl/active')).status));
    expect(await statuses([...clients, ...briefClients])).toEqual([200, 200, 200, 200]);
    good(await admin.call(`/admin/teams/${team.id}/keys/${keyId}`, { method: 'DELETE' }));
    expect((await clients[0]!.call('/v2/crawl/active')).status).toBe(401);
    await sleep(2_600);
    expect(await statuses(briefClients)).toEqual([401, 401]);
    await until(async () => (await statuses(clients)).every((status) => status === 401), KNOWN_BY_MS);
    const { keys } = good(await admin.call(`/admin/teams/${team.id}/keys`)).body as { keys: Record<string, unknown>[] };
    expect(keys).toMatchObject([
      { name: 'first', prefix: key.slice(0, 8), revokedAt: expect.any(String), lastUsedAt: expect.any(String) },
      { name: 'brief', revokedAt: null, expiresAt: brief },
    ]);
    expect(JSON.stringify(keys)).not.toContain(key);
  });
});

describe('the concurrency of a team', () => {
  it('changed by the operator is in force everywhere within 30 s', async () => {
    const { team, api: narrow } = await makeTeam();
    expect((await narrow.call('/v2/concurrency-check')).body.maxConcurrency).toBe(10);
    good(await admin.call(`/admin/teams/${team.id}`, { method: 'PATCH', json: { concurrency: 1 } }));
    const changedMs = performance.now();
    const onAll = async () => {
      const answers = await Promise.all(
        gateways.map((url) => new ApiClient(url, narrow.key).call('/v2/concurrency-check')),
      );
      return answers.every(({ body }) => body.maxConcurrency === 1);
    };
    await until(onAll, KNOWN_BY_MS);
    await sleep(Math.max(0, 25_000 - (performance.now() - changedMs)));
    mostInFlight = 0;
    const urls = Array.from({ length: 8 }, (_, i) => urlOf(`h${(i % 4) + 1}.test`, `/slow/narrow/${i}`));
    const { id } = good(await narrow.post('/v2/batch/scrape', { urls })).body as { id: string };
    expect(await narrow.finished(`/v2/batch/scrape/${id}`)).toMatchObject({ completed: 8 });
    expect(mostInFlight).toBe(1);
  }, 60_000);
});

describe('the operator', () => {
  it('needs the admin key, and a key of a team is none', async () => {
    const statuses = await Promise.all(
      ['', 'Bearer wrong', `Bearer ${cluster.apiKey}`].map(
        async (authorization) => (await admin.call('/admin/teams', { headers: { authorization } })).status,
      ),
    );
    expect(statuses).toEqual([401, 401, 401]);
  });

  it('makes, finds and changes teams', async () => {
    const { team } = await makeTeam({ concurrency: 3, creditsLimit: 7, flags: { ignoreRobots: true } });
    const path = `/admin/teams/${team.id}`;
    const patch = (json: object) => admin.call(path, { method: 'PATCH', json });
    expect(good(await admin.call(path)).body.team).toMatchObject({
      concurrency: 3,
      creditsLimit: 7,
      flags: { ignoreRobots: true },
    });
    expect(good(await patch({ concurrency: null, flags: {} })).body.team).toMatchObject({
      concurrency: null,
      creditsLimit: 7,
      flags: {},
    });
    expect((await patch({ name: 'default' })).status).toBe(409);
    expect((await patch({ concurrency: 0 })).status).toBe(400);
    expect((await patch({ flags: { rateLimits: { crawls: 1 } } })).body.details).toMatchObject([
      { code: 'unrecognized_keys', path: ['flags', 'rateLimits'] },
    ]);
    expect((await admin.post('/admin/teams', { name: team.name })).status).toBe(409);
    expect((await admin.call(`/admin/teams/${randomUUID()}`)).status).toBe(404);
    expect((await admin.call('/admin/teams/x')).status).toBe(400);
    const secret = good(await admin.call(`${path}/webhook-secret`, { method: 'PUT', json: {} })).body;
    expect(secret).toMatchObject({ secret: expect.stringMatching(/^[0-9a-f]{64}$/), oldValidUntil: null });
    const next = good(
      await admin.call(`${path}/webhook-secret`, { method: 'PUT', json: { secret: 'a secret of my own' } }),
    ).body;
    expect(Date.parse(next.oldValidUntil as string) - Date.now()).toBeGreaterThan(23.9 * 3_600_000);
  });

  it('permits a team to ignore robots.txt', async () => {
    const [allowed, others] = [await makeTeam({ flags: { ignoreRobots: true } }), await makeTeam()];
    const order = { url: urlOf('open.test', '/'), limit: 1, ignoreRobotsTxt: true };
    expect((await others.api.post('/v2/crawl', order)).status).toBe(403);
    expect((await allowed.api.post('/v2/crawl', order)).status).toBe(200);
  });

  it('sends a dead letter again', async () => {
    const { id } = good(await api.post('/v2/crawl', { url: urlOf('h1.test', '/slow/dead'), limit: 1000 })).body as {
      id: string;
    };
    const to = `crawl/${id}`;
    const envelope = { id: 'x', type: 'Cancel', v: 1, from: 'gw/test', to, n: null, body: { type: 'Cancel', job: id } };
    const client = new pg.Client({ connectionString: (await cluster.record()).postgres });
    await client.connect();
    const insert = `INSERT INTO dead_letter (at, part, key, type, envelope, error) VALUES (now(), 0, $1, $2, $3, 'x') RETURNING id`;
    const letter = (await client.query<{ id: string }>(insert, [to, 'Cancel', envelope])).rows[0]!.id;
    const timer = (await client.query<{ id: string }>(insert, [to, 'Timer', null])).rows[0]!.id;
    await client.end();
    expect(good(await admin.call('/admin/dead-letters')).body.deadLetters).toMatchObject([
      { id: timer, canReplay: false },
      { id: letter, key: to, type: 'Cancel', canReplay: true },
    ]);
    expect((await admin.post(`/admin/dead-letters/${timer}/replay`, {})).status).toBe(409);
    good(await admin.post(`/admin/dead-letters/${letter}/replay`, {}));
    expect(await api.finished(`/v2/crawl/${id}`)).toMatchObject({ status: 'cancelled' });
    expect((await admin.post(`/admin/dead-letters/${letter}/replay`, {})).status).toBe(404);
    expect((await admin.post('/admin/dead-letters/x/replay', {})).status).toBe(400);
  });

  const run = (env: Record<string, string>, ...args: string[]) =>
    spawnSync(process.execPath, [path.join(workspace, 'deploy/local/start.mjs'), 'admin', ...args], {
      encoding: 'utf8',
      timeout: 20_000,
      env: { ...process.env, TROUPE_DATA_DIR: cluster.dataDir, ...env },
    });

  it('sends all dead letters of a type again, from the command line, and names those that cannot be', async () => {
    const ids = await Promise.all(
      ['all-1', 'all-2'].map(async (place) => {
        const order = { url: urlOf('h1.test', `/slow/${place}`), limit: 1000 };
        return good(await api.post('/v2/crawl', order)).body.id as string;
      }),
    );
    const client = new pg.Client({ connectionString: (await cluster.record()).postgres });
    await client.connect();
    const put = async (to: string, type: string, envelope: object | null) => {
      const insert = `INSERT INTO dead_letter (at, part, key, type, envelope, error) VALUES (now(), 0, $1, $2, $3, 'x') RETURNING id`;
      return (await client.query<{ id: string }>(insert, [to, type, envelope])).rows[0]!.id;
    };
    for (const id of ids) {
      const to = `crawl/${id}`;
      const body = { type: 'Cancel', job: id };
      await put(to, 'Cancel', { id: 'x', type: 'Cancel', v: 1, from: 'gw/test', to, n: null, body });
    }
    const timer = await put('crawl/x', 'Cancel', null);
    const other = await put('crawl/x', 'Pause', {
      id: 'y',
      type: 'Pause',
      v: 1,
      from: 'gw/test',
      to: 'crawl/x',
      n: null,
    });
    const { status, stdout } = run({ ADMIN_KEY }, 'replay', 'all', '--type', 'Cancel');
    const left = expect.arrayContaining([{ id: timer, reason: expect.stringContaining('timer') }]) as unknown;
    expect({ status, ...(JSON.parse(stdout) as object) }).toEqual({ status: 0, success: true, replayed: 2, left });
    for (const id of ids) expect(await api.finished(`/v2/crawl/${id}`)).toMatchObject({ status: 'cancelled' });
    const { deadLetters } = JSON.parse(run({ ADMIN_KEY }, 'dead-letters').stdout) as { deadLetters: { id: string }[] };
    expect(deadLetters.map(({ id }) => id)).toEqual(expect.arrayContaining([timer, other]));
    await client.query('DELETE FROM dead_letter WHERE id = ANY($1::bigint[])', [[timer, other]]);
    await client.end();
  });

  it('has the same verbs on the command line', async () => {
    const name = `cli ${randomUUID()}`;
    const made = run({ ADMIN_KEY }, 'team', 'create', name, '--concurrency', '4');
    expect(made).toMatchObject({ status: 0 });
    const key = JSON.parse(run({ ADMIN_KEY }, 'key', 'create', name, 'laptop').stdout) as { key: string };
    expect((await new ApiClient(cluster.url, key.key).call('/v2/concurrency-check')).body.maxConcurrency).toBe(4);
    const wrong = run({ ADMIN_KEY: 'not-the-right-key-at-all' }, 'teams');
    expect(wrong).toMatchObject({ status: 1, stderr: expect.stringContaining('ADMIN_KEY is not the one') });
    const missing = run({ ADMIN_KEY }, 'keys', 'no such team');
    expect(missing).toMatchObject({ status: 1, stderr: expect.stringContaining('there is no team "no such team"') });
  });

  it('finds every change in the audit log, who made it and on what, and no secret anywhere', async () => {
    const { team, keyId, key } = await makeTeam();
    good(await admin.call(`/admin/teams/${team.id}/keys/${keyId}`, { method: 'DELETE' }));
    const { text, body } = good(await admin.call('/admin/audit?limit=3'));
    const actor = createHash('sha256').update(ADMIN_KEY).digest('hex').slice(0, 8);
    const by = { actor, ip: expect.stringContaining('127.0.0.1') };
    expect(body.entries).toMatchObject([
      { ...by, action: 'key.revoke', target: keyId, details: { team: team.id } },
      { ...by, action: 'key.create', target: keyId, details: { team: team.id, name: 'first' } },
      { ...by, action: 'team.create', target: team.id, details: { name: team.name } },
    ]);
    expect((await admin.call('/admin/audit?to=2020-01-01')).body.entries).toEqual([]);
    const actions = (good(await admin.call('/admin/audit')).body.entries as { action: string }[]).map(
      ({ action }) => action,
    );
    expect(actions).toEqual(
      expect.arrayContaining([
        'team.update',
        'webhook-secret.set',
        'blocklist.add',
        'blocklist.remove',
        'dead-letter.replay',
      ]),
    );
    const logs = path.join(cluster.dataDir, 'logs');
    const written = await Promise.all((await readdir(logs)).map((file) => readFile(path.join(logs, file), 'utf8')));
    for (const secret of [key, ADMIN_KEY]) expect([text, ...written].some((log) => log.includes(secret))).toBe(false);
  });
});
