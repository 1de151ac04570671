/** Paging of lists: `limit`, `skip`, and `next` with the opaque `after`, which names the last row that was read. */
import { type ListKey, type ListRange } from '@troupe/persistence';
import { type TroupeConfig } from '@troupe/config';
import type { Request } from 'express';
import { ApiError } from '../errors/api-error.js';
import { publicBase } from '../http/public-address.js';
import { readStatusQuery } from './v2/job-status.js';

export const MAX_ROWS = 1_000;
/** Limit of the rows of an answer, as JSON. */
export const MAX_BYTES = 10 * 1024 * 1024;
/** Limit of `skip`: passed-over rows are read all the same. */
const MAX_SKIP = 10_000;

/** `int`: 64 bits, `real`: any number. */
export type KeyPart = 'int' | 'real' | 'uuid' | 'text';

export interface ListTraits {
  /** Types of a row's key; several lists in one answer have several. */
  keys: readonly (readonly KeyPart[])[];
  /** @default MAX_ROWS */
  defaultLimit?: number;
  /** @default any */
  maxSkip?: number;
}

export interface ListQuery {
  skip: number;
  limit: number;
  /** Key of each list; null: from its beginning. */
  after: (ListKey | null)[];
}

export const BIG_LIST = { maxSkip: MAX_SKIP } as const;

/** @throws ApiError 400 */
export function readListQuery(query: Request['query'], traits: ListTraits): ListQuery {
  const { skip, limit } = readStatusQuery(query);
  const { keys, defaultLimit = MAX_ROWS, maxSkip = Infinity } = traits;
  if (skip > maxSkip)
    throw badQuery(`Invalid skip: at most ${maxSkip} rows are passed over; use the address in \`next\``);
  return { skip, limit: Math.min(limit ?? defaultLimit, MAX_ROWS), after: readAfter(query['after'], keys) };
}

/** The range of an answer with one list. */
export function rangeOf({ skip, limit, after }: ListQuery): ListRange {
  return { skip, limit, after: after[0] ?? null };
}

/** `base`: the list's own address without a query; `more`: other parameters of the query. */
export function nextOf(
  base: string,
  { limit }: ListQuery,
  after: readonly (ListKey | null)[],
  more: Record<string, string | undefined> = {},
): string {
  const given = Object.entries(more).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const query = new URLSearchParams([['after', encode(after)], ['limit', String(limit)], ...given]);
  return `${base}?${query.toString()}`;
}

export interface Page<Body> {
  bodies: Body[];
  /** Key of the last row; null: nothing follows. */
  last: ListKey | null;
}

/** As many rows as an answer holds, at least one if there is one. */
export function pageOfRows<Row extends { key: ListKey }, Body>(
  { rows, hasMore }: { rows: readonly Row[]; hasMore: boolean },
  bodyOf: (row: Row) => Body,
  maxBytes = MAX_BYTES,
): Page<Body> {
  const bodies: Body[] = [];
  let bytes = 0;
  for (const row of rows) {
    const body = bodyOf(row);
    bytes += Buffer.byteLength(JSON.stringify(body)) + 1;
    if (bytes > maxBytes && bodies.length > 0) break;
    bodies.push(body);
  }
  const isWhole = bodies.length === rows.length && !hasMore;
  return { bodies, last: isWhole ? null : (rows[bodies.length - 1]?.key ?? null) };
}

/** Address and query of a list. */
export interface ListPlace {
  /** Its own address without a query. */
  base: string;
  query: ListQuery;
  /** Other parameters of the query. */
  more?: Record<string, string | undefined>;
}

/** Where the list of a request goes on, under the address that was asked for. @throws ApiError 400 */
export function placeOf(
  request: Request,
  config: Readonly<TroupeConfig>,
  traits: ListTraits,
  more?: ListPlace['more'],
): ListPlace {
  return { base: publicBase(request, config) + request.path, query: readListQuery(request.query, traits), more };
}

/** `{success, <name>: bodies, next?}` */
export function listAnswer<Name extends string, Row extends { key: ListKey }, Body>(
  name: Name,
  found: { rows: readonly Row[]; hasMore: boolean },
  bodyOf: (row: Row) => Body,
  { base, query, more }: ListPlace,
) {
  const { bodies, last } = pageOfRows(found, bodyOf);
  const list = { [name]: bodies } as Record<Name, Body[]>;
  return { success: true, ...list, ...(last === null ? {} : { next: nextOf(base, query, [last], more) }) };
}

/** One of two lists in an answer. */
export interface SharedList<Row, Body> {
  found: { rows: readonly Row[]; hasMore: boolean };
  bodyOf(row: Row): Body;
  /** Key after which its rows begin; null: at its beginning. */
  after: ListKey | null;
  /** Key to use when `skip` leaves no rows, so that the list does not begin anew on the next page. @default null */
  past?: ListKey | null;
}

/** Both get a share of the rows and half of the bytes. @returns `after`: of the next page; null: nothing follows */
export function shareAnswer<RowA extends { key: ListKey }, BodyA, RowB extends { key: ListKey }, BodyB>(
  first: SharedList<RowA, BodyA>,
  second: SharedList<RowB, BodyB>,
  limit: number,
): { bodies: [BodyA[], BodyB[]]; after: (ListKey | null)[] | null } {
  const [ofFirst, ofSecond] = sharesOf(first.found.rows.length, second.found.rows.length, limit);
  const one = pageOfRows(startOfList(first.found, ofFirst), first.bodyOf, MAX_BYTES / 2);
  const other = pageOfRows(startOfList(second.found, ofSecond), second.bodyOf, MAX_BYTES / 2);
  const isWhole = one.last === null && other.last === null;
  const after = [reached(first, one.bodies.length), reached(second, other.bodies.length)];
  return { bodies: [one.bodies, other.bodies], after: isWhole ? null : after };
}

function reached<Row extends { key: ListKey }>({ found, after, past = null }: SharedList<Row, unknown>, count: number) {
  return found.rows[count - 1]?.key ?? after ?? past;
}

/** Rows of each of two lists in one answer. A list gets the rows that the other does not need. */
export function sharesOf(first: number, second: number, limit: number): [number, number] {
  const ofFirst = Math.min(first, Math.max(limit - second, Math.ceil(limit / 2)));
  return [ofFirst, Math.min(second, limit - ofFirst)];
}

/** The first `count` rows that were read of a list. */
function startOfList<Row>({ rows, hasMore }: { rows: readonly Row[]; hasMore: boolean }, count: number) {
  return { rows: rows.slice(0, count), hasMore: hasMore || rows.length > count };
}

function encode(after: readonly (ListKey | null)[]): string {
  return Buffer.from(JSON.stringify(after)).toString('base64url');
}

function readAfter(text: unknown, keys: ListTraits['keys']): (ListKey | null)[] {
  if (text === undefined) return keys.map(() => null);
  const after = typeof text === 'string' ? decode(text) : null;
  const isKnown = Array.isArray(after) && after.length === keys.length && after.every((key, i) => isKey(key, keys[i]!));
  if (!isKnown) throw badQuery('Invalid after: expected what `next` of the same list holds');
  return after as (ListKey | null)[];
}

function decode(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return null;
  }
}

function isKey(key: unknown, parts: readonly KeyPart[]): boolean {
  if (key === null) return true;
  return Array.isArray(key) && key.length === parts.length && parts.every((part, i) => IS_PART[part](key[i]));
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MAX_TEXT_CHARS = 2_048;
const IS_PART: Record<KeyPart, (value: unknown) => boolean> = {
  int: (value) =>
    typeof value === 'string' && /^-?\d{1,19}$/.test(value) && BigInt.asIntN(64, BigInt(value)) === BigInt(value),
  real: (value) => typeof value === 'string' && /^-?(\d{1,300}(\.\d{1,300})?(e[+-]?\d{1,2})?|Infinity)$/.test(value),
  uuid: (value) => typeof value === 'string' && UUID.test(value),
  text: (value) => typeof value === 'string' && value.length <= MAX_TEXT_CHARS && !value.includes('\0'),
};

function badQuery(message: string): ApiError {
  return new ApiError(400, message, { code: 'BAD_REQUEST' });
}
