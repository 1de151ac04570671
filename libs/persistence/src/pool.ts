/** Connections and transactions on bare node-postgres; nothing in here knows a table. */
import pg from 'pg';
import { noteRefusal } from './writable.js';

/** What stands between us and Postgres: nothing, or a pooler that lends a connection for one transaction. */
export type DatabasePooler = 'none' | 'transaction';

export interface PoolOptions {
  /** With `sslmode`, `sslrootcert`, `sslcert` and `sslkey` as libpq knows them. */
  databaseUrl: string;
  /** @default 'none' */
  databasePooler?: DatabasePooler;
  /** Most connections this process opens. Schedulers 4, gateway 8. */
  poolSize: number;
  /** `application_name`, seen in `pg_stat_activity`. */
  name: string;
}

const CONNECT_TIMEOUT_MS = 5_000;
const IDLE_TIMEOUT_MS = 60_000;

/**
 * Settings of every pool of ours. `pipeline` sends statements that were issued together without waiting for each
 * answer, which makes a whole turn three or four round trips.
 */
export function poolConfig({ databaseUrl, databasePooler, poolSize, name }: PoolOptions): pg.PoolConfig {
  return {
    connectionString: connectionString(databaseUrl),
    ...(databasePooler === 'transaction' ? { Client: UnnamedClient } : {}),
    max: poolSize,
    application_name: name,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    keepAlive: true,
    pipeline: true,
  };
}

/**
 * node-postgres takes every `sslmode` for `verify-full` unless it is told to read it as libpq does: `require` encrypts,
 * `verify-ca` and `verify-full` also check who answers.
 */
function connectionString(databaseUrl: string): string {
  const isMute = !/[?&]sslmode=/.test(databaseUrl) || /[?&]uselibpqcompat=/.test(databaseUrl);
  return isMute ? databaseUrl : `${databaseUrl}&uselibpqcompat=true`;
}

/**
 * Statements without names: a pooler in transaction mode hands the next transaction to another connection, which has never
 * heard of a statement that was prepared on this one.
 */
class UnnamedClient extends pg.Client {
  /** All ways of calling it that have a name to lose have it in their first argument. */
  override query(...args: unknown[]): never {
    const [query, ...rest] = args;
    const isNamed = typeof query === 'object' && query !== null && 'name' in query && !('submit' in query);
    const call = super.query as (...args: unknown[]) => never;
    return call.call(this, isNamed ? { ...query, name: undefined } : query, ...rest);
  }
}

/** A pool for processes that only run turns and caches: it costs no TypeORM. Lost connections show at the next query. */
export function createPool(options: PoolOptions): pg.Pool {
  const pool = new pg.Pool(poolConfig(options));
  pool.on('error', ignoreLostConnection);
  return pool;
}

/** A connection that dies while idle or between two statements is reported by the next query on it. */
export function ignoreLostConnection(): void {}

/**
 * One transaction: committed when `work` resolves, rolled back when it throws. A connection that cannot even roll back
 * is closed. When the answer to COMMIT is lost the error does not say whether it happened.
 */
export async function withTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
  begin = 'BEGIN',
): Promise<T> {
  return withConnection(pool, async (client) => {
    await client.query(begin);
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  });
}

/**
 * One connection for `work`, which begins and commits by itself; what it leaves open when it throws is rolled back. The
 * connection goes when it was not the server that refused: with a value that could not be sent node-postgres has closed a
 * prepared statement that it believes to be there.
 */
export async function withConnection<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  client.on('error', ignoreLostConnection);
  let usable = true;
  try {
    return await work(client);
  } catch (error) {
    usable = (await rollback(client)) && sqlState(error) !== null;
    noteRefusal(pool, error);
    throw error;
  } finally {
    client.off('error', ignoreLostConnection);
    client.release(!usable);
  }
}

function rollback(client: pg.PoolClient): Promise<boolean> {
  return client.query('ROLLBACK').then(
    () => true,
    () => false,
  );
}

/** SQLSTATE of a failed statement, null for anything else (lost connection, bug). */
export function sqlState(error: unknown): string | null {
  if (!(error instanceof Error) || !('severity' in error)) return null;
  return 'code' in error && typeof error.code === 'string' ? error.code : null;
}
