/** Connections and transactions on bare node-postgres; nothing in here knows a table. */
import pg from 'pg';
import { DatabaseSilentError, Pulse, streamOf, type PulseLog } from './pulse.js';
import { noteRefusal } from './writable.js';

/** Between us and Postgres: nothing, or a pooler that lends a connection for one transaction. */
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

export interface LivePoolOptions extends PoolOptions {
  /** Time for one statement: then the server ends it, or, `LATE_MS` later, this process its connection. @default 10000 */
  statementMs?: number;
  /** Told when Postgres falls silent and when it answers again. @default none is told */
  log?: PulseLog;
}

const CONNECT_TIMEOUT_MS = 5_000;
const IDLE_TIMEOUT_MS = 60_000;
const KEEP_ALIVE_MS = 10_000;
const STATEMENT_MS = 10_000;
/** By then a living server has said that a statement took too long. */
const LATE_MS = 5_000;
/** Time for connections to be closed in good order. */
const END_MS = 3_000;
/** Message of node-postgres when it has waited for `query_timeout` and closed the connection. */
const TOO_LATE = 'Query read timeout';

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
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    pipeline: true,
  };
}

/**
 * node-postgres takes every `sslmode` for `verify-full` unless it is told to read it as libpq does: `require` encrypts,
 * `verify-ca` and `verify-full` also check the server.
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
  /** In all of its forms that may have a name, the name is in the first argument. */
  override query(...args: unknown[]): never {
    const [query, ...rest] = args;
    const isNamed = typeof query === 'object' && query !== null && 'name' in query && !('submit' in query);
    const call = super.query as (...args: unknown[]) => never;
    return call.call(this, isNamed ? { ...query, name: undefined } : query, ...rest);
  }
}

/**
 * A pool for processes that only run turns and caches: it costs no TypeORM. Lost connections show at the next query. Every
 * statement has a deadline, and while Postgres says nothing at all callers hear so at once.
 */
export function createPool(options: LivePoolOptions): LivePool {
  const probe = poolConfig({ ...options, poolSize: 1, name: `${options.name} pulse` });
  return new LivePool(options, new Pulse(probe, options.log ?? null));
}

export class LivePool extends pg.Pool {
  private readonly clients = new Set<pg.PoolClient>();
  private readonly siblings: LivePool[] = [];

  constructor(
    private readonly settings: LivePoolOptions,
    private readonly pulse: Pulse,
  ) {
    const { statementMs = STATEMENT_MS } = settings;
    const deadlines = {
      query_timeout: statementMs + LATE_MS,
      onConnect: (client: pg.ClientBase) => prepare(client, settings),
    };
    super({ ...poolConfig(settings), ...deadlines });
    this.on('error', ignoreLostConnection);
    this.on('connect', (client) => this.clients.add(client));
    this.on('remove', (client) => this.clients.delete(client));
    this.on('release', (error: unknown) => {
      if (!isOfConnection(error)) pulse.heard();
    });
    pulse.whenLost(() => this.dropConnections());
  }

  /** How long no connection has had an answer from Postgres. */
  silentMs(): number {
    return this.pulse.silentMs();
  }

  /** One more pool that ends with this one, for statements that may take longer than others. */
  beside(settings: Pick<LivePoolOptions, 'poolSize' | 'statementMs'>): LivePool {
    const sibling = new LivePool({ ...this.settings, ...settings }, this.pulse);
    this.siblings.push(sibling);
    return sibling;
  }

  /** @throws DatabaseSilentError while Postgres says nothing */
  override connect(): Promise<pg.PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | void {
    if (!this.pulse.isLost()) return callback === undefined ? super.connect() : super.connect(callback);
    const error = new DatabaseSilentError(this.pulse.silentMs());
    if (callback === undefined) return Promise.reject(error);
    process.nextTick(() => callback(error, undefined, () => undefined));
  }

  override end(): Promise<void>;
  override end(callback: () => void): void;
  override end(callback?: () => void): Promise<void> | void {
    const ended = this.endAll();
    if (callback === undefined) return ended;
    void ended.then(callback);
  }

  /** Connections without an answer are closed after `END_MS`. */
  private async endAll(): Promise<void> {
    const deadline = setTimeout(() => this.dropConnections(), END_MS);
    await Promise.all([super.end(), this.pulse.stop(), ...this.siblings.map((sibling) => sibling.end())]);
    clearTimeout(deadline);
  }

  /** Callers that wait for an answer on one of them hear that it does not come. */
  private dropConnections(): void {
    for (const client of this.clients) streamOf(client).destroy();
  }
}

type ConnectCallback = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  done: (release?: unknown) => void,
) => void;

/** Settings that only the server itself can keep: a pooler hands the next transaction to another of its connections. */
async function prepare(
  client: pg.ClientBase,
  { databasePooler, statementMs = STATEMENT_MS }: LivePoolOptions,
): Promise<void> {
  if (databasePooler === 'transaction') return;
  const text = `SET statement_timeout = ${statementMs}; SET tcp_user_timeout = ${KEEP_ALIVE_MS}`;
  await client.query({ text, query_timeout: CONNECT_TIMEOUT_MS } as pg.QueryConfig);
}

/** Whether the connection failed: what the server would have answered is not known. */
function isOfConnection(error: unknown): boolean {
  return error !== undefined && error !== null && error !== false && sqlState(error) === null;
}

/** The answer to a statement did not come in time; whether it was carried out is not known. */
export function isTooLate(error: unknown): boolean {
  return error instanceof Error && error.message === TOO_LATE;
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
 * One connection for `work`, which begins and commits by itself. A transaction left open by an error is rolled back. The
 * connection is closed unless the server refused: with a value that could not be sent node-postgres has closed a
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
