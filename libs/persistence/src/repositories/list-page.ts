/**
 * Pages of lists, in the one form in which the API reads them: rows behind a place, in the order of an index, no more of them
 * and no more bytes than an answer holds, and a deadline for the statement.
 */
import type pg from 'pg';
import type { Repository } from 'typeorm';
import { poolOf } from '../data-source.js';
import { withConnection } from '../pool.js';
import { runAll } from '../actor-store/statement.js';

/** A row's place in its list: the values by which the list is in order, as text. */
export type ListKey = readonly string[];

export interface ListRange {
  /** The last row that was read; null: none. */
  after: ListKey | null;
  /** Rows to pass over behind it. */
  skip: number;
  limit: number;
}

export type Keyed<Row> = Row & { key: ListKey };

export interface ListPage<Row> {
  rows: Keyed<Row>[];
  hasMore: boolean;
}

/** Time in which a list is read. */
const DEADLINE_MS = 5_000;
/** Size of a page's rows as JSON; the first one is read however large it is. */
const MAX_BYTES = 8 * 1024 * 1024;

/**
 * Begins what reads a list in several statements, whose joins reach their rows by whole keys. The planner, which may not know yet how
 * many rows a job has, would hash them all.
 */
export const BEGIN_SNAPSHOT = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = ${DEADLINE_MS};
  SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL jit = off`;

/** The time in column `at` as part of a key: Dates would lose its microseconds. */
export const timeKey = (at: string): string => `(extract(epoch FROM ${at}) * 1000000)::bigint::text`;
/** The time from such a part of a key. */
export const keyTime = (parameter: string): string =>
  `(timestamptz 'epoch' + ${parameter}::bigint * interval '1 microsecond')`;

/** Keys before every row of a list that is in order of time. */
export const BEFORE_ALL = '-1';
/** Start of a list with the newest first: the end of the year 9999. */
export const AFTER_ALL = '253402300799999999';

interface PageRecord {
  nth: string;
  upto: string;
  found: string;
}

/** The least id there is. */
export const NO_ID = '00000000-0000-0000-0000-000000000000';

/** @param list a SELECT with an ORDER BY and a column `key text[]`, which reads one row more than are shown */
export function pageQuery(list: string, values: unknown[]): pg.QueryConfig {
  const text = `SELECT * FROM (SELECT l.*, row_number() OVER () AS nth, count(*) OVER () AS found,
      sum(octet_length(row_to_json(l)::text)) OVER (ROWS UNBOUNDED PRECEDING) AS upto FROM (${list}) l) p
    WHERE nth = 1 OR upto <= ${MAX_BYTES} ORDER BY nth`;
  return { text, values };
}

export function pageOf<Row extends object>(records: readonly object[], limit: number): ListPage<Row> {
  const rows = (records as (Keyed<Row> & PageRecord)[])
    .slice(0, limit)
    .map(({ nth: _n, upto: _u, found: _f, ...row }) => row);
  const found = Number((records[0] as PageRecord | undefined)?.found ?? 0);
  return { rows: rows as unknown as Keyed<Row>[], hasMore: found > rows.length };
}

export interface List {
  /** As for `pageQuery`. Its parameters: `values`, the parts of the key behind which it begins, OFFSET, LIMIT. */
  text: string;
  /** @default none */
  values?: readonly unknown[];
  /** A key before every row. */
  start: ListKey;
}

/** One page, read in one round trip. @throws Error of SQLSTATE 57014 beyond the deadline */
export async function readPage<Row extends object>(
  pool: pg.Pool,
  { text, values = [], start }: List,
  { after, skip, limit }: ListRange,
): Promise<ListPage<Row>> {
  const query = pageQuery(text, [...values, ...(after ?? start), skip, limit + 1]);
  return pageOf<Row>(await readWithin(pool, query, DEADLINE_MS), limit);
}

/**
 * One page of the rows of an entity, as TypeORM reads them.
 * @param list `text` is what follows WHERE, `key` the parts of the key as SQL
 */
export async function readEntities<Row extends object>(
  { metadata, manager }: Repository<Row>,
  { text, key, ...list }: List & { key: string },
  range: ListRange,
): Promise<ListPage<Row>> {
  const { tableName, columns } = metadata;
  const read = columns.filter(({ isSelect }) => isSelect);
  const values = read.map(
    ({ query, databaseName, propertyName }) => `${query?.(tableName) ?? databaseName} AS "${propertyName}"`,
  );
  const select = `SELECT ${values.join(', ')}, ARRAY[${key}] AS key FROM ${tableName} WHERE ${text}`;
  const page = await readPage<Row>(poolOf(manager.dataSource), { ...list, text: select }, range);
  for (const row of page.rows)
    for (const column of read)
      column.setEntityValue(row, manager.dataSource.driver.prepareHydratedValue(column.getEntityValue(row), column));
  return page;
}

/** Rows of one statement, read in one round trip. @throws Error of SQLSTATE 57014 beyond the deadline */
export async function readWithin(pool: pg.Pool, query: pg.QueryConfig, deadlineMs: number): Promise<object[]> {
  const begin = { text: `BEGIN READ ONLY; SET LOCAL statement_timeout = ${deadlineMs}` };
  const [, result] = await withConnection(pool, (client) => runAll(client, [begin, query, { text: 'COMMIT' }]));
  return result!.rows as object[];
}
