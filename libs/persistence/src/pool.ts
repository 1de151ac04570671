/** Connections and transactions on bare node-postgres; nothing in here knows a table. */
import pg from 'pg';

export interface PoolOptions {
  databaseUrl: string;
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
export function poolConfig({ databaseUrl, poolSize, name }: PoolOptions): pg.PoolConfig {
  return {
    connectionString: databaseUrl,
    max: poolSize,
    application_name: name,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    keepAlive: true,
    pipeline: true,
  };
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

/** One connection for `work`, which begins and commits by itself; what it leaves open when it throws is rolled back. */
export async function withConnection<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  client.on('error', ignoreLostConnection);
  let usable = true;
  try {
    return await work(client);
  } catch (error) {
    usable = await rollback(client);
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
