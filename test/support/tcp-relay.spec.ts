import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { TcpRelay } from './tcp-relay.js';

const QUIET_MS = 150;

/** Answers what it hears in capitals. */
let server: Server;
let heard: string;
let relay: TcpRelay;
const clients: Socket[] = [];

beforeEach(async () => {
  heard = '';
  server = createServer((socket) => {
    socket.on('data', (bytes) => {
      heard += bytes.toString();
      socket.write(bytes.toString().toUpperCase());
    });
    socket.on('error', () => undefined);
    socket.once('end', () => (heard += '.'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  relay = await TcpRelay.startTo(`test://user:secret@127.0.0.1:${(server.address() as AddressInfo).port}/path`);
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await relay.cut();
  await new Promise((resolve) => server.close(resolve));
});

async function join(): Promise<{ socket: Socket; answers(): string; hasEnded(): boolean }> {
  const socket = connect(Number(new URL(relay.url).port), '127.0.0.1');
  clients.push(socket);
  let answers = '';
  let hasEnded = false;
  socket.on('data', (bytes) => (answers += bytes.toString()));
  socket.on('error', () => undefined);
  socket.once('close', () => (hasEnded = true));
  await once(socket, 'connect');
  return { socket, answers: () => answers, hasEnded: () => hasEnded };
}

async function until(what: () => boolean): Promise<void> {
  for (const deadline = performance.now() + 5_000; !what(); await sleep(5)) {
    if (performance.now() > deadline) throw new Error(`not reached: ${what.toString()}`);
  }
}

describe('a relay', () => {
  it('passes everything on, the end included, and changes only host and port of an address', async () => {
    const client = await join();
    client.socket.write('a');
    await until(() => client.answers() === 'A');
    client.socket.end('b');
    await until(client.hasEnded);
    expect([heard, client.answers()]).toEqual(['ab.', 'AB']);
    expect(relay.addressOf('postgresql://troupe:pass@db.internal:5432/troupe')).toBe(
      `postgresql://troupe:pass@${new URL(relay.url).host}/troupe`,
    );
  });

  it('that is silent keeps what is sent, and delivers it late', async () => {
    const client = await join();
    relay.silent('both');
    client.socket.write('a');
    const second = await join();
    second.socket.write('b');
    await sleep(QUIET_MS);
    expect([heard, client.answers(), client.hasEnded(), second.hasEnded()]).toEqual(['', '', false, false]);
    await relay.mend();
    await until(() => client.answers() === 'A' && second.answers() === 'B');
  });

  it('that is silent tells neither side of the end of the other, and passes on even the words of the dead when it is mended', async () => {
    const client = await join();
    relay.silent('both');
    client.socket.write('late');
    await sleep(20);
    client.socket.destroy();
    await sleep(QUIET_MS);
    expect(heard).toBe('');
    await relay.mend();
    await until(() => heard.startsWith('late'));
  });

  it('can be silent one way', async () => {
    const client = await join();
    relay.silent('server');
    client.socket.write('a');
    await until(() => heard === 'a');
    await sleep(QUIET_MS);
    expect(client.answers()).toBe('');
    await relay.mend();
    await until(() => client.answers() === 'A');
    relay.silent('clients');
    client.socket.write('b');
    await sleep(QUIET_MS);
    expect(heard).toBe('a');
  });

  it('that is slow delays each way, and lets through so many bytes a second', async () => {
    const client = await join();
    relay.slow({ latencyMs: 50 });
    const startedMs = performance.now();
    client.socket.write('a');
    await until(() => client.answers() === 'A');
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(100);
    relay.slow({ latencyMs: 0, bytesPerSecond: 100_000 });
    const beganMs = performance.now();
    client.socket.write('b'.repeat(20_000));
    await until(() => client.answers().length === 20_001);
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(200);
  });

  it('that is cut ends its connections and refuses new ones until it is mended', async () => {
    const client = await join();
    await relay.cut();
    await until(client.hasEnded);
    await expect(join()).rejects.toThrow('ECONNREFUSED');
    await relay.mend();
    const second = await join();
    second.socket.write('b');
    await until(() => second.answers() === 'B');
  });
});
