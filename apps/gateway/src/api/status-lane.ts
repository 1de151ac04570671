/**
 * A lane of its own for the most frequent request: every client that waits for a job asks for its status all the time.
 *
 * It answers as the controllers do, by the same reader and after the same questions (who calls, and how often), but
 * passes the row of routes, guards and pipes that costs more than such an answer. What is not plainly such a request
 * goes the way of all others, malformed ones too.
 */
import { type TroupeConfig } from '@troupe/config';
import { type Uuid } from '@troupe/contracts';
import type { NextFunction, Request, Response } from 'express';
import { type Accounts } from '../auth/accounts.js';
import { keyOf } from '../auth/api-key.guard.js';
import { type ApiExceptionFilter } from '../errors/api-exception.filter.js';
import { type JobCancelService } from '../jobs/job-cancel.service.js';
import { type JobStatusService } from '../jobs/job-status.service.js';
import { type RateLimits } from '../limits/rate-limits.js';
import { JobReader } from './v2/status-sender.js';

export interface StatusLaneParts {
  accounts: Pick<Accounts, 'identify' | 'needsKey'>;
  /** null: `RATE_LIMITS=off`. */
  rateLimits: Pick<RateLimits, 'admit'> | null;
  status: JobStatusService;
  cancel: JobCancelService;
  config: Readonly<TroupeConfig>;
}

const STATUS_PATH = /^\/((v[12])\/(?:crawl|batch\/scrape))\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
const PATHS = ['v1/crawl', 'v1/batch/scrape', 'v2/crawl', 'v2/batch/scrape'];

/** Must stand right behind the edge. */
export function createStatusLane(parts: StatusLaneParts, errors: Pick<ApiExceptionFilter, 'answer'>) {
  const readers = new Map(PATHS.map((path) => [path, new JobReader(parts, path)]));
  const answer = async (request: Request, response: Response, [, path, version, id]: RegExpExecArray) => {
    const { accounts, rateLimits } = parts;
    const caller = await accounts.identify(keyOf(request, accounts));
    rateLimits?.admit(caller, 'crawlStatus');
    const reader = readers.get(path!)!;
    const job = id as Uuid;
    return version === 'v1'
      ? reader.sendStatus(caller, job, request, response)
      : reader.sendResults(caller, job, request, response);
  };
  return (request: Request, response: Response, next: NextFunction): void => {
    const place = isBareGet(request) ? STATUS_PATH.exec(request.path) : null;
    if (place === null) return next();
    answer(request, response, place).catch((error: unknown) => errors.answer(error, request, response));
  };
}

function isBareGet({ method, headers }: Request): boolean {
  return method === 'GET' && headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
}
