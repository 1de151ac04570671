/** Data that a page brings along must not stop the partition of its job: neither a document that is counted past every column, nor mail that nobody can read. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '@nats-io/transport-node';
import { jetstream } from '@nats-io/jetstream';
import { actorSubject, partitionOf } from '@troupe/contracts';
import pg from 'pg';
import { startCluster, type TestCluster } from '../support/cluster.js';

const PAGES = 33_000;
const MOST_PAGES = 10_000;
const SECRET = 'page-data-that-belongs-to-nobody-else';

let cluster: TestCluster;
let server: Server;
let origin: string;

/** One page object, named so often that each of its pages would be a credit. */
function manyPages(): Buffer {
  const kids = '3 0 R '.repeat(PAGES);
  const stream = 'BT /F1 12 Tf 72 400 Td (One page of very many) Tj ET';
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Count ${PAGES} /Kids [${kids}] >>`,
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let text = '%PDF-1.4\n';
  const offsets = objects.map((object, i) => {
    const offset = text.length;
    text += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const at = text.length;
  const lines = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${lines}`;
  text += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${at}\n%%EOF\n`;
  return Buffer.from(text, 'latin1');
}

beforeAll(async () => {
  const pdf = manyPages();
  server = createServer((request, response) => {
    if (request.url === '/many.pdf')
      return void response.writeHead(200, { 'content-type': 'application/pdf' }).end(pdf);
    if (request.url === '/robots.txt') return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>x</title><main><p>A plain page.</p></main>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  cluster = await startCluster({ env: { ALLOW_PRIVATE_TARGETS: '127.0.0.0/8' } });
}, 180_000);

afterAll(async () => {
  await cluster?.stop();
  server?.close();
}, 60_000);

async function call(method: string, route: string, body?: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${cluster.url}${route}`, {
    method,
    headers: { authorization: `Bearer ${cluster.apiKey}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return (await response.json()) as Record<string, unknown>;
}

async function ended(id: string, withinMs: number): Promise<Record<string, unknown>> {
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    const status = await call('GET', `/v2/crawl/${id}`);
    if (status.status !== 'scraping') return status;
    if (performance.now() > deadlineMs) throw new Error(`still ${JSON.stringify(status).slice(0, 300)}`);
    await sleep(200);
  }
}

describe('a PDF with more pages than a column can count', () => {
  it('ends its crawl, and other jobs go on meanwhile', async () => {
    const scrapeOptions = { formats: ['markdown'], timeout: 600_000 };
    const { id } = await call('POST', '/v2/crawl', {
      url: `${origin}/many.pdf`,
      limit: 1,
      sitemap: 'skip',
      scrapeOptions,
    });
    await sleep(1000);
    const startedMs = performance.now();
    const other = await call('POST', '/v2/crawl', { url: `${origin}/`, limit: 1, sitemap: 'skip' });
    expect(await ended(other.id as string, 20_000)).toMatchObject({ status: 'completed', completed: 1 });
    const otherMs = performance.now() - startedMs;
    process.stderr.write(`    another job took ${Math.round(otherMs)} ms from start to end meanwhile\n`);
    const status = await ended(id as string, 240_000);
    expect(status.error).toBeUndefined();
    expect(status).toMatchObject({
      status: 'completed',
      completed: 1,
      creditsUsed: MOST_PAGES,
    });
    const [document] = status.data as { metadata: Record<string, unknown>; warning?: string }[];
    expect(JSON.stringify(document!.metadata) + (document!.warning ?? '')).toContain(`first ${MOST_PAGES} of ${PAGES}`);
    expect(otherMs).toBeLessThan(10_000);
  }, 300_000);
});

describe('mail that nobody can read', () => {
  it('becomes a dead letter without its body, which no log shows either', async () => {
    const { nats, postgres, processes } = await cluster.record();
    const key = 'crawl/00000000-0000-4000-8000-000000000001' as const;
    const { host, username, password } = new URL(nats);
    const connection = await connect({
      servers: host,
      user: decodeURIComponent(username),
      pass: decodeURIComponent(password),
    });
    await jetstream(connection).publish(actorSubject(key), new TextEncoder().encode(`{"broken": "${SECRET}`));
    await connection.drain();
    const client = new pg.Client({ connectionString: postgres });
    await client.connect();
    try {
      let letters: { part: number; envelope: unknown; error: string }[] = [];
      for (let tries = 0; tries < 100 && letters.length === 0; tries++) {
        await sleep(100);
        letters = (await client.query(`SELECT part, envelope, error FROM dead_letter WHERE type = 'unreadable'`)).rows;
      }
      expect(letters).toMatchObject([{ part: partitionOf(key), envelope: null }]);
      expect(letters[0]!.error).toMatch(/of 49 bytes, sha256 [0-9a-f]{64}/);
      expect(letters[0]!.error).not.toContain(SECRET);
    } finally {
      await client.end();
    }
    const logs = path.dirname(processes[0]!.log);
    const texts = await Promise.all((await readdir(logs)).map((name) => readFile(path.join(logs, name), 'utf8')));
    expect(texts.join('')).toContain('could not be read: dead letter');
    expect(texts.join('')).not.toContain(SECRET);
    const again = await call('POST', '/v2/crawl', { url: `${origin}/`, limit: 1, sitemap: 'skip' });
    expect(await ended(again.id as string, 20_000)).toMatchObject({ status: 'completed' });
  }, 60_000);
});
