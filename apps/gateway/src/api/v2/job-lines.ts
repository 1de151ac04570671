/** Results as lines (`Accept: application/x-ndjson`, docs/api/own.md): one document a line while the job runs, its status last. */
import type { Request, Response } from 'express';
import { ApiError } from '../../errors/api-error.js';
import { PacedWriter } from '../../http/paced-writer.js';
import { type JobView } from '../../jobs/ports.js';
import { documentsOf, type Run } from '../../jobs/result-runs.js';

const LINES_TYPE = 'application/x-ndjson';
const NEWLINE = Buffer.from('\n');

export function wantsLines(request: Request): boolean {
  return request.accepts(['json', LINES_TYPE]) === LINES_TYPE;
}

/** `follow=false`: only the present results, rather than all until the job ends. */
export function readFollow(query: Request['query']): boolean {
  const { follow = 'true' } = query;
  if (follow === 'true' || follow === 'false') return follow === 'true';
  throw new ApiError(400, 'Invalid follow: expected true or false', { code: 'BAD_REQUEST' });
}

/**
 * Reads no faster than the client does. When the job cannot be read to its end, the answer breaks off.
 * @param jobNow as last heard of
 */
export async function sendLines(response: Response, runs: AsyncIterable<Run>, jobNow: () => JobView): Promise<void> {
  const out = new PacedWriter(response, LINES_TYPE);
  out.open();
  for await (const run of runs) {
    for (const document of documentsOf(run)) if (!(await out.write(document, NEWLINE))) return;
    if (!(await out.flush())) return;
  }
  const { status, total, completed } = jobNow();
  if (await out.write(Buffer.from(`${JSON.stringify({ status, total, completed })}\n`))) out.end();
}
