/**
 * A scheduler that dies between the commit of a turn and its acknowledgement hears everything again. The failure of an earlier
 * try must not settle the page while the next one is under way: all mail of the first try comes twice more, in that moment.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { headers as newHeaders, type MsgHdrs } from '@nats-io/nats-core';
import { NatsLink } from '@troupe/messaging';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { readBooks } from '../chaos/evidence.js';
import { expectBalanced } from '../chaos/exactness.js';
import { JobClient } from '../chaos/job-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';

const PAGES = 6;
const TROUBLED = '/p/2';
const SECOND_TRY_MS = 4_000;
const PATIENCE_MS = 60_000;

interface Mail {
  subject: string;
  data: Uint8Array;
  headers: MsgHdrs;
}

let server: Server;
let cluster: TestCluster;
let link: NatsLink;
let asked: string[];
/** Mail of actors since the troubled page was asked for first. */
let mail: Mail[];

beforeAll(async () => {
  asked = [];
  mail = [];
  server = createServer((request, response) => {
    const path = request.url ?? '/';
    if (path === '/robots.txt') return void response.writeHead(404).end();
    asked.push(path);
    const tries = asked.filter((other) => other === path).length;
    if (path === TROUBLED && tries === 1) return void response.writeHead(503).end('not now');
    const links = Array.from({ length: PAGES - 1 }, (_, n) => `<a href="/p/${n + 1}">${n + 1}</a>`).join(' ');
    const body = `<title>${path}</title><main><p>Page ${path}, try ${tries}.</p>${path === '/' ? links : ''}</main>`;
    const answer = () => response.writeHead(200, { 'content-type': 'text/html' }).end(body);
    setTimeout(answer, path === TROUBLED ? SECOND_TRY_MS : 20);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cluster = await startCluster({ env: { ALLOW_PRIVATE_TARGETS: '127.0.0.1', HOST_GAP_MS: '0' } });
  link = await NatsLink.open({ server: { natsUrl: (await cluster.record()).nats }, name: 'spec' });
}, 180_000);

afterAll(async () => {
  await link?.close();
  await cluster?.stop();
  server?.closeAllConnections();
  server?.close();
}, 90_000);

const triesOf = (path: string): number => asked.filter((other) => other === path).length;

async function until(isTrue: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!isTrue()) {
    if (performance.now() > deadline) throw new Error(`${what}: not within ${PATIENCE_MS} ms`);
    await sleep(10);
  }
}

function listen(): void {
  link.nc.subscribe('act.>', {
    callback: (_error, { subject, data, headers }) => {
      if (triesOf(TROUBLED) === 1) mail.push({ subject, data: Uint8Array.from(data), headers: headers! });
    },
  });
}

/** By its id the stream would know that it has it. */
function anew(headers: MsgHdrs, round: number): MsgHdrs {
  const copy = newHeaders();
  for (const name of headers.keys()) copy.set(name, headers.get(name));
  copy.set('Nats-Msg-Id', `${headers.get('Nats-Msg-Id')}.${round}`);
  return copy;
}

async function tellAgain(round: number): Promise<void> {
  for (const { subject, data, headers } of mail)
    await link.js.publish(subject, data, { headers: anew(headers, round) });
}

it(
  'the failure of a first try, told again, leaves the second one alone',
  async () => {
    listen();
    const crawls = new JobClient(cluster);
    const port = (server.address() as AddressInfo).port;
    const id = await crawls.start({ url: `http://127.0.0.1:${port}/`, sitemap: 'skip' });
    await until(() => triesOf(TROUBLED) === 2, 'the second try');
    const told = mail.filter(({ data }) => Buffer.from(data).includes('PagesDone')).length;
    expect(told).toBeGreaterThan(0);
    await tellAgain(1);
    await sleep(500);
    await tellAgain(2);
    await crawls.end(id, PATIENCE_MS);
    console.info(
      `${mail.length} messages told again twice, ${told} of them with results; asked ${triesOf(TROUBLED)} times`,
    );
    expect(asked.filter((path) => path === TROUBLED)).toHaveLength(2);
    expect(new Set(asked).size).toBe(asked.length - 1);
    expectBalanced(await readBooks(cluster, id), PAGES);
    const documents = await crawls.documents(id);
    expect(documents.map(({ markdown }) => markdown).sort()).toContain(`Page ${TROUBLED}, try 2.`);
  },
  2 * PATIENCE_MS,
);
