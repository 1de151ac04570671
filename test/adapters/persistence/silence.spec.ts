/** A Postgres that says nothing: a machine that is gone, packets that are lost. No connection ends, nobody is told. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { TurnTimeoutError } from '@troupe/actors';
import {
  createPool,
  DatabaseSilentError,
  PgActorStore,
  Pulse,
  type LivePool,
  type LivePoolOptions,
} from '@troupe/persistence';
import type pg from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { TcpRelay, type Silence } from '../../support/tcp-relay.js';
import { testDatabase, type TestDatabase } from './database.js';

const LOST_MS = 10_000;
/** For a machine that is busy with other things. */
const GRACE_MS = 2_500;
const HEALED_MS = 5_000;

let database: TestDatabase;
const relays: TcpRelay[] = [];
const pools: LivePool[] = [];

beforeAll(async () => {
  database = await testDatabase();
  await database.pool.query('CREATE TABLE note (text text)');
});
afterAll(() => database.drop());

afterEach(async () => {
  await Promise.all(relays.map((relay) => relay.mend()));
  await Promise.all(pools.splice(0).map((pool) => pool.end()));
  await Promise.all(relays.splice(0).map((relay) => relay.cut()));
});

interface Opened {
  pool: LivePool;
  way: TcpRelay;
  /** What was logged. */
  said: string[];
}

/** A pool with a way of its own, over which something has come. */
async function open(options: Partial<LivePoolOptions> = {}): Promise<Opened> {
  const way = await TcpRelay.startTo(database.url);
  relays.push(way);
  const said: string[] = [];
  const say = (_fields: object, message: string) => void said.push(message);
  const databaseUrl = way.addressOf(database.url);
  const pool = createPool({ databaseUrl, poolSize: 2, name: 'silence', log: { info: say, warn: say }, ...options });
  pools.push(pool);
  await pool.query('SELECT 1');
  return { pool, way, said };
}

/** How long it took to fail, and how. */
async function failure(work: Promise<unknown>): Promise<{ ms: number; error: Error }> {
  const startedMs = performance.now();
  const error = await work.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason as Error,
  );
  return { ms: performance.now() - startedMs, error };
}

async function untilAnswered(pool: LivePool): Promise<number> {
  const startedMs = performance.now();
  while ((await pool.query('SELECT 1').catch(() => null)) === null) await sleep(50);
  return performance.now() - startedMs;
}

/** Hears of it within ten seconds, says so at once from then on, and heals by itself. */
async function expectToSurvive(who: Silence): Promise<void> {
  const { pool, way, said } = await open();
  way.silent(who);
  const waiting = await failure(pool.query('SELECT 2'));
  expect(waiting.error.message).toMatch(/terminated/);
  expect(waiting.ms).toBeLessThan(LOST_MS + GRACE_MS);
  expect(pool.silentMs()).toBeGreaterThanOrEqual(LOST_MS);

  const asked = await failure(pool.query('SELECT 3'));
  expect(asked.error).toBeInstanceOf(DatabaseSilentError);
  expect(asked.error).toMatchObject({ httpStatus: 503, retryable: true, message: expect.stringMatching(/for 1\d s/) });
  expect((await failure(pool.connect())).error).toBeInstanceOf(DatabaseSilentError);
  expect(asked.ms).toBeLessThan(100);

  await way.mend();
  expect(await untilAnswered(pool)).toBeLessThan(HEALED_MS);
  expect(pool.silentMs()).toBeLessThan(1_000);
  expect(said).toEqual(['Postgres says nothing: its connections are closed', 'Postgres answers again']);
}

describe('a pool whose Postgres says nothing', () => {
  it('hears so within ten seconds, says so at once from then on, and heals by itself, whoever is not heard', async () => {
    await Promise.all((['both', 'server', 'clients'] as const).map(expectToSurvive));
  }, 40_000);

  it('cannot tell whether what it sent was done: a server that is not heard may have done it', async () => {
    const { pool, way } = await open({ statementMs: 500 });
    way.silent('server');
    const { ms, error } = await failure(pool.query(`INSERT INTO note VALUES ('done')`));
    expect(error.message).toBe('Query read timeout');
    expect(ms).toBeGreaterThan(5_000);
    expect(ms).toBeLessThan(5_500 + GRACE_MS);
    const { rows } = await database.pool.query('SELECT text FROM note');
    expect(rows).toEqual([{ text: 'done' }]);
    await way.mend();
    expect(await untilAnswered(pool)).toBeLessThan(HEALED_MS);
  }, 30_000);

  it('lets a turn whose answer is late be repeated: nobody is to blame yet', async () => {
    const { pool, way } = await open({ statementMs: 100 });
    const store = new PgActorStore(pool, { resultTtlHours: 24 });
    way.silent('server');
    const { error } = await failure(store.loadCursors(['crawl/00000000-0000-4000-8000-000000000001']));
    expect(error).toBeInstanceOf(TurnTimeoutError);
  }, 30_000);

  it('ends within seconds', async () => {
    const { pool, way } = await open();
    way.silent('both');
    void pool.query('SELECT 2').catch(() => undefined);
    const startedMs = performance.now();
    await pools.pop()!.end();
    expect(performance.now() - startedMs).toBeLessThan(3_000 + GRACE_MS);
  }, 30_000);
});

describe('a pool whose Postgres answers', () => {
  it('stays as it is: slow is not silent, a statement that fails is an answer, and who rests asks by itself', async () => {
    const resting = await open();
    const busy = await open();
    busy.way.slow({ latencyMs: 400 });
    for (const until = performance.now() + LOST_MS + 2_000; performance.now() < until;) {
      await busy.pool.query('SELECT 1');
      await busy.pool.query('SELECT nonsense').catch(() => undefined);
    }
    expect(busy.pool.silentMs()).toBeLessThan(5_000);
    expect(resting.pool.silentMs()).toBeLessThan(6_000);
    expect([...busy.said, ...resting.said]).toEqual([]);
  }, 40_000);

  it('has the server end statements that take too long, and connections that take nothing', async () => {
    const { pool } = await open({ statementMs: 300 });
    const { ms, error } = await failure(pool.query('SELECT pg_sleep(20)'));
    expect([(error as pg.DatabaseError).code, ms < 300 + GRACE_MS]).toEqual(['57014', true]);
    const settingOf = async (from: LivePool, name: string) =>
      (await from.query<{ value: string }>(`SELECT current_setting('${name}') AS value`)).rows[0]!.value;
    expect(await settingOf(pool, 'tcp_user_timeout')).toBe('10000');
    expect(await settingOf(pool.beside({ poolSize: 1, statementMs: 7_000 }), 'statement_timeout')).toBe('7s');
    const pooled = await open({ databasePooler: 'transaction' });
    expect(await settingOf(pooled.pool, 'statement_timeout')).toBe('0');
  });
});

describe('silence', () => {
  it('is not what passes while this process stands still', async () => {
    let nowMs = 0;
    const pulse = new Pulse({ host: '127.0.0.1', port: 1 }, null, () => (nowMs += 60_000));
    await sleep(1_200);
    expect(pulse.silentMs()).toBeGreaterThan(500);
    expect(pulse.silentMs()).toBeLessThan(LOST_MS);
    await pulse.stop();
  });
});
