import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type HttpAdapterHost } from '@nestjs/core';
import { type Logger } from '@troupe/observability';
import { WebSocket } from 'ws';
import { Accounts } from '../../auth/accounts.js';
import { Admission } from '../../auth/admission.js';
import { ApiError } from '../../errors/api-error.js';
import { CALLER, JOB_ID, JobFixture, type Document } from '../../jobs/job.fixture.js';
import { WatchServer } from './watch.server.js';

const MIB = 1024 * 1024;
let job: JobFixture;
let http: Server;
let server: WatchServer;
let logged: unknown[];
let admit: (...use: unknown[]) => void;

async function stop() {
  job.feeds.close();
  await server.beforeApplicationShutdown();
  http.closeAllConnections();
  http.close();
}

async function start(document?: Document, authMode: 'keys' | 'none' = 'keys') {
  job = new JobFixture(document);
  http = createServer((request, response) => void request.pipe(response));
  const owner = { teamId: CALLER.team, teamName: 'a', keyId: 'k', concurrency: 1 };
  const repository = {
    findKey: () => Promise.resolve(owner),
    ensureTeam: () => Promise.resolve(owner),
    ensureTeamWithKey: () => Promise.resolve(),
    markUsed: () => Promise.resolve(),
  };
  const log = { error: (...words: unknown[]) => logged.push(words) } as unknown as Logger;
  const accounts = new Accounts(repository as never, { authMode, troupeBootstrapKeys: [], teamConcurrency: 1 }, log);
  await accounts.onModuleInit();
  const adapters = { httpAdapter: { getHttpServer: () => http } } as unknown as HttpAdapterHost;
  logged = [];
  admit = () => undefined;
  const admission = new Admission(accounts, { admit: (...use: unknown[]) => admit(...use) });
  server = new WatchServer(adapters, admission, job.service, log, { authMode, host: '127.0.0.1' });
  server.onApplicationBootstrap();
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
}

const port = () => (http.address() as AddressInfo).port;

function open(protocols: string[] = ['key']) {
  const socket = new WebSocket(`ws://127.0.0.1:${port()}/v2/crawl/${JOB_ID}`, protocols);
  const frames: { type: string; data: { data?: object[] } }[] = [];
  socket.on('message', (bytes: Buffer) => frames.push(JSON.parse(String(bytes)) as (typeof frames)[number]));
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason) })),
  );
  return { socket, frames, closed };
}

beforeEach(() => start());
afterEach(stop);

describe('the WebSocket server', () => {
  it('counts a watch as a status request of its team, and turns away what is too much', async () => {
    const uses: unknown[][] = [];
    admit = (caller, group) => {
      if (uses.push([(caller as { team: string }).team, group]) > 1) throw new ApiError(429, 'Rate limit exceeded');
    };
    job.status = 'completed';
    expect((await open().closed).code).toBe(1000);
    expect(await open().closed).toEqual({ code: 1013, reason: '{"type":"error","error":"Rate limit exceeded"}' });
    expect(uses).toEqual(Array(2).fill([CALLER.team, 'crawlStatus']));
  });

  it('sends what there is, then each document, then the end', async () => {
    job.results = 300;
    const { socket, frames, closed } = open();
    await new Promise((resolve) => socket.once('message', resolve));
    job.add(200);
    job.end('completed');
    expect(await closed).toEqual({ code: 1000, reason: '{"type":"done"}' });
    const [catchup, ...documents] = frames;
    expect(catchup).toMatchObject({ type: 'catchup', data: { success: true, status: 'scraping' } });
    const all = [...catchup!.data.data!, ...documents.map(({ data }) => data)];
    expect(all).toEqual(Array.from({ length: 500 }, (_, n) => ({ markdown: `page ${n}` })));
    expect(documents.length).toBeGreaterThanOrEqual(200);
  });

  it('lets every client in when no keys are asked for', async () => {
    await stop();
    await start(undefined, 'none');
    job.status = 'completed';
    const stranger = open([]);
    expect(await stranger.closed).toMatchObject({ code: 1000 });
  });

  it('costs a client that does not read little memory, and ends with it', async () => {
    await stop();
    await start(() => ({ markdown: 'x'.repeat(10_000) }));
    job.results = 10;
    const { socket } = open();
    await new Promise((resolve) => socket.once('message', resolve));
    socket.pause();
    const { pages } = job.reads;
    job.add(20_000);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const readMb = ((job.reads.pages - pages) * 512 * 1024) / MIB;
    expect(readMb).toBeLessThan(20);
    socket.terminate();
    await new Promise((resolve) => setTimeout(resolve, 100));
    await expect(server.beforeApplicationShutdown()).resolves.toBeUndefined();
  });

  it('breaks off a catchup of more than 64 MB', async () => {
    await stop();
    await start(() => ({ markdown: 'x'.repeat(9 * MIB) }));
    job.results = 8;
    job.status = 'completed';
    const { closed, frames } = open();
    expect((await closed).code).toBe(1009);
    expect(frames).toEqual([]);
  });

  it('says 1011 and nothing of its secrets when something fails, and logs it', async () => {
    await stop();
    await start(() => {
      throw new Error('password=hunter2');
    });
    job.results = 1;
    const { code, reason } = await open().closed;
    expect([code, reason]).toEqual([1011, '{"type":"error","error":"Internal error"}']);
    expect(logged).toHaveLength(1);
  });

  it('says goodbye to all when the gateway drains, and cuts off who does not answer', async () => {
    const polite = open();
    const deaf = open();
    await Promise.all([polite, deaf].map(({ socket }) => new Promise((resolve) => socket.once('message', resolve))));
    deaf.socket.pause();
    job.feeds.close();
    await server.beforeApplicationShutdown();
    expect((await polite.closed).code).toBe(1001);
    deaf.socket.terminate();
  });

  it('hands an upgrade to something else back to HTTP, with its body', async () => {
    const socket = connect(port(), '127.0.0.1');
    socket.write(
      'POST /anything HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\nContent-Length: 8\r\n\r\nhalf',
    );
    setTimeout(() => socket.write('half'), 20);
    let text = '';
    for await (const chunk of socket.setEncoding('utf8')) {
      text += String(chunk);
      if (text.includes('halfhalf')) break;
    }
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
  });
});
