/**
 * The only way to the web for clients that open their own connections (Chromium, got-scraping): a proxy on loopback
 * inside this process. It resolves, checks and pins every CONNECT and every plain request, so that no client resolves a
 * name by itself.
 */
import { Agent, Server as HttpServer, type IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { isTroupeError, timeoutSignal } from '@troupe/contracts';
import { pinnedLookup, type Resolver } from '@troupe/egress';
import { LRUCache } from 'lru-cache';
import { RequestError, Server, type PrepareRequestFunctionOpts, type PrepareRequestFunctionResult } from 'proxy-chain';
import { CONNECT_TIMEOUT_MS, type UpstreamProxy } from '../http/engine.js';

/** Header of an answer that comes from the proxy and not from the site; its value is the code of the refusal. */
export const REFUSAL_HEADER = 'x-troupe-egress';

type PrepareRequestFunction = (request: PrepareRequestFunctionOpts) => Promise<PrepareRequestFunctionResult>;

/** proxy-chain's status code for failures that have none of their own. */
const NO_WAY_THROUGH = 599;

/** The proxy answers plain requests with 590-599 when the site could not be reached (proxy-chain's own numbers). */
export function isProxyFailure(statusCode: number): boolean {
  return statusCode >= 590 && statusCode <= 599;
}

/** Listeners for upstream proxies. The least recently used one makes room. */
const MAX_LISTENERS = 500;
/** Time for a tunnel through an upstream proxy, beside the time for the name. */
const TUNNEL_TIMEOUT_MS = 20_000;

export class EgressProxy {
  private readonly agent = new Agent({ keepAlive: false });
  private direct: Promise<Server> | null = null;
  /** Each has a port of its own: a client that is sent there need not know the upstream and cannot change it. */
  private readonly listeners = new LRUCache<UpstreamProxy, Promise<Server>>({
    max: MAX_LISTENERS,
    dispose: (server) => void closeServer(server),
  });

  constructor(private readonly resolver: Resolver) {}

  /** Address of the proxy that goes out through `upstream`, else directly; started by the first call. */
  async url(upstream?: UpstreamProxy): Promise<string> {
    const { port } = await this.listener(upstream);
    return `http://127.0.0.1:${port}`;
  }

  async close(): Promise<void> {
    const servers = [...(this.direct === null ? [] : [this.direct]), ...this.listeners.values()];
    this.direct = null;
    this.listeners.clear();
    await Promise.all(servers.map(closeServer));
    this.agent.destroy();
  }

  private listener(upstream: UpstreamProxy | undefined): Promise<Server> {
    if (upstream === undefined) return (this.direct ??= this.start((request) => this.prepare(request)));
    const known = this.listeners.get(upstream);
    if (known !== undefined) return known;
    const server = this.start((request) => this.prepareTunnel(request, upstream));
    this.listeners.set(upstream, server);
    return server;
  }

  private async start(prepareRequestFunction: PrepareRequestFunction): Promise<Server> {
    const server = new Server({ host: '127.0.0.1', port: 0, prepareRequestFunction });
    server.on('requestFailed', () => undefined);
    await server.listen();
    server.server.unref();
    return server;
  }

  private async prepareTunnel(
    request: PrepareRequestFunctionOpts,
    upstream: UpstreamProxy,
  ): Promise<PrepareRequestFunctionResult> {
    const addresses = await this.resolve(request);
    dropProxyHeaders(request.request);
    const client = request.request.socket;
    const signal = timeoutSignal(TUNNEL_TIMEOUT_MS);
    const tunnel = await upstream.open({ addresses, port: request.port }, signal).catch(() => {
      throw new RequestError('no way through the proxy', NO_WAY_THROUGH);
    });
    client.once('close', () => tunnel.destroy());
    if (client.destroyed) tunnel.destroy();
    return request.isHttp ? { httpAgent: new TunnelAgent(tunnel) } : { customConnectServer: joinedWith(tunnel) };
  }

  private async resolve(request: PrepareRequestFunctionOpts): Promise<string[]> {
    const signal = timeoutSignal(CONNECT_TIMEOUT_MS);
    return this.resolver.resolve(request.hostname, request.port, signal).catch((error: unknown) => {
      throw refusal(error);
    });
  }

  private async prepare(request: PrepareRequestFunctionOpts): Promise<PrepareRequestFunctionResult> {
    const addresses = await this.resolve(request);
    dropProxyHeaders(request.request);
    const dnsLookup = pinnedLookup(addresses) as NonNullable<PrepareRequestFunctionResult['dnsLookup']>;
    return { dnsLookup, httpAgent: this.agent, ...family(addresses) };
  }
}

/** These headers are for this proxy alone; proxy-chain would pass them on to the site. */
function dropProxyHeaders({ rawHeaders }: IncomingMessage): void {
  for (let at = rawHeaders.length - 2; at >= 0; at -= 2) {
    if (rawHeaders[at]?.toLowerCase() === 'proxy-connection') rawHeaders.splice(at, 2);
  }
}

/** Agent for one plain request, whose connection is open already. */
class TunnelAgent extends Agent {
  constructor(private readonly tunnel: Socket) {
    super({ keepAlive: false });
  }

  override createConnection(): Socket {
    return this.tunnel;
  }
}

/**
 * The server that proxy-chain hands an open client connection to. The connection is tied to the tunnel, end to end.
 */
function joinedWith(tunnel: Socket): HttpServer {
  const join = (client: Socket): void => {
    const end = (): void => {
      client.destroy();
      tunnel.destroy();
    };
    client.on('error', end).on('close', end).pipe(tunnel);
    tunnel.on('error', end).on('close', end).pipe(client);
  };
  return new HttpServer().removeAllListeners('connection').on('connection', join);
}

async function closeServer(server: Promise<Server>): Promise<void> {
  await (await server.catch(() => null))?.close(true);
}

/** One address: say its family at once, so that a socket asks for that one. */
function family(addresses: string[]): { ipFamily?: number } {
  const [only, ...others] = addresses;
  return only === undefined || others.length > 0 ? {} : { ipFamily: isIP(only) };
}

function refusal(error: unknown): RequestError {
  const code = isTroupeError(error) ? error.code : 'SCRAPE_DNS_RESOLUTION_ERROR';
  const status = code === 'SCRAPE_TARGET_FORBIDDEN' || code === 'UNSUPPORTED_SITE' ? 403 : 502;
  return new RequestError(code, status, { [REFUSAL_HEADER]: code, 'content-type': 'text/plain' });
}
