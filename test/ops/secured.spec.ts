/**
 * A cluster as a careful operator has it: three NATS servers with TLS both ways and signed credentials, Postgres that insists
 * on TLS, a pooler in transaction mode between. A crawl runs while a NATS server dies; readiness says what is away.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPool, type DatabasePooler } from '@troupe/persistence';
import pg from 'pg';
import { CrawlClient } from '../e2e/crawl-client.js';
import { isPageRequest } from '../sites/known-graph/request-log.js';
import { page, type HostResources } from '../sites/known-graph/resource.js';
import { startKnownSite, type KnownSite } from '../sites/known-graph/server.js';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { NatsCluster } from '../support/nats-cluster.js';
import { hasPooler, Pooler, TlsPostgres } from '../support/postgres-server.js';

const SETUP_MS = 240_000;
const PAGES = 250;
const PAGE_MS = 60;
/** A stream whose server died has no leader for up to ten seconds. */
const PATIENCE_MS = 90_000;
const KNOWN_BY_MS = 15_000;
const ATTEMPTS = 6;
const UNKNOWN_STATEMENT = '26000';
/** Services that read or write tables; the converter does not. */
const WITH_POSTGRES = ['gateway', 'scheduler', 'fetcher', 'extractor', 'dispatcher'];

let nats: NatsCluster;
let postgres: TlsPostgres;
let pooler: Pooler | null = null;
let site: KnownSite;
let cluster: TestCluster;
let crawls: CrawlClient;

function pages(): HostResources {
  const paths = Array.from({ length: PAGES }, (_, i) => `/p/${i}`);
  return { '/': page(paths), ...Object.fromEntries(paths.map((path) => [path, page([], { delayMs: PAGE_MS })])) };
}

beforeAll(async () => {
  [nats, postgres, site] = await Promise.all([
    NatsCluster.start(),
    TlsPostgres.start(),
    startKnownSite(() => [pages()], { firstAddress: 61 }),
  ]);
  if (hasPooler()) pooler = await Pooler.start(postgres);
  cluster = await startCluster({
    args: ['--converters', '1'],
    env: {
      ...nats.environment,
      DATABASE_URL: pooler?.url ?? postgres.url,
      DATABASE_POOLER: pooler === null ? 'none' : 'transaction',
      ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
      HOST_GAP_MS: '0',
      LOG_FORMAT: 'json',
    },
  });
  crawls = new CrawlClient(cluster);
}, SETUP_MS);

afterAll(async () => {
  await cluster?.stop();
  await Promise.all([site?.stop(), pooler?.stop(), nats?.stop()]);
  await postgres?.stop();
}, 60_000);

interface Ready {
  code: number;
  alive: number;
  checks: Record<string, { status: string; ageMs: number; error?: string }>;
}

async function readinessOf(health: string): Promise<Ready> {
  const response = await fetch(`${health}/health/ready`);
  const { checks } = (await response.json()) as Pick<Ready, 'checks'>;
  return { code: response.status, checks, alive: (await fetch(`${health}/health/live`)).status };
}

async function readiness(): Promise<Record<string, Ready>> {
  const services = (await cluster.processes()).filter(({ health }) => health !== null);
  const answers = services.map(async ({ name, health }) => [name, await readinessOf(health!)] as const);
  return Object.fromEntries(await Promise.all(answers));
}

async function eventually(isTrue: () => Promise<boolean>, withinMs: number, complaint: () => string): Promise<void> {
  const untilMs = performance.now() + withinMs;
  while (!(await isTrue())) {
    if (performance.now() > untilMs) throw new Error(`${complaint()}\n${cluster.output()}`);
    await sleep(100);
  }
}

async function query<R extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<R[]> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  try {
    return (await client.query<R>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** How often a statement that was named before is unknown, while others take the connections that knew it. */
async function statementsLost(databaseUrl: string, databasePooler: DatabasePooler): Promise<number> {
  const pool = createPool({ databaseUrl, databasePooler, poolSize: ATTEMPTS + 1, name: 'secured-spec' });
  const client = await pool.connect();
  const named = { name: `doubled-${databasePooler}`, text: 'SELECT $1::int * 2 AS twice', values: [21] };
  const holders: pg.PoolClient[] = [];
  let lost = 0;
  try {
    for (let i = 0; i < ATTEMPTS; i++) {
      await client.query(named).catch((error: { code?: string }) => {
        if (error.code !== UNKNOWN_STATEMENT) throw error;
        lost++;
      });
      const holder = await pool.connect();
      holders.push(holder);
      await holder.query('BEGIN');
    }
    return lost;
  } finally {
    for (const holder of holders) holder.release(true);
    client.release(true);
    await pool.end();
  }
}

const under = () => site.requests(isPageRequest).length;

describe('a cluster with TLS, credentials, copies and a pooler', () => {
  it(
    'crawls a site to its end, each page once, while one of three NATS servers is killed',
    async () => {
      const id = await crawls.startCrawl({ url: site.url('/'), sitemap: 'skip', limit: 1000 });
      await eventually(
        async () => under() > 20,
        PATIENCE_MS,
        () => 'the crawl did not begin',
      );
      expect(under()).toBeLessThan(PAGES);
      await nats.servers[1]!.kill();
      await crawls.waitForEnd(id, PATIENCE_MS);
      const status = await crawls.readAll(id);
      expect(status).toMatchObject({
        status: 'completed',
        total: PAGES + 1,
        completed: PAGES + 1,
        creditsUsed: PAGES + 1,
      });
      expect(new Set(status.data.map(({ metadata }) => metadata.sourceURL)).size).toBe(PAGES + 1);
      expect(await crawls.get(`/v2/crawl/${id}/errors`)).toMatchObject({ errors: [] });
      await nats.servers[1]!.up();
    },
    2 * PATIENCE_MS,
  );

  it('answers single scrapes', async () => {
    const { status, body } = await new ApiClient(cluster.url, cluster.apiKey).post('/v2/scrape', {
      url: site.url('/p/1'),
    });
    expect([status, body.success]).toEqual([200, true]);
  });

  it('talks to Postgres through TLS only, and as one of few through the pooler', async () => {
    const rows = await query<{ name: string; ssl: boolean }>(
      `SELECT application_name AS name, ssl FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE usename = 'troupe'`,
    );
    expect(rows.length).toBeGreaterThan(1);
    expect(rows.every(({ ssl }) => ssl)).toBe(true);
    if (pooler !== null) expect(rows.length).toBeLessThanOrEqual(12 + 1);
  });

  it('would lose prepared statements behind the pooler without the setting', async () => {
    if (pooler === null) return;
    expect(await statementsLost(pooler.url, 'none')).toBeGreaterThan(0);
    expect(await statementsLost(pooler.url, 'transaction')).toBe(0);
  });

  it(
    'says of every service what is away while Postgres is, lives on, and is ready again afterwards',
    async () => {
      const isReady = async () => Object.values(await readiness()).every(({ code }) => code === 200);
      await eventually(isReady, KNOWN_BY_MS, () => 'not ready before');
      await postgres.down();
      try {
        const away = async () => {
          const answers = await readiness();
          return WITH_POSTGRES.every((name) => answers[name]?.code === 503);
        };
        await eventually(away, KNOWN_BY_MS, () => 'still ready without Postgres');
        const answers = await readiness();
        for (const name of WITH_POSTGRES) {
          const { alive, checks } = answers[name]!;
          expect([name, alive, checks.postgres?.status, checks.nats?.status]).toEqual([name, 200, 'down', 'up']);
          expect(checks.postgres?.error).toBeTruthy();
          expect(checks.postgres?.ageMs).toBeLessThan(3_000);
        }
        expect(answers.converter).toMatchObject({ code: 200, alive: 200, checks: { nats: { status: 'up' } } });
      } finally {
        await postgres.up();
      }
      await eventually(isReady, PATIENCE_MS, () => 'not ready again');
    },
    2 * PATIENCE_MS,
  );
});
