/** One look at a database, for an operator who wants to know whether Troupe can run on it. */
import pg from 'pg';
import { MIGRATIONS, MIGRATIONS_TABLE } from './migrations/index.js';
import { ignoreLostConnection, poolConfig, sqlState, type PoolOptions } from './pool.js';

/** Major version of Postgres. */
const OLDEST_MAJOR = 15;
const UNDEFINED_TABLE = '42P01';
const NO_PRIVILEGE = '42501';

export interface DatabaseReport {
  version: string;
  /** Oldest major version that will do. */
  oldest: string;
  isNewEnough: boolean;
  user: string;
  encoding: string;
  /** Between us and the server. */
  isEncrypted: boolean;
  /** The server that answers is not Postgres itself. */
  isPooled: boolean;
  /** A standby: nothing can be written. */
  isReadOnly: boolean;
  /** The user may make tables in its schema. */
  canCreate: boolean;
  /** Its clock less ours. */
  skewMs: number;
  /** Connections of the whole server; `max` without those reserved for superusers. */
  connections: { used: number; max: number };
  migrations: { pending: string[]; /** Made by a newer version. */ unknown: string[] } | 'not readable';
}

interface Facts {
  version: string;
  major: number;
  user: string;
  encoding: string;
  pid: number;
  read_only: boolean;
  can_create: boolean;
  now_ms: number;
  used: number;
  max: number;
}

const FACTS = `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int / 10000 AS major,
    current_user AS "user", current_setting('server_encoding') AS encoding, pg_backend_pid() AS pid,
    pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool AS read_only,
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS can_create,
    (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms,
    (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS max`;

/** @throws the error of node-postgres when there is no answer, or access is refused */
export async function examineDatabase(
  options: Omit<PoolOptions, 'poolSize' | 'name'>,
  timeoutMs: number,
): Promise<DatabaseReport> {
  const client = new pg.Client({
    ...poolConfig({ ...options, poolSize: 1, name: 'troupe-doctor' }),
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  });
  client.on('error', ignoreLostConnection);
  try {
    await client.connect();
    return await readReport(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function readReport(client: pg.Client): Promise<DatabaseReport> {
  const askedMs = Date.now();
  const { rows } = await client.query<Facts>(FACTS);
  const halfwayMs = (askedMs + Date.now()) / 2;
  const facts = rows[0]!;
  return {
    version: facts.version,
    oldest: String(OLDEST_MAJOR),
    isNewEnough: facts.major >= OLDEST_MAJOR,
    user: facts.user,
    encoding: facts.encoding,
    isEncrypted: 'encrypted' in connectionOf(client).stream,
    // A pooler invents the number that stands for its client's connection.
    isPooled: connectionOf(client).processID !== facts.pid,
    isReadOnly: facts.read_only,
    canCreate: facts.can_create,
    skewMs: facts.now_ms - halfwayMs,
    connections: { used: facts.used, max: facts.max },
    migrations: await readMigrations(client),
  };
}

/** Facts that node-postgres knows of its connection and its types do not tell. */
function connectionOf(client: pg.Client): { stream: object; processID: number | null } {
  const { connection, processID } = client as unknown as { connection: { stream: object }; processID: number | null };
  return { stream: connection.stream, processID };
}

async function readMigrations(client: pg.Client): Promise<DatabaseReport['migrations']> {
  const known = MIGRATIONS.map((migration) => migration.name);
  try {
    const { rows } = await client.query<{ name: string }>(`SELECT name FROM ${MIGRATIONS_TABLE}`);
    const applied = new Set(rows.map(({ name }) => name));
    return {
      pending: known.filter((name) => !applied.has(name)),
      unknown: [...applied].filter((name) => !known.includes(name)),
    };
  } catch (error) {
    if (sqlState(error) === UNDEFINED_TABLE) return { pending: known, unknown: [] };
    if (sqlState(error) === NO_PRIVILEGE) return 'not readable';
    throw error;
  }
}
