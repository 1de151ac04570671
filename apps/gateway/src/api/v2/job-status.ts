/** Status of a crawl or batch in v2 words, streamed: stored documents are copied, never parsed. */
import type { Request, Response } from 'express';
import { ApiError } from '../../errors/api-error.js';
import { PacedWriter } from '../../http/paced-writer.js';
import { type StatusQuery } from '../../jobs/job-status.service.js';
import { isOver, type JobView } from '../../jobs/ports.js';
import { type ResultPage } from '../../jobs/result-page.js';
import { throttledBody } from '../hosts.mapper.js';

const COMMA = Buffer.from(',');

export function readStatusQuery(query: Request['query']): StatusQuery {
  const skip = readCount('skip', query.skip, 0);
  const limit = readCount('limit', query.limit, 1);
  return { skip: skip ?? 0, limit, mayHold: skip !== null };
}

function readCount(name: string, value: unknown, min: number): number | null {
  if (value === undefined) return null;
  const count = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : NaN;
  if (!(count >= min))
    throw new ApiError(400, `Invalid ${name}: expected an integer ≥ ${min}`, { code: 'BAD_REQUEST' });
  return count;
}

/** Everything but the documents and `next`. Absent values are left out; integers are integers. */
export function statusHead(job: JobView) {
  const hasEnded = isOver(job);
  return {
    success: true,
    status: job.status,
    ...(!hasEnded && job.paused ? { paused: true } : {}),
    ...(hasEnded ? {} : throttledBody(job)),
    total: job.total,
    completed: job.completed,
    creditsUsed: job.creditsUsed,
    expiresAt: job.expiresAt.toISOString(),
    createdAt: job.createdAt.toISOString(),
    ...(hasEnded && job.finishedAt ? finishedKeys(job.createdAt, job.finishedAt) : {}),
    ...(job.status === 'failed' ? { error: job.error ?? 'The job failed' } : {}),
    ...(hasEnded && job.warning ? { warning: job.warning } : {}),
  };
}

function finishedKeys(createdAt: Date, finishedAt: Date) {
  return {
    completedAt: finishedAt.toISOString(),
    duration: Math.round((finishedAt.getTime() - createdAt.getTime()) / 1000),
  };
}

export function nextUrl(base: string, query: StatusQuery, nextSkip: number | null): string | null {
  if (nextSkip === null) return null;
  return `${base}?skip=${nextSkip}${query.limit === null ? '' : `&limit=${query.limit}`}`;
}

/** Sends the page. `next` comes last, because the end of the page is known only then. */
export async function sendStatus(
  response: Response,
  page: ResultPage,
  next: (skip: number | null) => string | null,
): Promise<void> {
  const out = new PacedWriter(response, 'application/json; charset=utf-8');
  const head = JSON.stringify(statusHead(page.job));
  let before = Buffer.from(`${head.slice(0, -1)},"data":[`);
  for await (const { bytes } of page.runs()) {
    if (!(await out.write(before, bytes))) return;
    before = COMMA;
  }
  const nextPage = next(await page.nextSkip());
  const tail = nextPage === null ? ']}' : `],"next":${JSON.stringify(nextPage)}}`;
  if (await out.write(...(before === COMMA ? [] : [before]), Buffer.from(tail))) out.end();
}
