/**
 * Items that go back to their job while their lane lives on, and jobs that change hands at that moment: names that cannot be
 * resolved for a while, and schedulers that are killed. Counters stay exact, so that nothing is asked for twice and nothing is
 * waited for in vain.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { startDns, type DnsServer, type Zone } from '@troupe/testing';
import { endsLeftOpen, query, readBooks } from '../chaos/evidence.js';
import { expectBalanced, expectSameUrls } from '../chaos/exactness.js';
import { JobClient } from '../chaos/job-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';

const HOSTS = 80;
/** 250 make 20,000 pages, which take some minutes. */
const PAGES_OF_A_HOST = Number(process.env.TROUPE_TEST_PAGES_OF_A_HOST ?? 8);
const IS_LARGE = PAGES_OF_A_HOST > 100;
/** That the start page names; a host's first page names all others. */
const KNOWN_AT_ONCE = 8;
const LATENCY_MS = IS_LARGE ? 100 : 600;
/** Of a host's first questions; a resolver asks twice before it gives a name up. */
const QUESTIONS_OF_A_LOOKUP = 2;
const KILLS = 5;
const BETWEEN_KILLS_MS = IS_LARGE ? 20_000 : 3_500;
const PATIENCE_MS = IS_LARGE ? 900_000 : 60_000;
const REST_MS = 15_000;
const MENDED = 'troupe_counters_mended_total';

let server: Server;
let names: DnsServer;
let cluster: TestCluster;
let port: number;
/** Of the site: when each address was asked for, and when the answer had gone. */
const asked = new Map<string, { at: number; answeredAt: number }[]>();

/** None, one or two of the first lookups of a host fail, a third of all; no more, so that no page is lost. */
const FAILURES = [0, 0, 1, 0, 1, 0, 0, 2, 0, 1];
const questionsThatFail = (host: number): number => FAILURES[host % FAILURES.length]! * QUESTIONS_OF_A_LOOKUP;

const hosts = Array.from({ length: HOSTS + 1 }, (_, host) => host);
const zone: Zone = Object.fromEntries(
  hosts.map((host) => [
    `h${host}.site.test`,
    (nth: number) => (nth <= questionsThatFail(host) ? ('SERVFAIL' as const) : ['127.0.0.1']),
  ]),
);

const addressOf = (host: number, page: number): string => `http://h${host}.site.test:${port}/p/${page}`;

const addresses = (pages: number): string[] =>
  Array.from({ length: pages * HOSTS }, (_, i) => addressOf(1 + (i % HOSTS), Math.floor(i / HOSTS)));

function linksOf(url: string): string[] {
  if (url === startUrl()) return addresses(Math.min(KNOWN_AT_ONCE, PAGES_OF_A_HOST));
  const first = /^(.*\/p\/)0$/.exec(url)?.[1];
  return first === undefined ? [] : Array.from({ length: PAGES_OF_A_HOST - 1 }, (_, i) => `${first}${i + 1}`);
}

const startUrl = (): string => `http://h0.site.test:${port}/`;

beforeAll(async () => {
  server = createServer((request, response) => {
    const url = `http://${request.headers.host}${request.url}`;
    const entry = { at: performance.now(), answeredAt: Infinity };
    asked.set(url, [...(asked.get(url) ?? []), entry]);
    response.once('finish', () => (entry.answeredAt = performance.now()));
    const links = linksOf(url).map((link) => `<a href="${link}">x</a>`);
    const page = `<title>x</title><main><p>A plain page at ${url}.</p>${links.join('\n')}</main>`;
    setTimeout(
      () => response.writeHead(200, { 'content-type': 'text/html', connection: 'close' }).end(page),
      LATENCY_MS,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
  names = await startDns(zone);
  cluster = await startCluster({
    args: ['--schedulers', '2'],
    env: {
      DNS_SERVERS: names.address,
      ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
      ALLOW_IGNORE_ROBOTS: 'true',
      HOST_MAX_CONN: '1',
      TEAM_CONCURRENCY: '20',
      LOG_FORMAT: 'json',
    },
  });
}, 180_000);

afterAll(async () => {
  await cluster?.stop();
  names?.close();
  server?.closeAllConnections();
  server?.close();
}, 60_000);

/** The scheduler that runs the job's actor, and its health endpoints. */
async function ownerOf(key: string): Promise<{ name: string; health: string } | null> {
  const [lease] = await query<{ owner: string }>(
    cluster,
    'SELECT l.owner FROM part_lease l JOIN actor a USING (part) WHERE a.key = $1',
    [key],
  );
  for (const { name, health } of await cluster.processes()) {
    if (!name.startsWith('scheduler') || health === null) continue;
    const readiness = await fetch(`${health}/health/readiness`).catch(() => null);
    const { instance } = ((await readiness?.json()) ?? {}) as { instance?: string };
    if (instance !== undefined && instance === lease?.owner) return { name, health };
  }
  return null;
}

/** Counters that were mended, by the metric of those that live and by the logs of all that ever did. */
async function mendings(): Promise<{ counted: number; logged: string[] }> {
  let counted = 0;
  const logged: string[] = [];
  for (const { name, health, log } of await cluster.processes()) {
    if (!name.startsWith('scheduler')) continue;
    if (health !== null) counted += await mendedBy(health);
    const lines = (await readFile(log, 'utf8')).split('\n');
    logged.push(...lines.filter((line) => line.includes('the counters of a job were wrong')));
  }
  return { counted, logged };
}

async function mendedBy(health: string): Promise<number> {
  const text = await (await fetch(`${health}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(MENDED));
  if (line === undefined) throw new Error(`no ${MENDED} in the metrics of ${health}`);
  return Number(line.split(' ').at(-1));
}

/** kill -9 to whoever runs the job, as often as asked and as long as it runs; returns how often. */
async function killOwners(client: JobClient, id: string): Promise<number> {
  const returns: Promise<void>[] = [];
  for (let kills = 0; kills < KILLS; kills++) {
    await sleep(BETWEEN_KILLS_MS);
    const owner = await ownerOf(`crawl/${id}`);
    const { status, completed } = await client.status(id);
    if (status !== 'scraping') break;
    if (owner === null) continue;
    expect(await mendedBy(owner.health)).toBe(0);
    process.stderr.write(`    kill -9 ${owner.name} at ${completed} pages\n`);
    const pid = await cluster.signal(owner.name, 'SIGKILL');
    returns.push(cluster.waitForRestart(owner.name, pid, 60_000));
  }
  await Promise.all(returns);
  return returns.length;
}

describe('a crawl whose items go back while its owners are killed', () => {
  it(
    'has exactly the pages of the site, asks for none again after a good answer, and has no counter to mend',
    async () => {
      const client = new JobClient(cluster);
      const id = await client.start({
        url: startUrl(),
        limit: 100_000,
        sitemap: 'skip',
        allowExternalLinks: true,
        allowSubdomains: true,
        ignoreRobotsTxt: true,
        scrapeOptions: { formats: ['markdown'] },
      });
      const kills = await killOwners(client, id);
      await client.end(id, PATIENCE_MS);
      expect(kills).toBeGreaterThanOrEqual(2);
      const expected = new Set([startUrl(), ...addresses(PAGES_OF_A_HOST)]);
      const books = await readBooks(cluster, id);
      expectSameUrls(books.finalUrls, expected);
      expectBalanced(books, expected.size);
      const again = [...asked].filter(([, hits]) => hits.some(({ at }) => hits.some((hit) => at > hit.answeredAt)));
      expect(again).toEqual([]);
      expect(await mendings()).toEqual({ counted: 0, logged: [] });
      const failed = hosts.filter((host) => questionsThatFail(host) > 0);
      for (const host of failed) expect(names.asked.get(`h${host}.site.test`)).toBeGreaterThan(questionsThatFail(host));
      process.stderr.write(
        `    ${kills} kills, ${failed.length} of ${hosts.length} hosts could not be resolved at first\n`,
      );
    },
    PATIENCE_MS + 60_000,
  );

  it(
    'comes to rest',
    async () => {
      expect(await endsLeftOpen(cluster, REST_MS)).toEqual([]);
    },
    REST_MS + 15_000,
  );
});
