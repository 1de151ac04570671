import { describe, expect, it } from '@jest/globals';
import { failureOf, waitOf } from './call-failure.js';
import type { CallTrace } from './transport.js';

const trace = (changes: Partial<CallTrace>): CallTrace => ({
  isSent: true,
  status: null,
  headers: {},
  errorText: '',
  networkCode: null,
  ...changes,
});

describe('a pause', () => {
  const NOW = Date.parse('2026-01-01T00:00:00Z');

  it.each<[Record<string, string>, number | null]>([
    [{ 'retry-after': '2' }, 2_000],
    [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:05 GMT' }, 5_000],
    [{ 'retry-after': 'Wed, 31 Dec 2025 23:00:00 GMT' }, 0],
    [{ 'retry-after-ms': '150', 'retry-after': '2' }, 150],
    [{ 'retry-after': '99999999' }, 600_000],
    [{ 'x-ratelimit-reset-requests': '1s', 'x-ratelimit-reset-tokens': '6m0s' }, 360_000],
    [
      {
        'x-ratelimit-remaining-requests': '9',
        'x-ratelimit-reset-requests': '1h',
        'x-ratelimit-reset-tokens': '120ms',
      },
      120,
    ],
    [{ 'retry-after': 'soon' }, null],
    [{}, null],
  ])('that %j asks for', (headers, ms) => expect(waitOf({ headers }, NOW)).toBe(ms));
});

describe('a failed call', () => {
  it.each<[number, string, string]>([
    [429, 'slow down', 'busy'],
    [429, 'You exceeded your current quota', 'no-credit'],
    [529, 'overloaded', 'busy'],
    [503, '', 'down'],
    [500, 'oops', 'down'],
    [500, 'tools param requires --jinja flag', 'form'],
    [401, '', 'denied'],
    [404, 'page not found', 'no-model'],
    [400, "This model's maximum context length is 8192 tokens", 'too-long'],
    [400, 'The response was filtered due to the content management policy', 'filtered'],
    [400, "'response_format.type' must be text", 'form'],
    [422, 'Extra inputs are not permitted: tool_choice', 'form'],
    [400, 'nonsense', 'bad-request'],
    [302, '', 'bad-request'],
  ])('with %i "%s" is %s', (status, errorText, kind) =>
    expect(failureOf(trace({ status, errorText }), false, []).kind).toBe(kind),
  );

  it('without an answer is a fault of the provider, unless it was not allowed to be asked', () => {
    expect(failureOf(trace({ networkCode: 'ECONNREFUSED' }), false, []).kind).toBe('down');
    expect(failureOf(trace({ networkCode: 'SCRAPE_TARGET_FORBIDDEN' }), false, []).kind).toBe('forbidden');
  });

  it('of a schema is not held against the server', () => {
    const errorText = "Invalid schema for response_format 'answer': 'minLength' is not permitted";
    expect(failureOf(trace({ status: 400, errorText }), false, []).details).toMatchObject({
      refused: 'form',
      isLasting: false,
    });
  });

  it('without an answer is the network’s, or the clock’s', () => {
    expect(failureOf(trace({ networkCode: 'ECONNREFUSED' }), false, []).message).toBe('no connection (ECONNREFUSED)');
    expect(failureOf(trace({}), true, []).message).toBe('it did not answer in time');
  });

  it('shows no key, not even in part', () => {
    const errorText = JSON.stringify({ error: { message: 'bad key my-own-key-77, or sk-abc***wxyz' } });
    const { message } = failureOf(trace({ status: 401, errorText }), false, ['my-own-key-77']);
    expect(message).toBe('it answered 401: bad key ***, or ***');
  });
});
