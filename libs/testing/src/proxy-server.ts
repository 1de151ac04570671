/** Proxies on loopback for specs: HTTP, HTTPS and SOCKS5, all of which want a name and a password. */
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import net, { type AddressInfo, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TEST_CERT, TEST_KEY } from './loopback.js';

export const PROXY_USER = 'troupe';
export const PROXY_PASSWORD = 'p@ss:word/1';

export type ProxyKind = 'http' | 'https' | 'socks5';

export interface TestProxy {
  /** With the right credentials. */
  url: string;
  port: number;
  /** Where it has connected to, as `address:port`, in order. */
  tunnels: string[];
  /** Wrong or missing credentials. */
  rejected: number;
  /** TCP connections so far. */
  connections: number;
  close(): Promise<void>;
}

export interface ProxyOptions {
  /** Address that sites see, one of 127.0.0.0/8. */
  exit: string;
  /** @default a free one */
  port?: number;
  /** Status that every CONNECT is answered with in place of a tunnel. */
  answer?: number;
}

export async function startProxy(kind: ProxyKind, options: ProxyOptions): Promise<TestProxy> {
  const sockets = new Set<Socket>();
  const credentials = `${PROXY_USER}:${encodeURIComponent(PROXY_PASSWORD)}`;
  const proxy: TestProxy = {
    url: '',
    port: 0,
    tunnels: [],
    rejected: 0,
    connections: 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  const server: Server =
    kind === 'socks5'
      ? net.createServer((socket) => serveSocks(socket, proxy, options))
      : httpProxy(kind, proxy, options);
  server.on('connection', (socket: Socket) => {
    proxy.connections++;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  proxy.port = (server.address() as AddressInfo).port;
  proxy.url = `${kind}://${credentials}@127.0.0.1:${proxy.port}`;
  return proxy;
}

function httpProxy(kind: 'http' | 'https', proxy: TestProxy, options: ProxyOptions): Server {
  const server = kind === 'https' ? https.createServer({ key: TEST_KEY, cert: TEST_CERT }) : http.createServer();
  const expected = `Basic ${Buffer.from(`${PROXY_USER}:${PROXY_PASSWORD}`).toString('base64')}`;
  return server.on('connect', (request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => undefined);
    if (request.headers['proxy-authorization'] !== expected) {
      proxy.rejected++;
      return socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    }
    if (options.answer !== undefined) return socket.end(`HTTP/1.1 ${options.answer} No\r\n\r\n`);
    const target = request.url ?? '';
    proxy.tunnels.push(target);
    const { hostname, port } = new URL(`http://${target}`);
    const out = net.connect({ host: hostname, port: Number(port || 80), localAddress: options.exit });
    out.once('error', () => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
    out.once('connect', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      join(socket, out);
    });
  });
}

/** Steps of RFC 1928 and 1929, each message in one piece, as they come on loopback. */
function serveSocks(socket: Socket, proxy: TestProxy, options: ProxyOptions): void {
  const { length } = Buffer.from(PROXY_USER);
  socket.once('data', () => {
    socket.write(Buffer.from([5, 2]));
    socket.once('data', (auth: Buffer) => {
      const user = auth.toString('latin1', 2, 2 + length);
      const password = auth.toString('latin1', 3 + length);
      const isWelcome = auth[1] === length && user === PROXY_USER && password === PROXY_PASSWORD;
      socket.write(Buffer.from([1, isWelcome ? 0 : 1]));
      if (!isWelcome) {
        proxy.rejected++;
        return socket.end();
      }
      socket.once('data', (request: Buffer) => connectSocks(socket, request, proxy, options));
    });
  });
}

function connectSocks(socket: Socket, request: Buffer, proxy: TestProxy, { exit }: ProxyOptions): void {
  const isV4 = request[3] === 1;
  const host = isV4 ? [...request.subarray(4, 8)].join('.') : `type ${request[3]}`;
  const port = request.readUInt16BE(request.length - 2);
  proxy.tunnels.push(`${host}:${port}`);
  const reply = (code: number): Buffer => Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0]);
  if (!isV4) return void socket.end(reply(8));
  const out = net.connect({ host, port, localAddress: exit });
  out.once('error', () => socket.end(reply(5)));
  out.once('connect', () => {
    socket.write(reply(0));
    join(socket, out);
  });
}

function join(a: Duplex, b: Socket): void {
  const end = (): void => {
    a.destroy();
    b.destroy();
  };
  a.on('error', end).on('close', end).pipe(b);
  b.on('error', end).on('close', end).pipe(a);
}
