import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseAllowList, Resolver } from '@troupe/egress';
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PER_HOST } from './receiver-places.js';
import { Receivers } from './receivers.js';

const BODY = Buffer.from('{"x":1}');

let server: Server;
let answer: RequestListener;
let seen: { headers: IncomingHttpHeaders; url: string; raw: string }[];
let connections: number;
let receivers: Receivers;

const port = (): number => (server.address() as AddressInfo).port;
const target = (path = '/'): URL => new URL(`http://127.0.0.1:${port()}${path}`);

function makeReceivers(allowed: string, timeoutMs = 300): Receivers {
  const resolver = new Resolver({ servers: [], allow: parseAllowList(allowed) });
  return new Receivers({ resolver, userAgent: 'Troupe/test', timeoutMs });
}

beforeEach(async () => {
  seen = [];
  connections = 0;
  answer = (_request, response) => void response.end('thanks');
  server = createServer((request, response) => {
    let raw = '';
    request.on('data', (part: Buffer) => (raw += part.toString()));
    request.on('end', () => {
      seen.push({ headers: request.headers, url: request.url ?? '', raw });
      answer(request, response);
    });
  });
  server.on('connection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  receivers = makeReceivers('127.0.0.1');
});

afterEach(async () => {
  await receivers.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe('a post to a receiver', () => {
  it('carries the caller’s headers, but its own where it says something itself', async () => {
    const own = { 'X-Run': '1', 'content-TYPE': 'a/b', 'Content-Length': '1', host: 'x', 'X-Firecrawl-Signature': 'f' };
    const signatures = { 'x-firecrawl-signature': 'sha256=1' };
    expect(await receivers.post(target('/p?q=1'), own, BODY, signatures)).toEqual({ status: 200, error: null });
    expect(seen).toMatchObject([{ url: '/p?q=1', raw: '{"x":1}' }]);
    expect(seen[0]!.headers).toMatchObject({
      'x-run': '1',
      'user-agent': 'Troupe/test',
      'content-type': 'application/json',
      'content-length': '7',
      host: `127.0.0.1:${port()}`,
      'x-firecrawl-signature': 'sha256=1',
    });
  });

  it('leaves a forged signature out when there is none', async () => {
    const forged = { 'X-Firecrawl-Signature': 'forged', 'X-Troupe-Signature-Previous': 'forged' };
    await receivers.post(target(), forged, BODY, {});
    expect(Object.keys(seen[0]!.headers).filter((name) => name.includes('signature'))).toEqual([]);
  });

  it('turns the user of the address into a header, unless the caller sends one', async () => {
    const url = target();
    url.username = 'me';
    url.password = 'p%40ss';
    await receivers.post(url, {}, BODY, {});
    await receivers.post(url, { Authorization: 'Bearer t' }, BODY, {});
    const basic = `Basic ${Buffer.from('me:p@ss').toString('base64')}`;
    expect(seen.map(({ headers }) => headers.authorization)).toEqual([basic, 'Bearer t']);
  });

  it('keeps no cookie and follows no redirect', async () => {
    answer = (_request, response) => {
      response.writeHead(302, { location: '/elsewhere', 'set-cookie': 'a=1' }).end();
    };
    expect(await receivers.post(target(), {}, BODY, {})).toEqual({ status: 302, error: null });
    expect(await receivers.post(target(), {}, BODY, {})).toEqual({ status: 302, error: null });
    expect(seen.map(({ url, headers }) => [url, headers.cookie])).toEqual([
      ['/', undefined],
      ['/', undefined],
    ]);
  });

  it('keeps its connections for the next posts', async () => {
    // As many at a time as a receiver has places: what waits for a connection waits within its own time.
    for (let round = 0; round < 8; round++)
      await Promise.all(Array.from({ length: PER_HOST }, () => receivers.post(target(), {}, BODY, {})));
    expect(seen).toHaveLength(40);
    // One that a stalled machine left idle for seconds may have been replaced.
    expect(connections).toBeLessThan(10);
  });

  it('counts a status that came in time, however long the body takes', async () => {
    answer = (_request, response) => void response.writeHead(204 + 2).write('…');
    expect(await receivers.post(target(), {}, BODY, {})).toEqual({ status: 206, error: null });
  });

  it('says why there was no status, without the address', async () => {
    answer = () => undefined;
    expect(await receivers.post(target('/secret'), {}, BODY, {})).toEqual({
      status: null,
      error: 'no answer within 0.3 s',
    });
    answer = (request) => void request.socket.destroy();
    expect((await receivers.post(target('/secret'), {}, BODY, {})).error).toMatch(/^the connection failed: \w+$/);
    const refused = new URL('http://127.0.0.1:1/secret');
    expect((await receivers.post(refused, {}, BODY, {})).error).toMatch(/^the connection failed: ECONNREFUSED$/);
  });

  it('is not made to a private address that is not listed', async () => {
    const strict = makeReceivers('false');
    const { error } = await strict.post(target(), {}, BODY, {});
    expect(error).toContain('not allowed');
    expect((await strict.post(new URL(`http://localhost:${port()}/`), {}, BODY, {})).error).toContain('not allowed');
    expect(connections).toBe(0);
    await strict.close();
  });
});
