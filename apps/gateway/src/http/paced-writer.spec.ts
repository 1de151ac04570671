import { describe, expect, it } from '@jest/globals';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Response } from 'express';
import { setTimeout as sleep } from 'node:timers/promises';
import { PacedWriter } from './paced-writer.js';

const KIB = 1024;

/** Pieces of one answer, by their size. */
async function serve<T>(
  pieces: readonly number[],
  read: (answer: IncomingMessage, sent: () => number) => Promise<T>,
): Promise<{ read: T; finished: boolean }> {
  let sent = 0;
  let done: (finished: boolean) => void;
  const finished = new Promise<boolean>((resolve) => (done = resolve));
  const send = async (out: PacedWriter): Promise<boolean> => {
    for (const size of pieces) {
      if (!(await out.write(Buffer.alloc(size, 'a')))) return false;
      sent += size;
    }
    out.end();
    return true;
  };
  const server = createServer((_, response) => {
    void send(new PacedWriter(response as unknown as Response, 'text/plain')).then((isWhole) => done(isWhole));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const answer = await new Promise<IncomingMessage>((resolve, reject) =>
      get(`http://127.0.0.1:${port}/`, resolve).on('error', reject),
    );
    return { read: await read(answer, () => sent), finished: await finished };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

async function lengthOf(answer: IncomingMessage): Promise<number> {
  let length = 0;
  for await (const part of answer) length += (part as Buffer).byteLength;
  return length;
}

describe('PacedWriter', () => {
  it.each([
    ['small pieces', 1000, 1000],
    ['pieces as large as what is gathered', 20, 64 * KIB],
    ['large pieces', 10, 300 * KIB],
    ['one piece', 1, 10],
  ])('sends %s whole', async (_name, count, size) => {
    const { read, finished } = await serve(Array<number>(count).fill(size), lengthOf);
    expect({ read, finished }).toEqual({ read: count * size, finished: true });
  });

  it('waits for a client that does not read', async () => {
    const { read } = await serve(Array<number>(1000).fill(64 * KIB), async (answer, sent) => {
      answer.pause();
      await sleep(300);
      const before = sent();
      answer.destroy();
      return before;
    });
    expect(read).toBeLessThan(32 * KIB * KIB);
  });

  it('ends when the client goes', async () => {
    const { finished } = await serve(Array<number>(1000).fill(64 * KIB), async (answer) => void answer.destroy());
    expect(finished).toBe(false);
  });
});
