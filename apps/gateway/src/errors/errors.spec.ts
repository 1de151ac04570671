import { describe, expect, it } from '@jest/globals';
import { BadRequestException, NotFoundException } from '@nestjs/common';
import { TroupeError } from '@troupe/contracts';
import { ApiError } from './api-error.js';
import { answerFor } from './api-exception.filter.js';
import { isDependencyDown } from './unavailable.js';

describe('answerFor', () => {
  it('gives a coded error its status, code and details', () => {
    const error = new TroupeError('SCRAPE_TIMEOUT', 'too late', { details: { a: 1 } });
    expect(answerFor(error, 'id')).toEqual({
      status: 408,
      body: { success: false, code: 'SCRAPE_TIMEOUT', error: 'too late', details: { a: 1 } },
    });
  });

  it('answers an unknown host with HTTP 200 and success false', () => {
    expect(answerFor(new TroupeError('SCRAPE_DNS_RESOLUTION_ERROR', 'x'), 'id')).toMatchObject({
      status: 200,
      body: { success: false },
    });
  });

  it('shows an id and nothing of the unexpected error', () => {
    const answer = answerFor(new Error('password=hunter2 at /srv/app.js:1'), 'req-7');
    expect(answer).toMatchObject({ status: 500, body: { success: false, code: 'UNKNOWN_ERROR' } });
    expect(answer.body.error).toContain('req-7');
    expect(JSON.stringify(answer)).not.toContain('hunter2');
  });

  it('hides the text of uncoded failures that came over the bus too', () => {
    const answer = answerFor(new TroupeError('UNKNOWN_ERROR', 'TypeError: x is undefined'), 'req-8');
    expect(answer.body.error).not.toContain('TypeError');
  });

  it.each([
    Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
    new Error('query failed', { cause: Object.assign(new Error('down'), { code: '57P01' }) }),
    new AggregateError([Object.assign(new Error('x'), { code: 'ECONNREFUSED' })]),
    new TroupeError('UNKNOWN_ERROR', 'not stored', { httpStatus: 503 }),
    new Error('timeout exceeded when trying to connect'),
    new Error('Query read timeout'),
    Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' }),
    Object.assign(new Error('We encountered an internal error'), { name: 'InternalError', $fault: 'server' }),
  ])('answers 503 with Retry-After while a dependency is away: %s', (error) => {
    expect(answerFor(error, 'id')).toMatchObject({ status: 503, retryAfterS: 5, body: { code: 'UNKNOWN_ERROR' } });
    expect(isDependencyDown(error)).toBe(true);
  });

  it('answers 503 with a code of its own when a statement took too long', () => {
    const error = Object.assign(new Error('canceling statement due to statement timeout'), {
      severity: 'ERROR',
      code: '57014',
    });
    expect(answerFor(error, 'id')).toMatchObject({ status: 503, retryAfterS: 1, body: { code: 'SERVER_BUSY' } });
  });

  it('does not take an SQL mistake for an outage', () => {
    expect(answerFor(Object.assign(new Error('syntax'), { code: '42601' }), 'id').status).toBe(500);
  });

  it('answers unknown paths in JSON and unreadable ones with 400', () => {
    expect(answerFor(new NotFoundException('Cannot GET /x'), 'id').body).toEqual({
      success: false,
      error: 'Not found',
    });
    expect(answerFor(new BadRequestException('Failed to decode param'), 'id')).toMatchObject({ status: 400 });
  });

  it('leaves out the code where the interface has none', () => {
    expect(answerFor(new ApiError(401, 'Unauthorized'), 'id').body).toEqual({ success: false, error: 'Unauthorized' });
  });
});
