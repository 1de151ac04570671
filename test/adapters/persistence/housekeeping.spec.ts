import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dayOf, jobNoOf } from '@troupe/contracts';
import { createDataSource, Housekeeping, migrate, poolOf } from '@troupe/persistence';
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { DataSource } from 'typeorm';
import { emptyDatabase } from './database.js';

const FIRST = 'InitialSchema1763683200000';
const today = dayOf(Date.now());
const BULK = [
  'job',
  'job_start',
  'url_seen',
  'frontier',
  'lane',
  'job_seed',
  'url_outcome',
  'ledger_count',
  'url_excluded',
  'page',
  'page_segment',
  'job_error',
  'model_step',
  'extract_result',
  'delivery_attempt',
  'delivery_end',
];
const TABLES = [...BULK, 'scrape_log', 'scrape_document'];

let server: { url: string; drop(): Promise<void> };
let sources: DataSource[];
let pool: pg.Pool;
let housekeeping: Housekeeping;
let applied: string[][];

beforeAll(async () => {
  server = await emptyDatabase();
  sources = ['a', 'b', 'c'].map((name) => createDataSource({ databaseUrl: server.url, poolSize: 3, name }));
  await Promise.all(sources.map((source) => source.initialize()));
  pool = poolOf(sources[0]!);
  housekeeping = new Housekeeping(pool);
});
afterAll(async () => {
  await Promise.all(sources.map((source) => source.destroy()));
  await server.drop();
});

const partitions = async (): Promise<string[]> =>
  (
    await pool.query<{ name: string }>(
      `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE c.relkind = 'r' ORDER BY 1`,
    )
  ).rows.map(({ name }) => name);
const named = (days: number[]): string[] => TABLES.flatMap((table) => days.map((day) => `${table}_d${day}`)).sort();
const daysOf = (names: string[], table: string): number[] =>
  names.filter((name) => name.startsWith(`${table}_d`)).map((name) => Number(name.split('_d').at(-1)));

/** Partitions of a day in the past, as they were when it was today. */
async function addPastDay(day: number): Promise<void> {
  for (const table of TABLES) {
    const byDay = table.startsWith('scrape_');
    const [from, to] = byDay ? [day, day + 1] : [jobNoOf(day, 0n), jobNoOf(day + 1, 0n)];
    await pool.query(`CREATE TABLE ${table}_d${day} PARTITION OF ${table} FOR VALUES FROM (${from}) TO (${to})`);
  }
}

async function addJob(day: number, status: string, expiresIn: string): Promise<void> {
  await pool.query(
    `INSERT INTO job (job_no, id, team_id, kind, status, created_at, expires_at, options, total, completed, credits, zdr, shards)
     VALUES ($1, $2, $2, 'crawl', $3, now(), now() + $4::interval, '{}', 0, 0, 0, false, 1)`,
    [jobNoOf(day, 1n), randomUUID(), status, expiresIn],
  );
}

describe('migrations', () => {
  it('are reported as missing before they ran', async () => {
    await expect(housekeeping.checkMigrations()).rejects.toThrow();
  });

  it('are applied once when three processes start together', async () => {
    applied = await Promise.all(sources.map((source) => migrate(source)));
    const names = applied.flat();
    expect(names[0]).toBe(FIRST);
    expect(new Set(names).size).toBe(names.length);
    await expect(housekeeping.checkMigrations()).resolves.toBeUndefined();
  });

  it('make entities that fit their tables', async () => {
    for (const { name } of sources[0]!.entityMetadatas) {
      await expect(sources[0]!.getRepository(name).find({ take: 1 })).resolves.toEqual([]);
    }
  });

  it('name what is missing in an older database', async () => {
    await pool.query(`UPDATE schema_migration SET name = 'older' WHERE name = '${FIRST}'`);
    await expect(housekeeping.checkMigrations()).rejects.toThrow(FIRST);
    await pool.query(`UPDATE schema_migration SET name = '${FIRST}' WHERE name = 'older'`);
  });

  it('leave the programs of the version before at work on a newer database', async () => {
    await pool.query(`INSERT INTO schema_migration (timestamp, name) VALUES (9999999999999, 'Later9999999999999')`);
    await expect(housekeeping.checkMigrations()).resolves.toBeUndefined();
    await expect(migrate(sources[0]!)).resolves.toEqual([]);
    await pool.query(`DELETE FROM schema_migration WHERE name = 'Later9999999999999'`);
  });
});

describe('partitions', () => {
  it('exist for today and three days ahead after the first start', async () => {
    expect(await partitions()).toEqual(named([today, today + 1, today + 2, today + 3]));
  });

  it('carry the storage parameters that their parent cannot hold', async () => {
    const { rows } = await pool.query<{ reloptions: string[] }>(
      `SELECT reloptions FROM pg_class WHERE relname = 'frontier_d${today}'`,
    );
    expect(rows[0]!.reloptions).toContain('fillfactor=80');
  });

  it('are made by several processes at once without an error, also while others write', async () => {
    for (const table of TABLES) await pool.query(`DROP TABLE ${table}_d${today + 3}, ${table}_d${today + 2}`);
    const writer = await pool.connect();
    await writer.query('BEGIN');
    await writer.query(`INSERT INTO url_seen VALUES ($1, 1)`, [jobNoOf(today, 5n)]);
    await Promise.all(sources.map((source) => new Housekeeping(poolOf(source)).ensurePartitions()));
    await writer.query('COMMIT');
    writer.release();
    expect(await partitions()).toEqual(named([today, today + 1, today + 2, today + 3]));
  });
});

describe('dropping what expired', () => {
  it('keeps a day with a live job, a day with unexpired results, and yesterday', async () => {
    for (const day of [today - 1, today - 5, today - 6, today - 7, today - 8]) await addPastDay(day);
    await addJob(today - 5, 'scraping', '-1 hour');
    await addJob(today - 6, 'completed', '1 hour');
    await addJob(today - 7, 'completed', '-1 second');
    const dropped = await housekeeping.dropExpired();
    expect(dropped).toHaveLength(2 * BULK.length + 4);
    expect(daysOf(await partitions(), 'page')).toEqual([
      today - 6,
      today - 5,
      today - 1,
      today,
      today + 1,
      today + 2,
      today + 3,
    ]);
    expect((await pool.query(`SELECT FROM pg_class WHERE relname ~ $1`, [`_d${today - 7}$`])).rowCount).toBe(1);
  });

  it('keeps documents of scrapes until they expire and their log for a month', async () => {
    const day = today - 9;
    await addPastDay(day);
    await pool.query(
      `INSERT INTO scrape_document (id, day, team_id, inline, expires_at) VALUES ($1, $2, $1, '', now() + interval '1 hour')`,
      [randomUUID(), day],
    );
    await housekeeping.dropExpired();
    expect(daysOf(await partitions(), 'scrape_document')).toContain(day);
    await pool.query(`UPDATE scrape_document SET expires_at = now() - interval '1 second'`);
    await housekeeping.dropExpired();
    expect(daysOf(await partitions(), 'scrape_document')).not.toContain(day);
    expect(daysOf(await partitions(), 'scrape_log')).toContain(day);
  });

  it('finishes what a crashed run left detached', async () => {
    await addPastDay(today - 10);
    await pool.query(`ALTER TABLE page DETACH PARTITION page_d${today - 10}`);
    expect(await housekeeping.dropExpired()).toContain(`page_d${today - 10}`);
  });

  it('is safe when two processes do it at once, and leaves what is locked for the next call', async () => {
    await addPastDay(today - 11);
    const reader = await pool.connect();
    await reader.query('BEGIN');
    await reader.query(`SELECT FROM url_outcome`);
    await Promise.all([housekeeping, new Housekeeping(poolOf(sources[1]!))].map((keeper) => keeper.dropExpired()));
    await reader.query('COMMIT');
    reader.release();
    await housekeeping.dropExpired();
    expect((await pool.query(`SELECT relname FROM pg_class WHERE relname ~ $1`, [`_d${today - 11}$`])).rows).toEqual([
      { relname: `scrape_log_d${today - 11}` },
    ]);
  });

  it('happens in transactions behind a pooler that keeps no settings, and leaves what is locked there, too', async () => {
    await addPastDay(today - 12);
    const behindPooler = new Housekeeping(pool, 'transaction');
    const reader = await pool.connect();
    await reader.query('BEGIN');
    await reader.query(`SELECT FROM url_outcome`);
    const dropped = await behindPooler.dropExpired();
    expect(dropped).toContain(`page_d${today - 12}`);
    expect(dropped).not.toContain(`url_outcome_d${today - 12}`);
    await reader.query('COMMIT');
    reader.release();
    expect(await behindPooler.dropExpired()).toContain(`url_outcome_d${today - 12}`);
    for (let i = 0; i < 3; i++) expect((await pool.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: '0' }]);
  });

  it('removes tombstones when their time is over', async () => {
    const [old, young] = [randomUUID(), randomUUID()];
    await pool.query(
      `INSERT INTO job_id VALUES ($1, 1, $1, 'crawl', now() - interval '1 second'), ($2, 2, $2, 'crawl', now() + interval '1 day')`,
      [old, young],
    );
    await housekeeping.dropExpired();
    expect((await pool.query(`SELECT id FROM job_id WHERE id IN ($1, $2)`, [old, young])).rows).toEqual([
      { id: young },
    ]);
  });
});
