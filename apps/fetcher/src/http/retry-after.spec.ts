import { describe, expect, it } from '@jest/globals';
import { parseRetryAfter } from './retry-after.js';

describe('Retry-After', () => {
  const now = Date.UTC(2026, 0, 1, 12);

  it('reads seconds and dates as a duration', () => {
    expect(parseRetryAfter('120', now)).toBe(120_000);
    expect(parseRetryAfter(' 1.5 ', now)).toBe(1_500);
    expect(parseRetryAfter('Thu, 01 Jan 2026 12:00:30 GMT', now)).toBe(30_000);
  });

  it('stays between nothing and 15 minutes', () => {
    expect(parseRetryAfter('0', now)).toBe(0);
    expect(parseRetryAfter('86400', now)).toBe(900_000);
    expect(parseRetryAfter('Thu, 01 Jan 2026 11:00:00 GMT', now)).toBe(0);
    expect(parseRetryAfter('Sat, 01 Jan 2050 00:00:00 GMT', now)).toBe(900_000);
  });

  it('ignores what it cannot read', () => {
    expect([parseRetryAfter(undefined, now), parseRetryAfter('soon', now), parseRetryAfter('', now)]).toEqual([
      null,
      null,
      null,
    ]);
  });
});
