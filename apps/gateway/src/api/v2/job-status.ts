/** Status of a crawl or batch in v2 words, streamed: stored documents are copied, never parsed. */
import type { Request, Response } from 'express';
import { once } from 'node:events';
import { ApiError } from '../../errors/api-error.js';
import { type StatusPage, type StatusQuery } from '../../jobs/job-status.service.js';
import { type PageBytes } from '../../jobs/page-bytes.js';
import { type JobView } from '../../jobs/ports.js';

const FLUSH_BYTES = 64 * 1024;
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

/** Everything before the documents. Absent values are left out; integers are integers. */
export function statusHead(job: JobView, next: string | null) {
  const isOver = job.status !== 'scraping';
  return {
    success: true,
    status: job.status,
    ...(!isOver && job.paused ? { paused: true } : {}),
    total: job.total,
    completed: job.completed,
    creditsUsed: job.creditsUsed,
    expiresAt: job.expiresAt.toISOString(),
    createdAt: job.createdAt.toISOString(),
    ...(isOver && job.finishedAt ? finishedKeys(job.createdAt, job.finishedAt) : {}),
    ...(next === null ? {} : { next }),
    ...(job.status === 'failed' ? { error: job.error ?? 'The job failed' } : {}),
    ...(isOver && job.warning ? { warning: job.warning } : {}),
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

/** Sends the page; holds no more than a few documents in memory, however slowly the client reads. */
export async function sendStatus(
  response: Response,
  page: StatusPage,
  next: string | null,
  bytes: PageBytes,
): Promise<void> {
  const head = JSON.stringify(statusHead(page.job, next));
  let parts: Buffer[] = [Buffer.from(`${head.slice(0, -1)},"data":[`)];
  let size = 0;
  let count = 0;
  for await (const document of bytes.documents(page.rows)) {
    if (count++ > 0) parts.push(COMMA);
    parts.push(document);
    size += document.byteLength;
    if (size < FLUSH_BYTES) continue;
    if (!(await flush(response, parts))) return;
    parts = [];
    size = 0;
  }
  parts.push(Buffer.from(']}'));
  if (!response.headersSent) response.setHeader('content-type', 'application/json; charset=utf-8');
  response.end(Buffer.concat(parts));
}

/** False when the client has gone. */
async function flush(response: Response, parts: Buffer[]): Promise<boolean> {
  if (!response.headersSent) response.setHeader('content-type', 'application/json; charset=utf-8');
  if (response.destroyed) return false;
  if (response.write(Buffer.concat(parts))) return true;
  const waiting = new AbortController();
  const { signal } = waiting;
  try {
    await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  } finally {
    waiting.abort();
  }
  return !response.destroyed;
}
