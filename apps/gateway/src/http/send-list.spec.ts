import { describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Response } from 'express';
import { sendList } from './send-list.js';

async function answerOf(send: (response: Response) => Promise<void>): Promise<string> {
  const server: Server = createServer((_, response) => void send(response as unknown as Response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    return await (await fetch(`http://127.0.0.1:${port}/`)).text();
  } finally {
    server.close();
  }
}

describe('sendList', () => {
  it('writes what JSON.stringify would have written', async () => {
    const links = Array.from({ length: 5000 }, (_, n) => ({ url: `http://x.test/${n}/ü"` }));
    const text = await answerOf((response) =>
      sendList(response, { success: true, id: 'a' }, { name: 'links', items: links }),
    );
    expect(text).toBe(JSON.stringify({ success: true, id: 'a', links }));
  });

  it('writes empty lists and heads', async () => {
    expect(await answerOf((response) => sendList(response, {}, { name: 'links', items: [] }))).toBe('{"links":[]}');
  });
});
