import { AFTER_ALL, type Keyed, type ListKey } from '@troupe/persistence';
import type { Request } from 'express';
import { type JobProblems, type ProblemsQuery } from '../../jobs/job-status.service.js';
import { type JobError } from '../../jobs/ports.js';
import {
  BIG_LIST,
  MAX_BYTES,
  nextOf,
  pageOfRows,
  readListQuery,
  sharesOf,
  startOfList,
  type ListQuery,
} from '../list-query.js';

const TRAITS = {
  keys: [
    ['int', 'uuid'],
    ['int', 'int'],
  ],
  ...BIG_LIST,
} as const;

/** A list of which nothing is left behind `skip` does not begin anew on the next page. */
const PAST_ERRORS: ListKey = [AFTER_ALL, 'ffffffff-ffff-ffff-ffff-ffffffffffff'];
const PAST_BLOCKED: ListKey = [AFTER_ALL, '0'];

export interface ProblemsRequest extends ProblemsQuery {
  list: ListQuery;
}

/** @throws ApiError 400 */
export function problemsQueryFromV2(query: Request['query']): ProblemsRequest {
  const list = readListQuery(query, TRAITS);
  const [afterError = null, afterBlocked = null] = list.after;
  return { skip: list.skip, limit: list.limit, afterError, afterBlocked, list };
}

/**
 * `{errors, robotsBlocked, next?}`; every error has string `id`, `url` and `error`. A page is shared: who has never heard of pages
 * finds the beginning of both lists in the first one.
 */
export function problemsToV2({ errors, robotsBlocked }: JobProblems, query: ProblemsRequest, base: string) {
  const { limit, afterError, afterBlocked, list } = query;
  const [ofErrors, ofBlocked] = sharesOf(errors.rows.length, robotsBlocked.rows.length, limit);
  const failed = pageOfRows(startOfList(errors, ofErrors), errorToV2, MAX_BYTES / 2);
  const blocked = pageOfRows(startOfList(robotsBlocked, ofBlocked), ({ url }) => url, MAX_BYTES / 2);
  const reached = (rows: readonly Keyed<object>[], count: number, after: ListKey | null) =>
    rows[count - 1]?.key ?? after;
  const after = [
    reached(errors.rows, failed.bodies.length, afterError) ?? (query.skip > 0 ? PAST_ERRORS : null),
    reached(robotsBlocked.rows, blocked.bodies.length, afterBlocked) ?? (query.skip > 0 ? PAST_BLOCKED : null),
  ];
  const isWhole = failed.last === null && blocked.last === null;
  return {
    success: true,
    errors: failed.bodies,
    robotsBlocked: blocked.bodies,
    ...(isWhole ? {} : { next: nextOf(base, list, after) }),
  };
}

function errorToV2({ id, at, url, code, message }: JobError) {
  return { id, timestamp: at.toISOString(), url, code, error: message };
}
