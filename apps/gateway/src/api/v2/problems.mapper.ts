import { AFTER_ALL, type ListKey } from '@troupe/persistence';
import type { Request } from 'express';
import { type JobProblems, type ProblemsQuery } from '../../jobs/job-status.service.js';
import { type JobError } from '../../jobs/ports.js';
import { BIG_LIST, nextOf, readListQuery, shareAnswer, type ListQuery } from '../list-query.js';

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
 * `{errors, robotsBlocked, next?}`; every error has string `id`, `url` and `error`. Both lists share their pages: a
 * client that does not page finds the beginning of both in the first one.
 */
export function problemsToV2({ errors, robotsBlocked }: JobProblems, query: ProblemsRequest, base: string) {
  const { limit, afterError, afterBlocked, list } = query;
  const hasSkipped = query.skip > 0;
  const {
    bodies: [failed, blocked],
    after,
  } = shareAnswer(
    { found: errors, bodyOf: (error) => errorToV2(error), after: afterError, past: hasSkipped ? PAST_ERRORS : null },
    { found: robotsBlocked, bodyOf: ({ url }) => url, after: afterBlocked, past: hasSkipped ? PAST_BLOCKED : null },
    limit,
  );
  const next = after === null ? {} : { next: nextOf(base, list, after) };
  return { success: true, errors: failed, robotsBlocked: blocked, ...next };
}

function errorToV2({ id, at, url, code, message }: JobError) {
  return { id, timestamp: at.toISOString(), url, code, error: message };
}
