/** Webhooks against a real receiver on loopback (docs/api/webhooks.md, docs/api/own.md, "deliveries"). */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { startDns, type DnsServer } from '@troupe/testing';
import { query } from '../chaos/evidence.js';
import { KnownSite } from '../chaos/known-site.js';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { signatureOf, WebhookReceiver, type Received } from './webhook-receiver.fixture.js';

const KEYS = { own: 'fc-key-of-our-team', other: 'fc-key-of-another-team', admin: 'fc-key-of-the-operator' };
const SECRET = 'a secret of ours';
const RETRY_MS = [300, 600, 900];
/** The first page leads to one behind a redirect and to a missing one, which is a document, too. */
const PLAIN_PAGES = 60;
const PAGES = PLAIN_PAGES + 2;
const LARGE_PAGES = 1_000;
const OPTIONS = { formats: ['markdown'] };

interface Delivery {
  webhookId: string;
  type: string;
  eventNo: number;
  attempts: { at: string; status?: number; error?: string; ms: number }[];
  state: string;
}

let site: KnownSite;
let large: KnownSite;
let receiver: WebhookReceiver;
let slow: WebhookReceiver;
let forbidden: WebhookReceiver;
/** A crawl whose end nobody answers at first: it takes ten seconds, so it begins before the others. */
let hung: string;
let dns: DnsServer;
let cluster: TestCluster;
let api: ApiClient;

beforeAll(async () => {
  [site, large] = await Promise.all([
    KnownSite.start({ pages: PLAIN_PAGES, islands: 0, everyRedirect: 1e6, everyMissing: 1e6, latencyMs: 0 }),
    KnownSite.start({ pages: LARGE_PAGES - 2, islands: 0, everyRedirect: 1e6, everyMissing: 1e6, latencyMs: 0 }),
  ]);
  [receiver, slow, forbidden] = await Promise.all([
    WebhookReceiver.start(),
    WebhookReceiver.start(),
    WebhookReceiver.start(),
  ]);
  dns = await startDns({ 'inside.test': ['127.0.0.1'] });
  cluster = await startCluster({
    env: {
      TROUPE_BOOTSTRAP_KEYS: `own:${KEYS.own},other:${KEYS.other}`,
      ADMIN_KEY: KEYS.admin,
      ALLOW_PRIVATE_TARGETS: '127.0.0.1',
      ALLOW_PRIVATE_WEBHOOKS: `${receiver.address},${slow.address}`,
      WEBHOOK_RETRY_MS: RETRY_MS.join(),
      WEBHOOK_REST_MS: '1000',
      DNS_SERVERS: dns.address,
      HOST_GAP_MS: '0',
      HOST_MAX_CONN: '16',
      TEAM_CONCURRENCY: '50',
    },
  });
  api = new ApiClient(cluster.url, KEYS.own);
  await query(cluster, `UPDATE team SET webhook_secret = $1 WHERE name = 'own'`, [SECRET]);
  const hanging = slow.behave('/hang', async (_response, _event, times) => {
    if (times === 0) await sleep(60_000, undefined, { ref: false });
  });
  hung = await startCrawl('hang', { url: hanging, events: ['completed'] });
}, 180_000);

afterAll(async () => {
  await cluster?.stop();
  dns?.close();
  await Promise.all([site?.stop(), large?.stop(), receiver?.down(), slow?.down(), forbidden?.down()]);
}, 60_000);

async function startCrawl(folder: string, webhook: unknown, on = site, limit = 10_000): Promise<string> {
  const { status, body, text } = await api.post('/v2/crawl', {
    url: on.startUrl(folder),
    limit,
    webhook,
    scrapeOptions: OPTIONS,
  });
  if (status !== 200) throw new Error(text);
  return body.id as string;
}

async function deliveriesOf(id: string, kind = 'crawl'): Promise<Delivery[]> {
  const found: Delivery[] = [];
  let next: string | undefined = `/v2/${kind}/${id}/deliveries?limit=40`;
  while (next !== undefined) {
    const { status, body }: { status: number; body: Record<string, unknown> } = await api.call(next);
    expect(status).toBe(200);
    found.push(...(body.deliveries as Delivery[]));
    next = body.next as string | undefined;
  }
  return found;
}

/** Of a finished job, when nothing is pending and nothing has been added for a while. */
async function settled(id: string, kind = 'crawl'): Promise<Delivery[]> {
  await api.finished(`/v2/${kind}/${id}?limit=1`);
  let last = '';
  for (let tries = 0; tries < 200; tries++) {
    const deliveries = await deliveriesOf(id, kind);
    const text = JSON.stringify(deliveries);
    if (text === last && deliveries.length > 0 && deliveries.every(({ state }) => state !== 'pending'))
      return deliveries;
    last = text;
    await sleep(150);
  }
  throw new Error(`deliveries of ${id} do not come to an end`);
}

const hasEnded = (requests: Received[]): boolean =>
  requests.some(({ event }) => /completed|failed|cancelled/.test(event.type));

/** Same id, same bytes, same signature, however often. */
function expectSameBytes(events: Map<string, Received[]>): void {
  for (const [first, ...again] of events.values()) {
    expect(first!.headers['x-firecrawl-signature']).toBe(signatureOf(first!.raw, SECRET));
    for (const { raw, headers } of again) {
      expect(raw.equals(first!.raw)).toBe(true);
      expect(headers['x-firecrawl-signature']).toBe(first!.headers['x-firecrawl-signature']);
    }
  }
}

/** First attempts: the start before any page, the end after every page. */
function expectOrder(events: Map<string, Received[]>): void {
  const first = [...events.values()].map(([request]) => request!);
  expect(first[0]!.event.type).toBe('crawl.started');
  expect(first.at(-1)!.event.type).toBe('crawl.completed');
  expect(first.slice(1, -1).every(({ event }) => event.type === 'crawl.page')).toBe(true);
}

describe('a crawl with a webhook', () => {
  it('tells its start, every page and its end, in this order, signed over the raw bytes', async () => {
    const metadata = { z: 1, run: '42', nothing: null, deep: { b: [1, null], a: 'ü' } };
    const headers = {
      'X-Own': 'yes',
      'Content-Type': 'text/evil',
      Host: 'evil.test',
      'x-firecrawl-signature': 'forged',
    };
    const id = await startCrawl('plain', { url: receiver.url('/plain'), metadata, headers });
    await receiver.until('/plain', hasEnded);
    const events = receiver.events('/plain');
    expect(events.size).toBe(PAGES + 2);
    expectOrder(events);
    expectSameBytes(events);
    const status = await api.call(`/v2/crawl/${id}`);
    const documents = new Map(
      (status.body.data as { metadata: { scrapeId: string } }[]).map((page) => [page.metadata.scrapeId, page]),
    );
    for (const [{ event, headers: sent } = receiver.received[0]!] of events.values()) {
      expect(event).toMatchObject({ success: true, id, metadata, error: null });
      expect(sent).toMatchObject({ 'x-own': 'yes', 'content-type': 'application/json', host: receiver.address });
      expect(sent.cookie).toBeUndefined();
      if (event.type !== 'crawl.page') expect(event.data).toEqual([]);
      else expect(event.data).toEqual([documents.get(event.data[0]!.metadata.scrapeId as string)]);
    }
    const seen = [...events.values()].flatMap(([request]) => request!.event.data.map((page) => page.metadata.scrapeId));
    expect(new Set(seen)).toEqual(new Set(documents.keys()));
    expect(Object.keys(JSON.parse(receiver.at('/plain')[0]!.raw.toString()).metadata as object)).toEqual(
      Object.keys(metadata),
    );
  }, 60_000);

  it('repeats what was answered 500 twice under the same id with the same bytes, and keeps the order', async () => {
    const url = receiver.behave('/flaky', (response, _event, times) => {
      if (times < 2) response.writeHead(500).end('no');
    });
    const id = await startCrawl('flaky', url);
    const deliveries = await settled(id).then(() => receiver.until('/flaky', (all) => all.length >= 3 * (PAGES + 2)));
    expect(deliveries.length).toBe(3 * (PAGES + 2));
    const events = receiver.events('/flaky');
    expect([...events.values()].every((requests) => requests.length === 3)).toBe(true);
    expectSameBytes(events);
    expectOrder(events);
    const log = await settled(id);
    expect(log).toHaveLength(PAGES + 2);
    for (const { attempts, state } of log) {
      expect(state).toBe('delivered');
      expect(attempts.map(({ status }) => status)).toEqual([500, 500, 200]);
      expect(Date.parse(attempts[1]!.at) - Date.parse(attempts[0]!.at)).toBeGreaterThanOrEqual(RETRY_MS[0]!);
      expect(Date.parse(attempts[2]!.at) - Date.parse(attempts[1]!.at)).toBeGreaterThanOrEqual(RETRY_MS[1]!);
    }
  }, 60_000);

  it('follows no redirect and gives up after the last retry', async () => {
    const moving = receiver.behave('/moved', (response) => {
      response.writeHead(307, { location: receiver.url('/moved-to') }).end();
    });
    const id = await startCrawl('moved', { url: moving, events: ['crawl.started'] });
    const attempts = [307, 307, 307, 307].map((status) => ({ status }));
    expect(await settled(id)).toMatchObject([{ type: 'crawl.started', eventNo: 0, state: 'dead', attempts }]);
    expect(receiver.at('/moved-to')).toEqual([]);
  }, 60_000);

  it('waits for a receiver that is down, and tells nothing twice that arrived', async () => {
    await receiver.down();
    const id = await startCrawl('down', receiver.url('/down'));
    await sleep(1_000);
    await receiver.up();
    const log = await settled(id);
    expect(log.every(({ state }) => state === 'delivered')).toBe(true);
    expect(log[0]!.attempts[0]!.error).toMatch(/ECONNREFUSED/);
    const events = receiver.events('/down');
    expect(events.size).toBe(PAGES + 2);
    expect([...events.values()].every((requests) => requests.length === 1)).toBe(true);
    expectSameBytes(events);
  }, 60_000);

  it('posts five at a time to one host', () => {
    expect(receiver.peak).toBeLessThanOrEqual(5);
  });

  it('ends cancelled without a word, unless `cancelled` was asked for', async () => {
    large.latencyMs = 100;
    const [silent, told] = await Promise.all([
      startCrawl('silent', { url: receiver.url('/silent'), events: [] }, large),
      startCrawl('told', { url: receiver.url('/told'), events: ['started', 'cancelled'] }, large),
    ]);
    await Promise.all([
      receiver.until('/silent', ({ length }) => length > 0),
      receiver.until('/told', ({ length }) => length > 0),
    ]);
    await Promise.all([silent, told].map((id) => api.call(`/v2/crawl/${id}`, { method: 'DELETE' })));
    large.latencyMs = 0;
    const [, end] = await receiver.until('/told', ({ length }) => length >= 2);
    expect(end!.event).toMatchObject({
      type: 'crawl.cancelled',
      success: false,
      data: [],
      error: 'The job was cancelled',
    });
    await settled(silent);
    expect(receiver.at('/silent').filter(({ event }) => !/started|page/.test(event.type))).toEqual([]);
  }, 60_000);

  it('tells the error of a crawl that failed', async () => {
    const json = { url: 'http://127.0.0.1:1/', webhook: { url: receiver.url('/failed'), events: ['failed'] } };
    const { body } = await api.post('/v2/crawl', json);
    // Its robots.txt is asked for three times, after 5 and 30 s, before the host is taken for gone.
    const [request] = await receiver.until('/failed', hasEnded, 60_000);
    expect(request!.event).toMatchObject({ type: 'crawl.failed', id: body.id, success: false, data: [] });
    expect(request!.event.error).toEqual(expect.any(String));
  }, 90_000);
});

describe('a secret that is replaced', () => {
  it('still signs beside the new one, in a header of its own', async () => {
    const admin = new ApiClient(cluster.url, KEYS.admin);
    const other = new ApiClient(cluster.url, KEYS.other);
    const teams = (await admin.call('/admin/teams')).body.teams as { id: string; name: string }[];
    const path = `/admin/teams/${teams.find(({ name }) => name === 'other')!.id}/webhook-secret`;
    for (const secret of ['the secret before', 'the secret after'])
      expect((await admin.call(path, { method: 'PUT', json: { secret } })).status).toBe(200);
    const order = { urls: [site.startUrl('replaced')], webhook: receiver.url('/replaced'), ...OPTIONS };
    expect((await other.post('/v2/batch/scrape', order)).status).toBe(200);
    await receiver.until('/replaced', hasEnded);
    const requests = receiver.at('/replaced');
    expect(requests).toHaveLength(3);
    for (const { raw, headers } of requests)
      expect(headers).toMatchObject({
        'x-firecrawl-signature': signatureOf(raw, 'the secret after'),
        'x-troupe-signature-previous': signatureOf(raw, 'the secret before'),
      });
  }, 30_000);
});

describe('a batch with a webhook', () => {
  it('tells the same events under its own name', async () => {
    const urls = Array.from({ length: 20 }, (_, i) => site.leaf('batch', i));
    const webhook = { url: receiver.url('/batch'), events: ['batch_scrape.page', 'completed'] };
    const { body } = await api.post('/v2/batch/scrape', { urls, webhook, ...OPTIONS });
    await receiver.until('/batch', hasEnded);
    const types = receiver.at('/batch').map(({ event }) => event.type);
    expect(types.slice(0, -1)).toEqual(Array.from(urls, () => 'batch_scrape.page'));
    expect(types.at(-1)).toBe('batch_scrape.completed');
    expect((await settled(body.id as string, 'batch/scrape')).map(({ eventNo }) => eventNo)).toEqual(
      Array.from({ length: 21 }, (_, i) => i + 1),
    );
  }, 60_000);
});

describe('a batch that is appended to after its end', () => {
  it('tells its further pages and its end once more', async () => {
    const [first, second] = [1, 2].map((part) => Array.from({ length: 5 }, (_, i) => site.leaf('more', 10 * part + i)));
    const webhook = { url: receiver.url('/more') };
    const { body } = await api.post('/v2/batch/scrape', { urls: first, webhook, ...OPTIONS });
    const id = body.id as string;
    await receiver.until('/more', hasEnded);
    const { status } = await api.post('/v2/batch/scrape', { urls: second, appendToId: id, ...OPTIONS });
    expect(status).toBe(200);
    const all = await receiver.until('/more', ({ length }) => length === 13);
    expect(all.map(({ event }) => event.type.split('.')[1])).toEqual([
      'started',
      ...Array.from({ length: 5 }, () => 'page'),
      'completed',
      ...Array.from({ length: 5 }, () => 'page'),
      'completed',
    ]);
    expect(receiver.events('/more').size).toBe(13);
    const log = await settled(id, 'batch/scrape');
    expect(log.map(({ eventNo }) => eventNo)).toEqual(Array.from({ length: 13 }, (_, i) => i));
    expect(log.map(({ webhookId }) => webhookId).sort()).toEqual([...receiver.events('/more').keys()].sort());
  }, 60_000);
});

describe('a receiver at a private address', () => {
  it('is refused with 400 when its address says so', async () => {
    const urls = [
      forbidden.url('/'),
      'http://localhost/x',
      'http://10.0.0.1/',
      `http://[::1]:${9}/`,
      'http://2130706433/',
    ];
    for (const url of urls) {
      const { status, body } = await api.post('/v2/crawl', { url: site.startUrl('no'), webhook: { url } });
      expect([url, status, body.code]).toEqual([url, 400, 'BAD_REQUEST']);
      expect(body.details).toMatchObject([{ path: ['webhook', 'url'] }]);
    }
  });

  it('is never connected to when its name leads there', async () => {
    const url = `http://inside.test:${forbidden.address.split(':')[1]}/x`;
    const id = await startCrawl('inside', { url, events: ['started'] });
    const [log] = await settled(id);
    expect(log).toMatchObject({
      state: 'dead',
      attempts: RETRY_MS.concat(0).map(() => ({ error: expect.any(String) })),
    });
    expect(dns.asked.get('inside.test')).toBeGreaterThan(0);
    expect(forbidden.connections).toBe(0);
  }, 60_000);
});

describe('the calls of deliveries', () => {
  it('list what became of each event and replay the dead with the same ids and bytes', async () => {
    let isWell = false;
    const url = receiver.behave('/sick', (response) => {
      if (!isWell) response.writeHead(503).end();
    });
    const id = await startCrawl('sick', { url, events: ['started', 'completed'] });
    expect((await settled(id)).map(({ state }) => state)).toEqual(['dead', 'dead']);
    isWell = true;
    const replay = await api.post(`/v2/crawl/${id}/deliveries/replay`, { state: 'dead' });
    expect(replay.body).toEqual({ success: true, queued: 2 });
    await receiver.until('/sick', ({ length }) => length === 10);
    const log = await settled(id);
    expect(log.map(({ state, attempts }) => [state, attempts.length])).toEqual([
      ['delivered', 5],
      ['delivered', 5],
    ]);
    expectSameBytes(receiver.events('/sick'));
    const again = await api.post(`/v2/crawl/${id}/deliveries/replay`, { state: 'dead' });
    expect(again.body).toEqual({ success: true, queued: 0 });
    const one = await api.post(`/v2/crawl/${id}/deliveries/replay`, { webhookIds: [log[1]!.webhookId] });
    expect(one.body).toEqual({ success: true, queued: 1 });
    await receiver.until('/sick', ({ length }) => length === 11);
    expectSameBytes(receiver.events('/sick'));
  }, 60_000);

  it('answer 404 to another team and for a job that never was', async () => {
    const id = await startCrawl('foreign', receiver.url('/foreign'));
    const other = new ApiClient(cluster.url, KEYS.other);
    const unknown = '5b1d0000-0000-4000-8000-000000000000';
    expect((await other.call(`/v2/crawl/${id}/deliveries`)).status).toBe(404);
    expect((await other.post(`/v2/crawl/${id}/deliveries/replay`, {})).status).toBe(404);
    expect((await api.call(`/v2/crawl/${unknown}/deliveries`)).status).toBe(404);
    expect((await api.call(`/v2/crawl/${id}/deliveries?limit=0`)).status).toBe(400);
    expect((await api.post(`/v2/crawl/${id}/deliveries/replay`, { state: 'alive' })).status).toBe(400);
  });

  it('show nothing for a job without a webhook', async () => {
    const { body } = await api.post('/v2/batch/scrape', { urls: [site.leaf('none', 1)] });
    const id = body.id as string;
    expect((await api.call(`/v2/batch/scrape/${id}/deliveries`)).body).toEqual({ success: true, deliveries: [] });
    expect((await api.post(`/v2/batch/scrape/${id}/deliveries/replay`, {})).body).toEqual({
      success: true,
      queued: 0,
    });
    const rows = await query(cluster, `SELECT FROM actor WHERE key = $1`, [`delivery/${id}`]);
    expect(rows).toEqual([]);
  });
});

describe('a receiver that hangs', () => {
  it('is given ten seconds, and tried again', async () => {
    const [log] = await settled(hung);
    expect(log).toMatchObject({ type: 'crawl.completed', eventNo: PAGES + 1, state: 'delivered' });
    const [first, second] = log!.attempts;
    expect(first).toMatchObject({ error: 'no answer within 10 s' });
    expect(first!.status).toBeUndefined();
    expect(first!.ms).toBeGreaterThan(9_900);
    expect(first!.ms).toBeLessThan(25_000);
    expect(second).toMatchObject({ status: 200 });
  }, 60_000);
});

describe('kill -9 in mid-delivery', () => {
  it('of dispatcher and scheduler loses no event, keeps the order, and repeats the same bytes', async () => {
    const pages = 300;
    const url = receiver.behave('/killed', () => sleep(30));
    const id = await startCrawl('killed', url, large, pages);
    await receiver.until('/killed', ({ length }) => length > 40);
    const dispatcher = await cluster.signal('dispatcher', 'SIGKILL');
    await cluster.waitForRestart('dispatcher', dispatcher);
    const before = receiver.at('/killed').length;
    await receiver.until('/killed', ({ length }) => length > before + 20, 60_000);
    const scheduler = await cluster.signal('scheduler', 'SIGKILL');
    await cluster.waitForRestart('scheduler', scheduler);
    await receiver.until('/killed', hasEnded, 60_000);
    const events = receiver.events('/killed');
    expect(events.size).toBe(pages + 2);
    expectOrder(events);
    expectSameBytes(events);
    expect((await settled(id)).every(({ state }) => state === 'delivered')).toBe(true);
  }, 150_000);
});

describe('the price of a webhook', () => {
  it(`is less than the crawl again (${LARGE_PAGES} pages)`, async () => {
    const time = async (folder: string, path?: string): Promise<number> => {
      const startedAt = performance.now();
      const id = await startCrawl(folder, path === undefined ? undefined : receiver.url(path), large);
      await api.finished(`/v2/crawl/${id}?limit=1`);
      if (path !== undefined) await receiver.until(path, hasEnded);
      return performance.now() - startedAt;
    };
    // Every process of the cluster is warm then, the dispatcher too.
    await time('warm', '/warm');
    const alone = await time('alone');
    const together = await time('together', '/fast');
    process.stderr.write(
      `    ${LARGE_PAGES} pages: ${Math.round(alone)} ms alone, ${Math.round(together)} ms with webhook\n`,
    );
    expect(receiver.events('/fast').size).toBe(LARGE_PAGES + 2);
    expect(together).toBeLessThan(2 * alone + 2_000);
  }, 120_000);
});
