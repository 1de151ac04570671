/**
 * A connection through one proxy to one checked address. The proxy is told the address, never the name, so that it
 * cannot choose another address. TLS with the site, its SNI and the `Host` header are the client's, end to end.
 */
import http from 'node:http';
import https from 'node:https';
import { connect, isIP, type Socket } from 'node:net';
import { TroupeError } from '@troupe/contracts';
import { pinnedLookup } from '@troupe/egress';
import { SocksClient } from 'socks';
import { ProxyFault } from './proxy-fault.js';

export interface TunnelRequest {
  proxy: URL;
  /** Checked addresses of the proxy itself; null: its name is the operator's and taken as it is. */
  proxyAddresses: string[] | null;
  /** Target of the tunnel, an IP address. */
  address: string;
  port: number;
}

/** Time until the proxy itself is reached. */
const REACH_MS = 5_000;
/** Time until the proxy has reached the site. */
const CONNECT_MS = 10_000;
const REFUSED = 'ECONNREFUSED';

/** @throws ProxyFault; TroupeError SCRAPE_SITE_ERROR when it is the site that the proxy cannot reach; the signal's reason */
export async function openTunnel(request: TunnelRequest, signal?: AbortSignal): Promise<Socket> {
  signal?.throwIfAborted();
  return request.proxy.protocol.startsWith('socks') ? throughSocks(request, signal) : throughHttp(request, signal);
}

/** `CONNECT address:port`, over TLS when the proxy's address says https. */
function throughHttp({ proxy, proxyAddresses, address, port }: TunnelRequest, signal?: AbortSignal): Promise<Socket> {
  const authority = isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
  const isSecure = proxy.protocol === 'https:';
  const request = (isSecure ? https : http).request({
    method: 'CONNECT',
    ...endpointOf(proxy, proxyAddresses),
    path: authority,
    headers: { host: authority, ...authorization(proxy) },
    agent: false,
    ...(isSecure ? { servername: isIP(bareHost(proxy)) === 0 ? bareHost(proxy) : '' } : {}),
  });
  return new Promise((resolve, reject) => {
    let hasReached = false;
    const timer = setTimeout(() => fail(new ProxyFault('cannot be reached in time', 'down')), REACH_MS);
    const fail = (error: Error): void => {
      done();
      request.on('error', () => undefined).destroy();
      reject(error);
    };
    const onAbort = (): void => fail(signal?.reason as Error);
    const done = (): void => {
      clearTimeout(timer);
      clearTimeout(patience);
      signal?.removeEventListener('abort', onAbort);
    };
    let patience: NodeJS.Timeout | undefined;
    request.once('socket', (socket) =>
      socket.once(isSecure ? 'secureConnect' : 'connect', () => {
        hasReached = true;
        clearTimeout(timer);
        patience = setTimeout(() => fail(new ProxyFault('does not answer', 'target')), CONNECT_MS);
      }),
    );
    request.once('error', (error) => fail(hasReached ? new ProxyFault('hangs up', 'target') : unreachable(error)));
    request.once('connect', ({ statusCode = 0 }, socket, head) => {
      if (statusCode < 200 || statusCode > 299) return fail(refusalOf(statusCode, socket));
      done();
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    request.once('response', ({ statusCode = 0, socket }) => fail(refusalOf(statusCode, socket)));
    signal?.addEventListener('abort', onAbort, { once: true });
    request.end();
  });
}

/** The proxy's own answer to CONNECT. 5xx: it speaks of the site. */
function refusalOf(statusCode: number, socket: { destroy(): void }): TroupeError {
  socket.destroy();
  if (statusCode === 407 || statusCode === 401)
    return new ProxyFault(`refuses our credentials (${statusCode})`, 'down');
  if (statusCode === 429) return new ProxyFault('allows no more requests (429)', 'down');
  if (statusCode >= 500) return siteUnreachable(`the proxy answered ${statusCode}`, 'PROXY_BAD_GATEWAY');
  return new ProxyFault(`does not connect to this address and port (${statusCode})`, 'target');
}

async function throughSocks(
  { proxy, proxyAddresses, address, port }: TunnelRequest,
  signal?: AbortSignal,
): Promise<Socket> {
  const endpoint = endpointOf(proxy, proxyAddresses);
  const socket = await reach(endpoint, signal);
  const stop = (): void => void socket.destroy();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const { username, password } = credentialsOf(proxy);
    await SocksClient.createConnection({
      command: 'connect',
      proxy: { host: endpoint.host, port: endpoint.port, type: 5, userId: username, password },
      destination: { host: address, port },
      existing_socket: socket,
      timeout: CONNECT_MS,
    });
    return socket;
  } catch (error) {
    socket.on('error', () => undefined).destroy();
    if (signal?.aborted) throw signal.reason;
    throw socksFailure(error);
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

function reach(endpoint: ReturnType<typeof endpointOf>, signal?: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(endpoint);
    const fail = (error: Error): void => {
      done();
      socket.on('error', () => undefined).destroy();
      reject(error);
    };
    const onError = (error: Error): void => fail(unreachable(error));
    const onAbort = (): void => fail(signal?.reason as Error);
    const timer = setTimeout(() => fail(new ProxyFault('cannot be reached in time', 'down')), REACH_MS);
    const done = (): void => {
      clearTimeout(timer);
      socket.off('error', onError);
      signal?.removeEventListener('abort', onAbort);
    };
    socket.once('error', onError).once('connect', () => {
      done();
      resolve(socket);
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** The library tells its failures apart by their texts alone. */
function socksFailure(error: unknown): TroupeError {
  const text = error instanceof Error ? error.message : '';
  if (/ConnectionRefused/.test(text)) return siteUnreachable('the connection was refused', REFUSED);
  if (/Unreachable|TTLExpired|rejected connection - Failure/.test(text)) {
    return siteUnreachable('the host cannot be reached', 'EHOSTUNREACH');
  }
  if (/Authentication failed|authentication type/i.test(text)) return new ProxyFault('refuses our credentials', 'down');
  if (/initial handshake/i.test(text)) return new ProxyFault('does not speak SOCKS5', 'down');
  return new ProxyFault(text === '' ? 'failed' : text.slice(0, 200), 'target');
}

function siteUnreachable(what: string, reason: string): TroupeError {
  return new TroupeError('SCRAPE_SITE_ERROR', `through the proxy: ${what} (${reason})`, {
    retryable: true,
    details: { reason },
  });
}

function unreachable(error: Error & { code?: string }): ProxyFault {
  return new ProxyFault(`cannot be reached (${error.code ?? error.message.slice(0, 100)})`, 'down');
}

const DEFAULT_PORTS: Record<string, number> = { 'http:': 80, 'https:': 443 };
const SOCKS_PORT = 1080;

export function portOfProxy({ port, protocol }: URL): number {
  return port === '' ? (DEFAULT_PORTS[protocol] ?? SOCKS_PORT) : Number(port);
}

function endpointOf(proxy: URL, addresses: string[] | null) {
  return {
    host: bareHost(proxy),
    port: portOfProxy(proxy),
    ...(addresses === null ? {} : { lookup: pinnedLookup(addresses) }),
  };
}

function bareHost(proxy: URL): string {
  return proxy.hostname.replace(/^\[|\]$/g, '');
}

function credentialsOf(proxy: URL): { username?: string; password?: string } {
  if (proxy.username === '') return {};
  return { username: decoded(proxy.username), password: decoded(proxy.password) };
}

function authorization(proxy: URL): Record<string, string> {
  const { username, password } = credentialsOf(proxy);
  if (username === undefined) return {};
  return { 'proxy-authorization': `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
}

/** A stray per cent sign is meant as one. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
