import { describe, expect, it } from '@jest/globals';
import { createLogger } from '@troupe/observability';
import type { Request, Response } from 'express';
import { ApiExceptionFilter } from './api-exception.filter.js';

const TRACE_ID = 'a'.repeat(32);
const TRACE = `00-${TRACE_ID}-${'1'.repeat(16)}-01`;

/** The log line of a request that failed for an unforeseen reason. */
function logged(more: object): Record<string, unknown> {
  let line = '';
  const log = createLogger('gateway', { format: 'json', destination: { write: (text) => void (line += text) } });
  const request = { id: 'request-1', method: 'POST', path: '/v2/crawl', ...more } as unknown as Request;
  const response = { headersSent: true, destroy: () => undefined } as unknown as Response;
  new ApiExceptionFilter(log).answer(new Error('cannot reach postgresql://u:secret@h/db'), request, response);
  return JSON.parse(line) as Record<string, unknown>;
}

describe('the log of a failed request', () => {
  it('names the request, and its trace when it is recorded', () => {
    const entry = logged({ trace: TRACE });
    expect(entry).toMatchObject({ level: 50, requestId: 'request-1', traceId: TRACE_ID, path: '/v2/crawl' });
    expect(JSON.stringify(entry)).not.toContain('secret');
  });

  it('names no trace where there is none to be found', () => {
    expect(logged({})).not.toHaveProperty('traceId');
  });
});
