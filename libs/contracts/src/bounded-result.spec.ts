import { describe, expect, it } from '@jest/globals';
import { boundedResult, breachOf } from './bounded-result.js';
import type { PageResult } from './messages/actor.js';

const PAGE: PageResult = {
  item: 3,
  attempt: 1,
  depth: 2,
  outcome: 'ok',
  rule: null,
  message: null,
  statusCode: 200,
  url: 'http://a/',
  finalUrl: 'http://a/b',
  finalH: null,
  retryable: false,
  retryAfterMs: null,
  bytes: 10,
  inline: 'abc',
  blob: null,
  credits: 32_767,
  engine: 'http',
  ms: 5,
  scopeVersion: 0,
  outlinks: [{ url: 'http://a/c', h: '0011223344556677' }],
  excluded: null,
};

describe('the result of a page', () => {
  it('is kept as it is inside the bounds', () => {
    expect(breachOf(PAGE)).toBeNull();
    expect(boundedResult(PAGE)).toBe(PAGE);
  });

  it.each([
    ['credits', 33_000],
    ['bytes', 2 ** 31],
    ['ms', NaN],
    ['statusCode', -1],
    ['message', 'x'.repeat(20_000)],
    ['finalUrl', `http://a/${'x'.repeat(70_000)}`],
  ] as const)('fails with its reason when %s is out of range', (name, value) => {
    const bounded = boundedResult({ ...PAGE, [name]: value });
    expect(bounded).toMatchObject({
      item: 3,
      outcome: 'failed',
      rule: 'RESULT_OUT_OF_RANGE',
      retryable: false,
      outlinks: [],
    });
    expect(bounded.message).toContain(name);
    expect(breachOf(bounded)).toBeNull();
  });
});
