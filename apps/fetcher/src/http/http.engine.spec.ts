import { createGzip, brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { parseAllowList, Resolver } from '@troupe/egress';
import { type EngineRequest, type EngineResponse } from './engine.js';
import { HttpEngine } from './http.engine.js';
import { engineRequest } from './engine-request.fixture.js';
import {
  startDns,
  startRaw,
  startSite,
  type DnsServer,
  type Handler,
  type RawServer,
  type Site,
} from '@troupe/testing';

const KB = 1024;
const text = (response: EngineResponse): string => Buffer.from(response.body).toString();

let site: Site;
let secure: Site;
let forbidden: Site;
let dns: DnsServer;
let engine: HttpEngine;
let routes: Record<string, Handler> = {};
let rebinding = 0;
const raws: RawServer[] = [];

/** Serves `routes`; everything else is a small page. */
const handle: Handler = (request, response) => {
  const route = routes[request.url ?? ''];
  if (route) return route(request, response);
  response.setHeader('content-type', 'text/html');
  response.end('<p>hello</p>');
};

function engineFor(...ports: number[]): HttpEngine {
  const allow = parseAllowList(ports.map((port) => `127.0.0.1:${port}`).join(','));
  const resolver = new Resolver({ servers: [dns.address], allow, maxTtlMs: 0 });
  return new HttpEngine({ resolver, allow, identity: { userAgent: 'Troupe/0.1', contactUrl: 'https://bots.test/' } });
}

function get(url: string, changes: Partial<EngineRequest> = {}, signal?: AbortSignal): Promise<EngineResponse> {
  const request = engineRequest(url, { timeoutMs: 5_000, maxBytes: 256 * KB, ...changes });
  return engine.fetch(request, signal ?? new AbortController().signal);
}

async function raw(reply: string | Buffer, end = true): Promise<RawServer> {
  const server = await startRaw((socket) => {
    socket.once('data', () => (end ? socket.end(reply) : socket.write(reply)));
  });
  raws.push(server);
  await engine.close();
  engine = engineFor(site.port, secure.port, server.port);
  return server;
}

beforeAll(async () => {
  site = await startSite(handle);
  secure = await startSite(handle, { tls: true });
  forbidden = await startSite((_request, response) => response.end('secret'));
  dns = await startDns({
    'site.test': ['127.0.0.1'],
    'private.test': ['10.0.0.1'],
    'elsewhere.test': ['127.0.0.7'],
    'rebind.test': () => [++rebinding === 1 ? '127.0.0.1' : '127.0.0.7'],
  });
  engine = engineFor(site.port, secure.port);
});

afterEach(async () => {
  routes = {};
  site.log.length = site.headers.length = 0;
  for (const server of raws.splice(0)) await server.close();
});

afterAll(async () => {
  await engine.close();
  await Promise.all([site.close(), secure.close(), forbidden.close()]);
  dns.close();
});

describe('the http engine', () => {
  it('returns status, headers, bytes and address of a page and says who it is', async () => {
    routes['/a?b=1'] = (_request, response) => {
      response.writeHead(404, 'Nothing Here', { 'content-type': 'text/html; charset=latin1', 'x-two': ['1', '2'] });
      response.end('<p>gone</p>');
    };
    const answer = await get(`${site.origin}/a?b=1#part`);
    expect(answer).toMatchObject({
      statusCode: 404,
      statusText: 'Nothing Here',
      contentType: 'text/html; charset=latin1',
      finalUrl: `${site.origin}/a?b=1#part`,
      redirects: [],
      retryAfterMs: null,
      rendered: false,
      engine: 'http',
    });
    expect(answer.headers['x-two']).toBe('1, 2');
    expect(text(answer)).toBe('<p>gone</p>');
    expect(site.headers[0]?.['user-agent']).toBe('Troupe/0.1 (+https://bots.test/)');
  });

  it('uses one connection for pages in a row', async () => {
    const before = site.connections;
    for (let i = 0; i < 5; i++) await get(`${site.origin}/${i}`);
    expect(site.connections - before).toBeLessThanOrEqual(1);
  });

  it('reports Retry-After in milliseconds', async () => {
    routes['/busy'] = (_request, response) => response.writeHead(503, { 'retry-after': '7' }).end();
    expect((await get(`${site.origin}/busy`)).retryAfterMs).toBe(7_000);
  });

  it('sends the callers headers but not those that belong to the connection', async () => {
    await get(`${site.origin}/`, {
      headers: { 'X-Mine': 'yes', Host: 'evil.test', Connection: 'close', 'User-Agent': 'me' },
    });
    expect(site.headers[0]).toMatchObject({ 'x-mine': 'yes', 'user-agent': 'me', host: `127.0.0.1:${site.port}` });
  });

  it('refuses headers that would break the request apart', async () => {
    const bad = get(`${site.origin}/`, { headers: { 'x-a': 'b\r\nx-c: d' } });
    await expect(bad).rejects.toMatchObject({ code: 'BAD_REQUEST' });
    expect(site.log).toEqual([]);
  });
});

describe('targets', () => {
  it('never connects to a forbidden address, however it is written', async () => {
    const hosts = ['127.0.0.1', '2130706433', '0x7f.1', '0177.0.0.1', '127.1', 'localhost', '[::ffff:127.0.0.1]', '0'];
    for (const host of hosts) {
      const refused = get(`http://${host}:${forbidden.port}/`);
      await expect(refused).rejects.toMatchObject({ code: 'SCRAPE_TARGET_FORBIDDEN', retryable: false });
    }
    expect(forbidden.connections).toBe(0);
  });

  it('refuses other schemes', async () => {
    for (const url of ['file:///etc/passwd', 'ftp://site.test/']) {
      await expect(get(url)).rejects.toMatchObject({ code: 'SCRAPE_TARGET_FORBIDDEN' });
    }
  });

  it('reaches allowed addresses by name, and refuses names that lead elsewhere', async () => {
    expect((await get(`http://site.test:${site.port}/`)).statusCode).toBe(200);
    for (const name of ['private.test', 'elsewhere.test']) {
      await expect(get(`http://${name}:${site.port}/`)).rejects.toMatchObject({ code: 'SCRAPE_TARGET_FORBIDDEN' });
    }
  });

  it('is not fooled by a name that answers differently the second time', async () => {
    routes['/again'] = (_request, response) =>
      response.writeHead(302, { location: '/twice', connection: 'close' }).end();
    rebinding = 0;
    const refused = get(`http://rebind.test:${site.port}/again`);
    await expect(refused).rejects.toMatchObject({ code: 'SCRAPE_TARGET_FORBIDDEN' });
    expect(site.log).toEqual(['GET /again']);
  });

  it('says that a host is unknown', async () => {
    const unknown = get('http://unknown.test/');
    await expect(unknown).rejects.toMatchObject({ code: 'SCRAPE_DNS_RESOLUTION_ERROR', retryable: false });
  });

  it('says that a connection was refused, and that it may be tried again', async () => {
    const gone = await raw('');
    await gone.close();
    const refused = get(`http://127.0.0.1:${gone.port}/`);
    await expect(refused).rejects.toMatchObject({
      code: 'SCRAPE_SITE_ERROR',
      retryable: true,
      details: { reason: 'ECONNREFUSED' },
    });
  });
});

describe('redirects', () => {
  const redirect = (from: string, to: string, status = 302): void => {
    routes[from] = (_request, response) => response.writeHead(status, { location: to }).end('moved');
  };

  it('follows them by hand and asks before each', async () => {
    redirect('/1', '/2', 301);
    redirect('/2', `${site.origin}/3?q#x`, 303);
    redirect('/3?q', 'four', 307);
    const asked: string[] = [];
    const answer = await get(`${site.origin}/1`, { onRedirect: async (url) => void asked.push(url) });
    expect(answer.redirects).toEqual([`${site.origin}/2`, `${site.origin}/3?q#x`, `${site.origin}/four#x`]);
    expect(asked).toEqual(answer.redirects);
    expect(answer.finalUrl).toBe(`${site.origin}/four#x`);
    expect(site.log).toEqual(['GET /1', 'GET /2', 'GET /3?q', 'GET /four']);
  });

  it('sends nothing to a target that the caller refuses', async () => {
    redirect('/1', '/secret');
    const reason = new Error('robots');
    const stopped = get(`${site.origin}/1`, { onRedirect: () => Promise.reject(reason) });
    await expect(stopped).rejects.toBe(reason);
    expect(site.log).toEqual(['GET /1']);
  });

  it('never connects to a forbidden address that a redirect names', async () => {
    for (const to of [
      `http://127.0.0.1:${forbidden.port}/`,
      `http://elsewhere.test:${site.port}/`,
      'file:///etc/passwd',
    ]) {
      redirect('/out', to);
      await expect(get(`${site.origin}/out`)).rejects.toMatchObject({ code: 'SCRAPE_TARGET_FORBIDDEN' });
    }
    expect(forbidden.connections).toBe(0);
  });

  it('ends loops and chains that are too long', async () => {
    redirect('/loop', '/pool');
    redirect('/pool', '/loop');
    const code = 'SCRAPE_TOO_MANY_REDIRECTS';
    await expect(get(`${site.origin}/loop`)).rejects.toMatchObject({ code, retryable: false });
    expect(site.log).toHaveLength(2);
    for (let i = 0; i < 30; i++) redirect(`/chain${i}`, `/chain${i + 1}`);
    await expect(get(`${site.origin}/chain0`)).rejects.toMatchObject({ code });
    expect(site.log).toHaveLength(2 + 21);
  });

  it('gets through a page that sets a cookie and redirects to itself', async () => {
    routes['/wall'] = (request, response) => {
      if (request.headers.cookie === 'ok=1') return response.end('inside');
      response.writeHead(302, { location: '/wall', 'set-cookie': 'ok=1; Path=/' }).end();
    };
    expect(text(await get(`${site.origin}/wall`))).toBe('inside');
  });

  it('drops the callers headers for good when another origin is entered', async () => {
    const headers = { authorization: 'Bearer x', cookie: 'a=b', 'x-key': '1' };
    redirect('/same', '/out');
    redirect('/out', `http://site.test:${site.port}/other`);
    redirect('/other', `${site.origin}/back`);
    await get(`${site.origin}/same`, { headers });
    const sent = site.headers.map((sentHeaders) => [
      sentHeaders.authorization,
      sentHeaders.cookie,
      sentHeaders['x-key'],
    ]);
    const nothing = [undefined, undefined, undefined];
    expect(sent).toEqual([['Bearer x', 'a=b', '1'], ['Bearer x', 'a=b', '1'], nothing, nothing]);
  });

  it('takes a redirect without a target for a document', async () => {
    routes['/nowhere'] = (_request, response) => response.writeHead(302).end('lost');
    expect(await get(`${site.origin}/nowhere`)).toMatchObject({ statusCode: 302, redirects: [] });
  });
});

describe('bodies', () => {
  const serve = (encoding: string, body: Buffer): void => {
    routes['/body'] = (_request, response) => response.writeHead(200, { 'content-encoding': encoding }).end(body);
  };

  it('decodes what it announces', async () => {
    const page = Buffer.from('<p>häufig</p>'.repeat(500));
    const codings: [string, Buffer][] = [
      ['gzip', gzipSync(page)],
      ['x-gzip', gzipSync(page)],
      ['deflate', deflateSync(page)],
      ['deflate', deflateRawSync(page)],
      ['br', brotliCompressSync(page)],
      ['gzip, br', brotliCompressSync(gzipSync(page))],
      ['identity', page],
      ['gzip', page],
    ];
    for (const [encoding, body] of codings) {
      serve(encoding, body);
      expect([encoding, text(await get(`${site.origin}/body`)) === page.toString()]).toEqual([encoding, true]);
    }
    expect(site.headers[0]?.['accept-encoding']).toMatch(/^gzip, deflate, br/);
  });

  it('keeps what arrived of a compressed body that was cut short', async () => {
    const whole = gzipSync(Buffer.from(Array.from({ length: 5_000 }, (_, i) => `<p>${i}</p>`).join('')));
    serve('gzip', whole.subarray(0, whole.length - 2_000));
    expect(text(await get(`${site.origin}/body`))).toMatch(/^<p>0<\/p><p>1<\/p>/);
  });

  it('says that a body cannot be decoded', async () => {
    for (const encoding of ['br', 'rot13', 'gzip, gzip, gzip, gzip']) {
      serve(encoding, Buffer.from('not that'));
      await expect(get(`${site.origin}/body`)).rejects.toMatchObject({ code: 'SCRAPE_SITE_ERROR' });
    }
  });

  it('stops a decompression bomb while it streams', async () => {
    let sent = 0;
    routes['/bomb'] = (_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      const gzip = createGzip();
      gzip.pipe(response);
      const zeros = Buffer.alloc(KB * KB);
      const pump = (): void => {
        while (sent < 2_000 && !response.destroyed) {
          sent++;
          if (!gzip.write(zeros)) return void gzip.once('drain', pump);
        }
      };
      pump();
    };
    const refused = get(`${site.origin}/bomb`, { maxBytes: KB * KB });
    await expect(refused).rejects.toMatchObject({ code: 'SCRAPE_BODY_TOO_LARGE', retryable: false });
    expect(sent).toBeLessThan(500);
  });

  it('stops nested bombs', async () => {
    serve('gzip, gzip', gzipSync(gzipSync(Buffer.alloc(4 * KB * KB))));
    await expect(get(`${site.origin}/body`)).rejects.toMatchObject({ code: 'SCRAPE_BODY_TOO_LARGE' });
  });

  it('refuses by Content-Length before reading, and by count when there is none', async () => {
    routes['/long'] = (_request, response) => response.writeHead(200, { 'content-length': 512 * KB }).write('x');
    routes['/endless'] = (_request, response) => {
      const pump = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(16 * KB)));
        response.once('drain', pump);
      };
      pump();
    };
    for (const path of ['/long', '/endless']) {
      await expect(get(site.origin + path)).rejects.toMatchObject({ code: 'SCRAPE_BODY_TOO_LARGE' });
    }
  });

  it('reports a connection that closes before the body is complete', async () => {
    const server = await raw('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf');
    const broken = get(`http://127.0.0.1:${server.port}/`);
    await expect(broken).rejects.toMatchObject({ code: 'SCRAPE_SITE_ERROR', retryable: true });
  });
});

describe('time', () => {
  const closedSoon = async (server: RawServer): Promise<number> => {
    for (let i = 0; i < 500 && server.open() > 0; i++) await new Promise((resolve) => setTimeout(resolve, 10));
    return server.open();
  };

  it('ends the request at the deadline, whether headers or body are slow', async () => {
    for (const reply of ['', 'HTTP/1.1 200 OK\r\nx-slow: 1\r\n', 'HTTP/1.1 200 OK\r\n\r\nfirst bytes']) {
      const server = await raw(reply, false);
      const slow = get(`http://127.0.0.1:${server.port}/`, { timeoutMs: 150 });
      await expect(slow).rejects.toMatchObject({ code: 'SCRAPE_TIMEOUT', retryable: true });
      expect(await closedSoon(server)).toBe(0);
    }
  });

  it('ends an endless trickle at the deadline', async () => {
    routes['/trickle'] = (_request, response) => {
      const timer = setInterval(() => response.write('.'), 10);
      response.once('close', () => clearInterval(timer));
    };
    const started = performance.now();
    await expect(get(`${site.origin}/trickle`, { timeoutMs: 200 })).rejects.toMatchObject({ code: 'SCRAPE_TIMEOUT' });
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it('counts the time in which the caller thinks about a redirect', async () => {
    routes['/r'] = (_request, response) => response.writeHead(302, { location: '/s' }).end();
    const never = get(`${site.origin}/r`, { timeoutMs: 100, onRedirect: () => new Promise(() => undefined) });
    await expect(never).rejects.toMatchObject({ code: 'SCRAPE_TIMEOUT' });
  });

  it('ends when the caller gives up', async () => {
    const server = await raw('', false);
    const caller = new AbortController();
    setTimeout(() => caller.abort(), 50);
    const given = get(`http://127.0.0.1:${server.port}/`, {}, caller.signal);
    await expect(given).rejects.toMatchObject({ code: 'SCRAPE_JOB_CANCELLED' });
    expect(await closedSoon(server)).toBe(0);
  });
});

describe('TLS', () => {
  it('verifies certificates, and says what would help', async () => {
    const refused = get(`${secure.origin}/`);
    await expect(refused).rejects.toMatchObject({ code: 'SCRAPE_SSL_ERROR', retryable: false });
    await expect(refused).rejects.toThrow(/skipTlsVerification: true/);
    expect(secure.log).toEqual([]);
  });

  it('does not verify when told, and does not lend such a connection to a request that verifies', async () => {
    expect((await get(`${secure.origin}/`, { skipTlsVerification: true })).statusCode).toBe(200);
    await expect(get(`${secure.origin}/`)).rejects.toMatchObject({ code: 'SCRAPE_SSL_ERROR' });
  });

  it('fails as TLS when a plain server answers', async () => {
    const plain = get(`https://127.0.0.1:${site.port}/`, { skipTlsVerification: true });
    await expect(plain).rejects.toMatchObject({ code: 'SCRAPE_SSL_ERROR' });
    await expect(plain).rejects.toThrow(/not verified/);
  });
});

describe('answers that break the rules', () => {
  it('takes headers with bytes outside ASCII', async () => {
    const reply = Buffer.from(
      'HTTP/1.1 200 Gr\xfc\xdfe\r\nx-odd: caf\xe9 \xff\r\ncontent-length: 2\r\n\r\nok',
      'latin1',
    );
    const server = await raw(reply);
    expect(text(await get(`http://127.0.0.1:${server.port}/`))).toBe('ok');
  });

  it('names a malformed answer, so that the ladder can try the forgiving client', async () => {
    const server = await raw('HTTP/1.1 200 OK\r\nbad header: \x01\x02\r\n\r\nok');
    await expect(get(`http://127.0.0.1:${server.port}/`)).rejects.toMatchObject({
      code: 'SCRAPE_SITE_ERROR',
      retryable: false,
      details: { reason: expect.stringMatching(/^(HPE_|HTTPParserError)/) as unknown },
    });
  });
});
