/** A small site, or several on hosts of their own (127.0.0.1, 127.0.0.2, …), inside the process of the test. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { render } from './render.js';
import type { RequestFilter, SeenRequest } from './request-log.js';
import type { HostResources, SiteBuilder } from './resource.js';

export interface KnownSiteOptions {
  /** Host i listens on 127.0.0.(firstAddress + i). @default 1 */
  hosts?: number;
  /** Last byte of the first host's address: several sites of one machine can keep apart. @default 1 */
  firstAddress?: number;
  /** Extra time of every page, e.g. to make requests overlap. @default 0 */
  latencyMs?: number;
}

export interface KnownSite {
  /** `http://127.0.0.1:port` and so on, without a slash at the end. */
  origins: readonly string[];
  resources: readonly HostResources[];
  /** Absolute URL of a path on a host (the first by default). */
  url(path: string, host?: number): string;
  /** In order of arrival. The objects live on: `doneT` is filled in later. */
  requests(filter?: RequestFilter): SeenRequest[];
  /** Changes what all pages take from now on. */
  setLatency(ms: number): void;
  /** Empties the log and lets busy pages be busy again. */
  reset(): void;
  stop(): Promise<void>;
}

export async function startKnownSite(build: SiteBuilder, options: KnownSiteOptions = {}): Promise<KnownSite> {
  const { hosts = 1, firstAddress = 1 } = options;
  const servers = Array.from({ length: hosts }, () => createServer({ keepAliveTimeout: 30_000 }));
  await Promise.all(servers.map((server, i) => listen(server, `127.0.0.${firstAddress + i}`)));
  const origins = servers.map(originOf);
  const resources = build(origins);
  let log: SeenRequest[] = [];
  let asked = new Map<string, number>();
  let latencyMs = options.latencyMs ?? 0;

  async function serve(host: number, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '/';
    const origin = origins[host]!;
    const before = asked.get(origin + path) ?? 0;
    asked.set(origin + path, before + 1);
    const { status, headers, body, delayMs } = render(path, resources[host]?.[path], before);
    log.push(witness(request, response, { host: origin.slice('http://'.length), path, status }));
    if (delayMs + latencyMs > 0) await sleep(delayMs + latencyMs);
    response.writeHead(status, { ...headers, 'content-length': body.byteLength }).end(body);
  }

  servers.forEach((server, i) => server.on('request', (request, response) => void serve(i, request, response)));
  return {
    origins,
    resources,
    url: (path, host = 0) => origins[host]! + path,
    requests: (filter) => (filter === undefined ? [...log] : log.filter(filter)),
    setLatency: (ms) => void (latencyMs = ms),
    reset() {
      log = [];
      asked = new Map();
    },
    stop: () => Promise.all(servers.map(close)).then(() => undefined),
  };
}

function listen(server: Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => server.once('error', reject).listen(0, address, resolve));
}

function originOf(server: Server): string {
  const { address, port } = server.address() as AddressInfo;
  return `http://${address}:${port}`;
}

function witness(
  request: IncomingMessage,
  response: ServerResponse,
  facts: Pick<SeenRequest, 'host' | 'path' | 'status'>,
): SeenRequest {
  const { remoteAddress, remotePort } = request.socket;
  const seen: SeenRequest = {
    t: performance.now(),
    doneT: null,
    ...facts,
    ua: request.headers['user-agent'] ?? '',
    peer: `${remoteAddress}:${remotePort}`,
  };
  response.once('close', () => (seen.doneT = performance.now()));
  return seen;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
