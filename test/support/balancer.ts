/**
 * A load balancer, as before several gateways in production: takes turns among those whose readiness says yes, and tries nothing
 * twice, so that every fault of a gateway is a fault of the client's.
 */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RunningCluster } from './cluster.js';

export interface Balancer {
  url: string;
  close(): Promise<void>;
}

/** As often as a cautious balancer asks. */
const LOOK_MS = 100;
/** Longer than clients keep a connection that they do not use, so that none is closed just when it is used again. */
const KEEP_ALIVE_MS = 60_000;

export async function startBalancer(cluster: RunningCluster): Promise<Balancer> {
  const { gateways } = await cluster.record();
  let ready = gateways;
  let turn = 0;
  let isClosed = false;
  const look = async (): Promise<void> => {
    const answers = await Promise.all(gateways.map(isReady));
    ready = gateways.filter((_, i) => answers[i]);
    if (!isClosed) setTimeout(() => void look(), LOOK_MS);
  };
  await look();
  const server = http.createServer((request, response) => {
    const target = ready[turn++ % Math.max(1, ready.length)];
    if (target === undefined) return void response.writeHead(503).end('{"error":"no gateway is ready"}');
    pass(request, response, target);
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      isClosed = true;
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

async function isReady(gateway: string): Promise<boolean> {
  try {
    const { status } = await fetch(`${gateway}/v2/health/readiness`, { signal: AbortSignal.timeout(2_000) });
    return status === 200;
  } catch {
    return false;
  }
}

/** Each request has a connection of its own: none is sent into one that its gateway is about to close. */
function pass(request: http.IncomingMessage, response: http.ServerResponse, target: string): void {
  const { method, headers } = request;
  const onward = http.request(new URL(request.url ?? '/', target), { method, headers, agent: false }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', (error) => {
    if (response.headersSent) response.destroy();
    else response.writeHead(502).end(JSON.stringify({ error: `${target}: ${error.message}` }));
  });
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}
