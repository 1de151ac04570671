/** Partitions made in time and dropped when they are not needed any more. Any process may call it, several at once too. */
import type pg from 'pg';
import { dayBounds, createPartitionSql, partitionName, PARTITIONED_TABLES } from './partitions.js';
import { MIGRATIONS, MIGRATIONS_TABLE } from './migrations/index.js';
import { ignoreLostConnection, sqlState, withTransaction, type DatabasePooler } from './pool.js';

const DAYS_AHEAD = 3;
const PARTITION_LOCK = 7_361_002;
const SCRAPE_LOG_DAYS = 31;
/** Days since 2024-01-01 by the database's clock, which also numbers jobs. */
const TODAY = `(extract(epoch FROM now())::bigint / 86400 - 19723)::int`;
const BEGIN_DDL = `BEGIN; SELECT pg_advisory_xact_lock(${PARTITION_LOCK}); SET LOCAL lock_timeout = 1000`;

/** Another process is at it, or a reader holds the table: the next round gets it. */
const TRY_LATER = new Set(['42P01', '55000', '55006', '55P03', '40P01', '42704']);

const SWEEPS = [
  `DELETE FROM job_id WHERE expires_at < now()`,
  `DELETE FROM idempotency WHERE at < now() - interval '24 hours'`,
  // No job lives as long: the one it was for is over.
  `DELETE FROM cmd_outbox WHERE created_at < now() - interval '49 hours'`,
  `DELETE FROM dead_letter WHERE at < now() - interval '14 days'`,
  `DELETE FROM actor WHERE terminal AND updated_at < now() - interval '14 days'`,
  `DELETE FROM inbox_cursor c WHERE NOT EXISTS (SELECT FROM actor a WHERE a.key = c.to_key)`,
  `DELETE FROM admin_audit WHERE at < now() - interval '400 days'`,
  `DELETE FROM host WHERE updated_at < now() - interval '7 days'`,
  `DELETE FROM robots_cache WHERE at < now() - interval '7 days'`,
];

interface Partition {
  table: string;
  name: string;
  day: number;
  state: 'attached' | 'detaching' | 'detached';
}

export class Housekeeping {
  /** @param databasePooler the pooler that the pool's connections go through */
  constructor(
    private readonly pool: pg.Pool,
    private readonly databasePooler: DatabasePooler = 'none',
  ) {}

  /** Today's partitions and those of the next three days. Never waits for a lock longer than 1 s. */
  async ensurePartitions(): Promise<void> {
    const missing = await this.missingPartitions(this.pool);
    if (missing.length === 0) return;
    await withTransaction(
      this.pool,
      async (client) => {
        for (const { table, day } of await this.missingPartitions(client))
          await client.query(createPartitionSql(table, day));
      },
      BEGIN_DDL,
    );
  }

  /**
   * Drops the partitions of days whose jobs and documents are all over and expired, and old rows of the small tables.
   * Returns the names of the dropped tables. Tables that are locked at the moment stay until the next call.
   */
  async dropExpired(): Promise<string[]> {
    const dropped: string[] = [];
    for (const partition of await this.expiredPartitions()) {
      if (await this.drop(partition)) dropped.push(partition.name);
    }
    for (const sweep of SWEEPS) await this.pool.query(sweep);
    return dropped;
  }

  /** @throws Error naming what is missing when the database is older than this program. */
  async checkMigrations(): Promise<void> {
    const known = MIGRATIONS.map((migration) => migration.name);
    const { rows } = await this.pool.query<{ name: string }>(`SELECT name FROM ${MIGRATIONS_TABLE}`);
    const applied = new Set(rows.map((row) => row.name));
    const pending = known.filter((name) => !applied.has(name));
    if (pending.length > 0) throw new Error(`migrations not applied: ${pending.join(', ')}`);
  }

  private async missingPartitions(db: pg.Pool | pg.PoolClient) {
    const { rows } = await db.query<{ today: number; names: string[] }>(
      `SELECT ${TODAY} AS today, coalesce(array_agg(relname::text), '{}') AS names
         FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relispartition AND relkind = 'r'`,
    );
    const { today, names } = rows[0]!;
    const existing = new Set(names);
    const days = Array.from({ length: DAYS_AHEAD + 1 }, (_, i) => today + i);
    return days
      .flatMap((day) => PARTITIONED_TABLES.map((table) => ({ table, day })))
      .filter(({ table, day }) => !existing.has(partitionName(table.name, day)));
  }

  private async expiredPartitions(): Promise<Partition[]> {
    const { today, partitions } = await this.listPartitions();
    const verdicts = new Map<string, boolean>();
    const expired: Partition[] = [];
    for (const partition of partitions) {
      if (partition.day >= today - 1) continue;
      const subject = expirySubject(partition.table);
      const id = `${subject} ${partition.day}`;
      if (!verdicts.has(id)) verdicts.set(id, await this.isOver(subject, partition.day, today));
      if (verdicts.get(id) === true) expired.push(partition);
    }
    return expired;
  }

  private async listPartitions(): Promise<{ today: number; partitions: Partition[] }> {
    const { rows } = await this.pool.query<{ today: number; name: string; detaching: boolean | null }>(
      `SELECT ${TODAY} AS today, c.relname AS name, i.inhdetachpending AS detaching
         FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname ~ '_d[0-9]+$'`,
    );
    const partitions = rows.flatMap(({ name, detaching }): Partition[] => {
      const cut = name.lastIndexOf('_d');
      const table = name.slice(0, cut);
      if (!PARTITIONED_TABLES.some((known) => known.name === table)) return [];
      const state = detaching === null ? 'detached' : detaching ? 'detaching' : 'attached';
      return [{ table, name, day: Number(name.slice(cut + 2)), state }];
    });
    return {
      today: rows[0]?.today ?? 0,
      partitions: partitions.sort((a, b) => a.day - b.day || jobLast(a) - jobLast(b)),
    };
  }

  private async isOver(
    subject: 'job' | 'scrape_log' | 'scrape_document',
    day: number,
    today: number,
  ): Promise<boolean> {
    if (subject === 'scrape_log') return day < today - SCRAPE_LOG_DAYS;
    const [from, to] = dayBounds(subject === 'job' ? 'job_no' : 'day', day);
    const { rows } = await this.pool.query<{ needed: boolean }>(
      subject === 'job'
        ? `SELECT EXISTS (SELECT FROM job WHERE job_no >= $1 AND job_no < $2 AND (status = 'scraping' OR expires_at > now())) AS needed`
        : `SELECT EXISTS (SELECT FROM scrape_document WHERE day >= $1 AND day < $2 AND expires_at > now()) AS needed`,
      [from, to],
    );
    return rows[0]!.needed === false;
  }

  private async drop(partition: Partition): Promise<boolean> {
    try {
      await (this.databasePooler === 'none' ? this.dropBesideReaders(partition) : this.dropInOneGo(partition));
      return true;
    } catch (error) {
      if (TRY_LATER.has(sqlState(error) ?? '')) return false;
      throw error;
    }
  }

  /** `DETACH … CONCURRENTLY` runs outside transactions; its connection is closed so that `lock_timeout` does not leak. */
  private async dropBesideReaders({ table, name, state }: Partition): Promise<void> {
    const detach = `ALTER TABLE ${table} DETACH PARTITION ${name}`;
    const client = await this.pool.connect();
    client.on('error', ignoreLostConnection);
    try {
      await client.query('SET lock_timeout = 1000');
      if (state === 'attached') await client.query(`${detach} CONCURRENTLY`);
      if (state === 'detaching') await client.query(`${detach} FINALIZE`);
      await client.query(`DROP TABLE ${name}`);
    } finally {
      client.release(true);
    }
  }

  /** A pooler keeps a setting for one transaction only: readers of the table wait, for a second at most. */
  private dropInOneGo({ table, name, state }: Partition): Promise<void> {
    const detach = `ALTER TABLE ${table} DETACH PARTITION ${name}`;
    return withTransaction(
      this.pool,
      async (client) => {
        if (state === 'attached') await client.query(detach);
        if (state === 'detaching') await client.query(`${detach} FINALIZE`);
        await client.query(`DROP TABLE ${name}`);
      },
      'BEGIN; SET LOCAL lock_timeout = 1000',
    );
  }
}

/** The rows that decide whether a table's day is over. */
function expirySubject(table: string): 'job' | 'scrape_log' | 'scrape_document' {
  return table === 'scrape_log' || table === 'scrape_document' ? table : 'job';
}

/** The job table goes last: while it stands, a crashed run finds the rest of its day again. */
function jobLast({ table }: Partition): number {
  return table === 'job' ? 1 : 0;
}
