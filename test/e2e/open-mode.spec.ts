/** A cluster that asks for no key: open to programs of this machine and to its own pages, not to any page in its browser. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { WebSocket } from 'ws';
import { startSite, type Site } from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';

const TIMEOUT_MS = 120_000;
const EVIL = 'https://evil.example';

let site: Site;
let cluster: TestCluster;
/** Without a key. */
let program: ApiClient;
let requests = 0;

beforeAll(async () => {
  site = await startSite((_request, response) => {
    requests++;
    response.writeHead(200, { 'content-type': 'text/html' }).end('<main><h1>Page</h1><p>Words.</p></main>');
  });
  cluster = await startCluster({
    env: { AUTH_MODE: 'none', ALLOW_PRIVATE_TARGETS: '127.0.0.1', HOST_GAP_MS: '0' },
  });
  program = new ApiClient(cluster.url, '');
}, TIMEOUT_MS);

afterAll(async () => {
  await cluster?.stop();
  await site?.close();
}, TIMEOUT_MS);

interface Reply {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: Record<string, unknown>;
}

/** With headers that `fetch` does not let one set. */
async function send(method: string, path: string, headers: Record<string, string>, json?: object): Promise<Reply> {
  const body = json === undefined ? '' : JSON.stringify(json);
  const type = json === undefined ? {} : { 'content-type': 'application/json' };
  const request = http.request(cluster.url + path, {
    method,
    headers: { ...type, 'content-length': Buffer.byteLength(body), ...headers },
  });
  request.end(body);
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  const said = await text(answer);
  return {
    status: answer.statusCode!,
    headers: answer.headers,
    body: said.startsWith('{') ? (JSON.parse(said) as Record<string, unknown>) : {},
  };
}

const scrape = (headers: Record<string, string>) => send('POST', '/v2/scrape', headers, { url: site.origin });

/** Whether the WebSocket was opened, or the status of the answer instead. */
async function watch(id: string, headers: Record<string, string>): Promise<'open' | number> {
  const socket = new WebSocket(`${cluster.url.replace('http', 'ws')}/v2/crawl/${id}`, { headers });
  const refused = once(socket, 'unexpected-response').then(([, { statusCode }]) => statusCode as number);
  const opened = once(socket, 'open').then(() => 'open' as const);
  socket.on('error', () => undefined);
  const outcome = await Promise.race([refused, opened]);
  void Promise.allSettled([refused, opened]);
  socket.terminate();
  return outcome;
}

describe('a cluster without keys', () => {
  it('serves programs, whatever key they send', async () => {
    expect(await program.post('/v2/scrape', { url: site.origin })).toMatchObject({ status: 200 });
    expect(await scrape({ authorization: 'Bearer anything' })).toMatchObject({ status: 200 });
    expect(await scrape({ host: `localhost:${new URL(cluster.url).port}` })).toMatchObject({ status: 200 });
  });

  it('serves its own pages', async () => {
    expect(await scrape({ origin: cluster.url })).toMatchObject({ status: 200 });
  });

  it.each([
    ['a page of another origin', { origin: EVIL }],
    ['a sandboxed page', { origin: 'null' }],
    ['a page of another port', { origin: 'http://localhost:5173' }],
    ['a page whose domain was pointed here', { host: 'evil.example', origin: 'http://evil.example' }],
  ])('refuses %s before anything is done', async (_name, headers) => {
    const before = requests;
    const calls: [string, string, object?][] = [
      ['POST', '/v2/scrape', { url: site.origin }],
      ['POST', '/v2/crawl', { url: site.origin }],
      ['GET', '/v2/crawl/active'],
      ['DELETE', '/v2/crawl/00000000-0000-4000-8000-000000000000'],
      ['GET', '/v2/crawl/00000000-0000-4000-8000-000000000000'],
      ['OPTIONS', '/v2/scrape'],
    ];
    for (const [method, path, json] of calls) {
      const reply = await send(method, path, headers, json);
      expect(reply).toMatchObject({ status: 403, body: { success: false, error: expect.stringContaining('no key') } });
      expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
    }
    expect(requests).toBe(before);
    expect((await program.call('/v2/crawl/active')).body).toMatchObject({ crawls: [] });
  });

  it('refuses a name that is not its own, without an origin too', async () => {
    for (const path of ['/', '/docs', '/openapi.json', '/v2/crawl/active'])
      expect(await send('GET', path, { host: 'evil.example' })).toMatchObject({ status: 403 });
  });

  it(
    'lets programs watch a job, and no page but its own',
    async () => {
      const { body } = await program.post('/v2/crawl', { url: site.origin, limit: 1, sitemap: 'skip' });
      const id = body.id as string;
      expect(await watch(id, {})).toBe('open');
      expect(await watch(id, { origin: cluster.url })).toBe('open');
      expect(await watch(id, { origin: EVIL })).toBe(403);
      expect(await watch(id, { host: 'evil.example' })).toBe(403);
      const builtIn = new globalThis.WebSocket(`${cluster.url.replace('http', 'ws')}/v2/crawl/${id}`);
      await new Promise((resolve, reject) => {
        builtIn.addEventListener('open', resolve);
        builtIn.addEventListener('error', () => reject(new Error('the WebSocket of Node was refused')));
      });
      builtIn.close();
    },
    TIMEOUT_MS,
  );
});
