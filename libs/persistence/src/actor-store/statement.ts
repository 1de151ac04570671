/** Set-based statements: one text, rows handed over as parallel arrays, named so that a connection parses it once. */
import type pg from 'pg';

interface JsonColumn<Row> {
  text: (row: Row) => string;
}

type Column<Row> = ((row: Row) => unknown) | JsonColumn<Row>;

export interface BulkStatement<Row> {
  name: string;
  /** `$1 … $n` are arrays, one per column (texts for `jsonTexts` where it is one of JSON); further parameters are single values. */
  text: string;
  columns: readonly Column<Row>[];
}

export function bulkQuery<Row>(
  { name, text, columns }: BulkStatement<Row>,
  rows: readonly Row[],
  ...more: unknown[]
): pg.QueryConfig {
  return { name, text, values: [...columns.map((column) => parameterOf(column, rows)), ...more] };
}

function parameterOf<Row>(column: Column<Row>, rows: readonly Row[]): unknown {
  return typeof column === 'function' ? rows.map(column) : rows.map(column.text).join(RECORD_SEPARATOR);
}

/** Separates texts of JSON, in which it never stands by itself (RFC 7464). */
const RECORD_SEPARATOR = '\x1e';

/** A parameter of `jsonColumn` as `text[]`. */
export const jsonTexts = (parameter: string): string => `string_to_array(${parameter}, E'\\x1e')`;

/** All the JSON of a column in one text: an array would have each of its quotes escaped and read back. */
export function jsonColumn<Row>(text: (row: Row) => string): JsonColumn<Row> {
  return { text };
}

const COMMIT: pg.QueryConfig = { text: 'COMMIT' };

/** Issues the statements in order, in one write, without waiting in between; rejects with the first failure. */
export async function runAll(client: pg.PoolClient, queries: readonly pg.QueryConfig[]): Promise<pg.QueryResult[]> {
  if (client.pipeline) return inOneWrite(client, () => Promise.all(queries.map((query) => client.query(query))));
  const results: pg.QueryResult[] = [];
  for (const query of queries) results.push(await client.query(query));
  return results;
}

/**
 * Sends the statements and COMMIT behind them, in one write. A COMMIT behind a failed statement rolls back. Behind a statement that
 * could not even be sent, because of a value, there is none. The caller hears the first failure.
 */
export async function commitAll(client: pg.PoolClient, statements: readonly pg.QueryConfig[]): Promise<void> {
  if (!client.pipeline) return void (await runAll(client, [...statements, COMMIT]));
  await inOneWrite(client, () => {
    let isSent = true;
    const running = statements.map(
      (statement) =>
        new Promise<unknown>((resolve, reject) => {
          client.query(statement, (error: Error | null | undefined, result) => {
            if (!error) return resolve(result);
            isSent = false;
            reject(error);
          });
        }),
    );
    return Promise.all(isSent ? [...running, client.query(COMMIT)] : running);
  });
}

function inOneWrite<T>(client: pg.PoolClient, issue: () => T): T {
  const { stream } = client.connection;
  stream.cork();
  try {
    return issue();
  } finally {
    stream.uncork();
  }
}

/** Text as Postgres can hold it: without NUL. */
export function storable(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text;
}

/** JSON as `jsonb` can hold it: without NUL and lone surrogates, which it refuses. */
export function storableJson(value: unknown): string {
  return storableText(JSON.stringify(value));
}

/** As `storableJson`, for text that is JSON already. */
export function storableText(json: string): string {
  if (!json.includes('\\u')) return json;
  return json.replace(/\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g, (escape) =>
    /^\\u(?:0000|d)/.test(escape) ? '\\ufffd' : escape,
  );
}

/** Keeps the last row of each key: a statement may not touch one row twice. */
export function lastByKey<Row>(rows: readonly Row[], key: (row: Row) => string): Row[] {
  return [...new Map(rows.map((row) => [key(row), row])).values()];
}

export function groupBy<Row, Key>(rows: readonly Row[], key: (row: Row) => Key): Map<Key, Row[]> {
  const groups = new Map<Key, Row[]>();
  for (const row of rows) {
    const group = groups.get(key(row));
    if (group === undefined) groups.set(key(row), [row]);
    else group.push(row);
  }
  return groups;
}
