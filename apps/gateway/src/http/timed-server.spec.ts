import { afterEach, describe, expect, it } from '@jest/globals';
import type { Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { TroupeConfig } from '@troupe/config';
import { createTimedServer } from './timed-server.js';

const TIMEOUT_MS = 400;
/** The times are looked at once in a while. */
const SLACK_MS = 3_000;

let server: Server;

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function start(): Promise<number> {
  server = createTimedServer((_, response) => response.end('well'), { headersTimeoutMs: TIMEOUT_MS });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** Sends a head a byte at a time and never comes to its end. */
function trickle(port: number): Promise<{ said: string; ms: number }> {
  const startedMs = performance.now();
  const socket = connect(port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nhost: x\r\nx-slow: ');
  const timer = setInterval(() => socket.write('a'), 50);
  let said = '';
  socket.setEncoding('latin1').on('data', (text: string) => (said += text));
  socket.on('error', () => undefined);
  return new Promise((resolve) =>
    socket.on('close', () => {
      clearInterval(timer);
      resolve({ said, ms: performance.now() - startedMs });
    }),
  );
}

describe('a server with times', () => {
  it('cuts off heads that trickle, however many, while it answers others', async () => {
    const port = await start();
    const slow = Promise.all(Array.from({ length: 50 }, () => trickle(port)));
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('well');
    for (const { said, ms } of await slow) {
      expect(said).toMatch(/^HTTP\/1\.1 408 /);
      expect(ms).toBeGreaterThanOrEqual(TIMEOUT_MS / 2);
      expect(ms).toBeLessThan(TIMEOUT_MS + SLACK_MS);
    }
  });

  it('gives a head thirty seconds and a request five minutes unless told otherwise', () => {
    server = createTimedServer(() => undefined, new TroupeConfig());
    expect({ head: server.headersTimeout, request: server.requestTimeout }).toEqual({ head: 30_000, request: 300_000 });
  });
});
