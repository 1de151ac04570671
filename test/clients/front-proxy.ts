/** What stands before a gateway in production: ends TLS, says so in X-Forwarded-*, and here counts what passes. */
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { TEST_CERT, TEST_KEY } from '@troupe/testing';

export interface FrontProxy {
  url: string;
  /** `METHOD path?query` and the time (performance.now, ms) of each request, in order. */
  requests: { line: string; atMs: number }[];
  close(): Promise<void>;
}

export async function startFrontProxy(target: string, { tls = false } = {}): Promise<FrontProxy> {
  const requests: FrontProxy['requests'] = [];
  const scheme = tls ? 'https' : 'http';
  const pass = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    requests.push({ line: `${request.method} ${request.url}`, atMs: performance.now() });
    const headers = { ...request.headers, 'x-forwarded-proto': scheme, 'x-forwarded-host': request.headers.host };
    const onward = http.request(new URL(request.url ?? '/', target), { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  };
  const server = tls ? https.createServer({ key: TEST_KEY, cert: TEST_CERT }, pass) : http.createServer(pass);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
