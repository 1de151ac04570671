/** Servers on loopback for specs: sites, listeners that must not be reached, a DNS server. */
import dgram from 'node:dgram';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';

/** Self-signed for localhost and 127.0.0.1; of no value elsewhere. */
export const TEST_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgZT4q+gyb56xT3MNi
Iu0zEPZK0cfVrpZOR+l1RB6oOoWhRANCAAScztKIcX7zUR+1X7dB0YFy9FZAQ8BE
CDl2VeOs0LG4K6EpFLBcYGV+6km3wFHvpvZuG5ZVftgY/zhJDrXlbM57
-----END PRIVATE KEY-----
`;
export const TEST_CERT = `-----BEGIN CERTIFICATE-----
MIIBmjCCAUGgAwIBAgIUPHY6+SVjUmDm51RaMDM91bfaCkwwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTE2MDMyMloYDzIxMjYxMDI4
MTYwMzIyWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAScztKIcX7zUR+1X7dB0YFy9FZAQ8BECDl2VeOs0LG4K6EpFLBcYGV+
6km3wFHvpvZuG5ZVftgY/zhJDrXlbM57o28wbTAdBgNVHQ4EFgQUs06Uru0mXldT
/xRGnSLtXpY6EHAwHwYDVR0jBBgwFoAUs06Uru0mXldT/xRGnSLtXpY6EHAwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDRwAwRAIgLTcihkbx1Yv2vo2D6THSN2iYHl6ARBhjgULjVJ4Hut8CIG/2
DXeoprVzSMiiWlWRrhoXXyXDy0v7/OUFDR9Omv5a
-----END CERTIFICATE-----
`;

export interface Site {
  port: number;
  origin: string;
  /** Requests as `METHOD url`, in order. */
  log: string[];
  /** Headers of each request, in order. */
  headers: http.IncomingHttpHeaders[];
  /** TCP connections opened so far, requests or not. */
  connections: number;
  close(): Promise<void>;
}

export type Handler = (request: http.IncomingMessage, response: http.ServerResponse) => void;

export async function startSite(handler: Handler, options: { tls?: boolean; host?: string } = {}): Promise<Site> {
  const host = options.host ?? '127.0.0.1';
  const log: string[] = [];
  const headers: http.IncomingHttpHeaders[] = [];
  const sockets = new Set<net.Socket>();
  const listener: Handler = (request, response) => {
    log.push(`${request.method} ${request.url}`);
    headers.push(request.headers);
    handler(request, response);
  };
  const server = options.tls
    ? https.createServer({ key: TEST_KEY, cert: TEST_CERT }, listener)
    : http.createServer(listener);
  const site: Site = {
    port: 0,
    origin: '',
    log,
    headers,
    connections: 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  server.on('connection', (socket: net.Socket) => {
    site.connections++;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  site.port = (server.address() as AddressInfo).port;
  site.origin = `${options.tls ? 'https' : 'http'}://${host}:${site.port}`;
  return site;
}

export interface RawServer {
  port: number;
  connections: number;
  /** Connections still open. */
  open(): number;
  close(): Promise<void>;
}

/** A TCP server for answers that no HTTP library would send. */
export async function startRaw(onConnection: (socket: net.Socket) => void): Promise<RawServer> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    raw.connections++;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    onConnection(socket);
  });
  const raw: RawServer = {
    port: 0,
    connections: 0,
    open: () => sockets.size,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  raw.port = (server.address() as AddressInfo).port;
  return raw;
}

export interface UdpCounter {
  port: number;
  packets: number;
  close(): void;
}

export async function startUdpCounter(): Promise<UdpCounter> {
  const socket = dgram.createSocket('udp4');
  const counter: UdpCounter = { port: 0, packets: 0, close: () => socket.close() };
  socket.on('message', () => counter.packets++);
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  counter.port = socket.address().port;
  return counter;
}

/** [] = the name does not exist. */
type DnsAnswer = string[] | 'SERVFAIL';

/** Answer for a name, or a function of how often it was asked (A questions). */
export type Zone = Record<string, DnsAnswer | ((asked: number) => DnsAnswer)>;

export interface DnsServer {
  /** As `DNS_SERVERS` wants it. */
  address: string;
  port: number;
  /** A questions per name. */
  asked: Map<string, number>;
  close(): void;
}

/** Answers A questions from a zone with TTL 0, and NXDOMAIN for names that are not in it. */
/** @param port any free one when 0 */
export async function startDns(zone: Zone, port = 0): Promise<DnsServer> {
  const socket = dgram.createSocket('udp4');
  const asked = new Map<string, number>();
  socket.on('message', (query, peer) => {
    const { name, type, end } = readQuestion(query);
    if (type === 1) asked.set(name, (asked.get(name) ?? 0) + 1);
    const entry = zone[name];
    const answer = typeof entry === 'function' ? entry(asked.get(name) ?? 1) : (entry ?? []);
    socket.send(dnsReply(query, { end, type }, answer), peer.port, peer.address);
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(port, '127.0.0.1', resolve);
  });
  const bound = socket.address().port;
  return { address: `127.0.0.1:${bound}`, port: bound, asked, close: () => socket.close() };
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

const NO_ERROR = 0x8180;
const SERVFAIL = 0x8182;
const NO_SUCH_NAME = 0x8183;

function dnsReply(query: Buffer, { end, type }: { end: number; type: number }, answer: DnsAnswer): Buffer {
  const addresses = answer === 'SERVFAIL' || type !== 1 ? [] : answer;
  const head = Buffer.from(query.subarray(0, end));
  head.writeUInt16BE(answer === 'SERVFAIL' ? SERVFAIL : answer.length > 0 ? NO_ERROR : NO_SUCH_NAME, 2);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  const records = addresses.map((address) =>
    Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]),
  );
  return Buffer.concat([head, ...records]);
}
