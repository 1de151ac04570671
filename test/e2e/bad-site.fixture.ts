/**
 * A site where everything is wrong, one wrong thing per host name: `http://<kind>.bad.test:<port>/` misbehaves as its
 * first label says. Names come from a DNS server of our own; all of it lives on loopback.
 */
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type net from 'node:net';
import { type AddressInfo, type Server } from 'node:net';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import {
  startDns,
  startUdpCounter,
  TEST_CERT,
  TEST_KEY,
  type DnsServer,
  type UdpCounter,
  type Zone,
} from '@troupe/testing';
import { freePort } from '../support/free-port.js';

export type Misbehaviour = (request: IncomingMessage, response: ServerResponse, site: BadSite) => void;

/** A listener that nobody may reach; it would answer with `SECRET`. */
export const SECRET = 'the secret of a forbidden address';

const MB = 1024 * 1024;
const DRIP_MS = 100;

export interface BadSite {
  /** Of the site, on 127.0.0.1. */
  port: number;
  tlsPort: number;
  /** Nobody listens here. */
  refusedPort: number;
  /** Forbidden listeners: `127.0.0.2:port` and `127.0.0.1:forbiddenPort`. */
  forbiddenPort: number;
  /** Connections to the forbidden listeners. */
  forbiddenHits(): number;
  /** STUN and the like on 127.0.0.1. */
  udp: UdpCounter;
  dns: DnsServer;
  zone: Zone;
  /** What a fetcher may reach, as `ALLOW_PRIVATE_TARGETS` wants it. */
  allowed: string;
  /** Paths asked for, by host name. */
  log: Map<string, string[]>;
  /** Address of a kind of wrong; the name resolves to 127.0.0.1. */
  url(kind: string, path?: string): string;
  close(): Promise<void>;
}

export function page(title: string, body: string, head = ''): string {
  const text = `This is the page "${title}", with enough words that nobody could take it for an empty one.`;
  return `<!doctype html><html><head><title>${title}</title>${head}</head><body><main><h1>${title}</h1><p>${text}</p>${body}</main></body></html>`;
}

function html(response: ServerResponse, text: string, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(text);
}

function bytes(response: ServerResponse, body: Uint8Array, headers: Record<string, string>): void {
  response.writeHead(200, { 'content-type': 'text/html', ...headers }).end(body);
}

/** Written past the HTTP library, connection closed afterwards. */
function raw(request: IncomingMessage, text: string): void {
  request.socket.end(Buffer.from(text, 'latin1'));
}

/** Writes again and again until the client has gone; `pauseMs` 0 = as fast as it reads. */
function pour(stream: NodeJS.WritableStream & { destroyed?: boolean }, chunk: () => string | Buffer, pauseMs: number) {
  stream.on('error', () => undefined);
  const write = (): void => {
    if (stream.destroyed === true) return;
    const goesOn = stream.write(chunk());
    if (pauseMs > 0) setTimeout(write, pauseMs);
    else if (goesOn) setImmediate(write);
    else stream.once('drain', write);
  };
  write();
}

/** A gigabyte of zeros in a megabyte: many members, which decoders read as one. */
const gzipBomb = (): Buffer => {
  const member = gzipSync(Buffer.alloc(16 * MB));
  return Buffer.concat(Array.from({ length: 64 }, () => member));
};

const brotliBomb = (): Buffer =>
  brotliCompressSync(Buffer.alloc(160 * MB), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });

const manyLinks = (count: number): string =>
  Array.from({ length: count }, (_, n) => `<a href="/link/${n}">link ${n}</a>`).join('\n');

function chain(response: ServerResponse, url: string, hops: number): void {
  const done = Number(/hop=(\d+)/.exec(url)?.[1] ?? 0);
  if (done >= hops) return html(response, page('end of the chain', ''));
  response.writeHead(302, { location: `/?hop=${done + 1}` }).end();
}

/** What the hosts answer for every path but robots.txt. */
export const MISBEHAVIOURS: Record<string, Misbehaviour> = {
  fine: (_request, response) => html(response, page('fine', '')),
  empty: (_request, response) => html(response, ''),
  blank: (_request, response) => html(response, '<html><head></head><body> </body></html>'),
  challenge: (_request, response) =>
    response
      .writeHead(403, { 'content-type': 'text/html', server: 'cloudflare', 'cf-mitigated': 'challenge' })
      .end(
        '<html><head><title>Just a moment...</title></head><body><script>window._cf_chl_opt={}</script></body></html>',
      ),
  'soft-challenge': (_request, response) =>
    html(
      response,
      '<html><head><title>Just a moment...</title></head><body><script src="/cf-chl-x.js"></script></body></html>',
    ),
  'not-found': (_request, response) => response.writeHead(404, { 'content-type': 'text/html' }).end(page('gone', '')),
  image: (_request, response) =>
    bytes(response, Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]), { 'content-type': 'image/png' }),
  binary: (_request, response) =>
    bytes(response, Buffer.alloc(5000, 7), { 'content-type': 'application/octet-stream' }),
  'binary-html': (_request, response) =>
    bytes(response, Buffer.from('PK\x03\x04' + '\x00\x01\x02\x03'.repeat(500), 'latin1'), {}),

  endless: (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    pour(response, () => Buffer.alloc(MB, 'x '), 0);
  },
  'endless-headers': (request) => {
    request.socket.write('HTTP/1.1 200 OK\r\n');
    pour(request.socket, () => `x-more: ${'y'.repeat(4000)}\r\n`, 0);
  },
  'gzip-bomb': (_request, response) => bytes(response, gzipBomb(), { 'content-encoding': 'gzip' }),
  'double-gzip-bomb': (_request, response) =>
    bytes(response, gzipSync(gzipBomb()), { 'content-encoding': 'gzip, gzip' }),
  'brotli-bomb': (_request, response) => bytes(response, brotliBomb(), { 'content-encoding': 'br' }),
  'five-codings': (_request, response) =>
    bytes(response, Buffer.from('x'), { 'content-encoding': 'gzip, gzip, gzip, gzip, gzip' }),
  'not-gzip': (_request, response) => bytes(response, Buffer.from(page('plain', '')), { 'content-encoding': 'gzip' }),
  'cut-gzip': (_request, response) =>
    bytes(response, gzipSync(page('cut', 'x'.repeat(5000))).subarray(0, 90), { 'content-encoding': 'gzip' }),
  'unknown-coding': (_request, response) =>
    bytes(response, Buffer.from(page('rot', '')), { 'content-encoding': 'rot13' }),

  loop: (request, response) => response.writeHead(302, { location: request.url === '/a' ? '/b' : '/a' }).end(),
  'self-loop': (_request, response) => response.writeHead(301, { location: '/' }).end(),
  'hops-20': (request, response) => chain(response, request.url ?? '', 20),
  'hops-21': (request, response) => chain(response, request.url ?? '', 21),
  'refresh-loop': (request, response) =>
    html(
      response,
      page('again', '', `<meta http-equiv="refresh" content="0;url=${request.url === '/a' ? '/b' : '/a'}">`),
    ),
  'redirect-to': (request, response) => {
    const to = new URL(request.url ?? '/', 'http://x').searchParams.get('to') ?? '/';
    response.writeHead(302, { location: to.replace(/[^ -~]/g, encodeURIComponent), connection: 'close' }).end();
  },
  'refresh-to': (request, response) => {
    const to = new URL(request.url ?? '/', 'http://x').searchParams.get('to') ?? '/';
    html(response, page('over there', '', `<meta http-equiv="refresh" content="0;url=${to}">`));
  },

  'charset-klingon': (_request, response) =>
    html(response, page('charset', ''), { 'content-type': 'text/html; charset=klingon' }),
  'charset-invalid': (_request, response) =>
    bytes(response, Buffer.from(page('charset', '<p>\xff\xfe\x80 after</p>'), 'latin1'), {
      'content-type': 'text/html; charset=utf-8',
    }),
  'charset-lies': (_request, response) =>
    html(response, page('charset', '<p>grün</p>', '<meta charset="iso-8859-7">'), {
      'content-type': 'text/html; charset="utf-8',
    }),

  'slow-body': (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    pour(response, () => 'a', DRIP_MS);
  },
  'slow-headers': (request) => {
    request.socket.write('HTTP/1.1 200 OK\r\nx-slow: ');
    pour(request.socket, () => 'a', DRIP_MS);
  },
  silent: () => undefined,
  stalled: (_request, response) => void response.writeHead(200, { 'content-type': 'text/html' }).write('<html>'),

  reset: (request) => request.socket.resetAndDestroy(),
  hangup: (request) => request.socket.destroy(),
  'not-http': (request) => raw(request, 'SSH-2.0-OpenSSH_9.2p1\r\n'),
  'garbage-headers': (request) => raw(request, 'HTTP/1.1 200 OK\r\n\x00\x01\xff: \x02\r\n\r\nhello'),
  'garbage-status': (request) => raw(request, 'HTTP/1.1 banana\r\n\r\n'),
  'garbage-chunks': (request) =>
    raw(request, 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ntransfer-encoding: chunked\r\n\r\nZZZ\r\nhello\r\n'),
  'length-too-long': (request) =>
    raw(request, 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 5000\r\n\r\n<p>cut off'),
  'length-too-short': (request) => {
    const body = page('short', '');
    raw(
      request,
      `HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: ${body.length}\r\n\r\n${body}AND THEN SOME`,
    );
  },
  'length-huge': (request) =>
    raw(request, 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 10737418240\r\n\r\n<p>'),
  'length-garbage': (request) =>
    raw(request, 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: -5\r\n\r\n<p>hello'),

  'links-10000': (request, response) =>
    html(response, request.url === '/' ? page('ten thousand', manyLinks(10_000)) : page(`leaf ${request.url}`, '')),
  deep: (_request, response) => html(response, page('deep', '<div>'.repeat(100_000) + 'bottom')),
  unclosed: (_request, response) => html(response, page('unclosed', '<a <!-- '.repeat(50_000))),
  spans: (_request, response) =>
    html(response, page('spans', `<table>${'<tr><td colspan=1000 rowspan=65534>x</td></tr>'.repeat(200)}</table>`)),
  'long-attribute': (_request, response) => html(response, page('long', `<p title="${'x'.repeat(5 * MB)}">words</p>`)),
};

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  site: BadSite,
  extra: Record<string, Misbehaviour>,
) {
  const host = (request.headers.host ?? '').replace(/:\d+$/, '');
  const kind = host.split('.')[0] ?? '';
  site.log.set(host, [...(site.log.get(host) ?? []), request.url ?? '']);
  if (request.socket.listenerCount('error') < 5) request.socket.on('error', () => undefined);
  const misbehave = extra[kind] ?? MISBEHAVIOURS[kind];
  const isOdd = misbehave === undefined || (request.url === '/robots.txt' && !kind.startsWith('robots'));
  if (isOdd) return void response.writeHead(404, { 'content-type': 'text/plain' }).end('not here');
  misbehave(request, response, site);
}

async function listen(server: Server, host: string, port = 0): Promise<number> {
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  return (server.address() as AddressInfo).port;
}

/** `extra` adds kinds of a spec's own. */
export async function startBadSite(extra: Record<string, Misbehaviour> = {}): Promise<BadSite> {
  const sockets = new Set<net.Socket>();
  let hits = 0;
  const track = (socket: net.Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  const forbidden = (): http.Server =>
    http
      .createServer((_request, response) =>
        response
          .writeHead(200, { 'access-control-allow-origin': '*', 'content-type': 'text/html' })
          .end(page(SECRET, '')),
      )
      .on('connection', () => hits++);
  const zone: Zone = {};
  const listener = (request: IncomingMessage, response: ServerResponse) => answer(request, response, site, extra);
  const plain = http.createServer(listener);
  const tls = https.createServer({ key: TEST_KEY, cert: TEST_CERT }, listener);
  const [outside, beside] = [forbidden(), forbidden()];
  const servers: Server[] = [plain, tls, outside, beside];
  for (const server of servers) server.on('connection', track);
  const port = await listen(plain, '127.0.0.1');
  const tlsPort = await listen(tls, '127.0.0.1');
  await listen(outside, '127.0.0.2', port);
  const forbiddenPort = await listen(beside, '127.0.0.1');
  const refusedPort = await freePort();
  const [dns, udp] = await Promise.all([startDns(zone), startUdpCounter()]);
  const site: BadSite = {
    port,
    tlsPort,
    refusedPort,
    forbiddenPort,
    forbiddenHits: () => hits,
    udp,
    dns,
    zone,
    allowed: [port, tlsPort, refusedPort].map((open) => `127.0.0.1:${open}`).join(','),
    log: new Map(),
    url: (kind, path = '/') => {
      zone[`${kind}.bad.test`] ??= ['127.0.0.1'];
      return `http://${kind}.bad.test:${port}${path}`;
    },
    close: async () => {
      dns.close();
      udp.close();
      for (const socket of sockets) socket.destroy();
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
  return site;
}
