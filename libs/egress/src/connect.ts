/** The one place where a connection to a target is opened: by pinned addresses, never by name. */
import { isIP, type LookupFunction, type Socket, connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { TroupeError } from '@troupe/contracts';
import { LRUCache } from 'lru-cache';
import type { buildConnector } from 'undici';
import type { Resolver } from './resolver.js';

export interface ConnectTarget {
  /** As in the URL; brackets of IPv6 literals allowed. */
  hostname: string;
  port: number;
  secure: boolean;
}

export interface ConnectorOptions {
  resolver: Resolver;
  /** Certificates are checked. Connections of verifying and other connectors are never mixed. */
  verifyTls: boolean;
  timeoutMs: number;
  /** Connects through a proxy; absent: directly. Gets checked addresses and connects to no other. */
  tunnel?: OpenTunnel;
}

/** The bytes' way to one of `addresses`, ready to use. */
export type OpenTunnel = (target: { addresses: string[]; port: number }, signal?: AbortSignal) => Promise<Socket>;

const MAX_TLS_SESSIONS = 1_000;

/**
 * A `lookup` for sockets that answers with checked addresses only, whatever is asked: an address family that is
 * not among them is an error, not a reason to ask the system.
 */
export function pinnedLookup(addresses: string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (hostname, options, callback) => {
    const wanted = typeof options.family === 'number' ? options.family : 0;
    const fitting = wanted === 0 ? all : all.filter((entry) => entry.family === wanted);
    const [first] = fitting;
    if (first === undefined) return callback(notFound(hostname), '', 0);
    if (options.all === true) return callback(null, fitting);
    callback(null, first.address, first.family);
  };
}

function notFound(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${hostname} has no address of this family`), { code: 'ENOTFOUND' });
}

/** Opens checked connections; all addresses are tried (RFC 8305) within one time limit. */
export class Connector {
  private readonly sessions = new LRUCache<string, Buffer>({ max: MAX_TLS_SESSIONS });

  constructor(private readonly options: ConnectorOptions) {}

  /**
   * Resolves once the connection, TLS included, is usable.
   * @throws TroupeError of `Resolver.resolve`; SCRAPE_TIMEOUT; else the socket's own error
   */
  async connect(target: ConnectTarget, signal?: AbortSignal): Promise<Socket> {
    const addresses = await this.options.resolver.resolve(target.hostname, target.port, signal);
    const { tunnel } = this.options;
    if (tunnel === undefined) return this.settle(this.open(target, addresses), target, signal);
    const socket = await tunnel({ addresses, port: target.port }, signal);
    return target.secure ? this.settle(this.open(target, addresses, socket), target, signal) : socket;
  }

  private open(target: ConnectTarget, addresses: string[], tunnel?: Socket): Socket {
    const host = target.hostname.replace(/^\[|\]$/g, '');
    const direct = { host, port: target.port, lookup: pinnedLookup(addresses), autoSelectFamily: true };
    if (!target.secure) return connectTcp(direct);
    const key = `${host}:${target.port}`;
    const socket = connectTls({
      ...(tunnel === undefined ? direct : { socket: tunnel }),
      servername: isIP(host) === 0 ? host : '',
      session: this.sessions.get(key),
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: this.options.verifyTls,
    });
    return socket.on('session', (session) => this.sessions.set(key, session));
  }

  private settle(socket: Socket, target: ConnectTarget, signal: AbortSignal | undefined): Promise<Socket> {
    socket.setNoDelay(true);
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        done();
        socket.on('error', () => undefined);
        socket.destroy();
        reject(error);
      };
      const onAbort = (): void => fail(signal?.reason as Error);
      const onReady = (): void => {
        done();
        resolve(socket);
      };
      const onClose = (): void => fail(Object.assign(new Error('closed while connecting'), { code: 'ECONNRESET' }));
      const timer = setTimeout(() => fail(connectTimeout(target, this.options.timeoutMs)), this.options.timeoutMs);
      const done = (): void => {
        clearTimeout(timer);
        socket.off('error', fail).off('close', onClose);
        signal?.removeEventListener('abort', onAbort);
      };
      socket
        .once(target.secure ? 'secureConnect' : 'connect', onReady)
        .once('error', fail)
        .once('close', onClose);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }
}

function connectTimeout(target: ConnectTarget, timeoutMs: number): TroupeError {
  const text = `no connection to ${target.hostname}:${target.port} within ${timeoutMs} ms`;
  return new TroupeError('SCRAPE_TIMEOUT', text, { retryable: true });
}

/** The connector in the form in which undici's agents take one. */
export function connectOf(connector: Connector): buildConnector.connector {
  return ({ hostname, port, protocol }, callback) => {
    const secure = protocol === 'https:';
    const target = { hostname, port: port === '' ? (secure ? 443 : 80) : Number(port), secure };
    connector.connect(target).then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, null),
    );
  };
}

/** Name and password of an address as a header's value. */
export function basicAuth({ username, password }: Pick<URL, 'username' | 'password'>): string {
  return `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`;
}
