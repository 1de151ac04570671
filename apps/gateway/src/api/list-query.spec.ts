import { describe, expect, it } from '@jest/globals';
import { ApiError } from '../errors/api-error.js';
import { BIG_LIST, listAnswer, nextOf, pageOfRows, readListQuery, sharesOf } from './list-query.js';
import { problemsQueryFromV2, problemsToV2 } from './v2/problems.mapper.js';

const KEYS = { keys: [['int', 'uuid']] } as const;
const ID = '6f0c0000-0000-4000-8000-000000000000';
const afterOf = (keys: unknown) => Buffer.from(JSON.stringify(keys)).toString('base64url');
const read = (query: Record<string, string>, traits: Parameters<typeof readListQuery>[1] = KEYS) =>
  readListQuery(query, traits);

describe('the query of a list', () => {
  it('begins at the first row and asks for a thousand', () => {
    expect(read({})).toEqual({ skip: 0, limit: 1_000, after: [null] });
    expect(read({ skip: '3', limit: '5000' })).toEqual({ skip: 3, limit: 1_000, after: [null] });
  });

  it('reads what `next` of the same list holds', () => {
    const next = new URL(
      nextOf('http://a/list', read({ limit: '7' }), [['12', ID]], { outcome: 'ok', none: undefined }),
    );
    expect(next.origin + next.pathname).toBe('http://a/list');
    const query = Object.fromEntries(next.searchParams);
    expect(query).toMatchObject({ limit: '7', outcome: 'ok' });
    expect(read(query)).toEqual({ skip: 0, limit: 7, after: [['12', ID]] });
  });

  it.each([
    ['no base64 of JSON', 'x'],
    ['another number of keys', afterOf([['1', ID], null])],
    ['another number of parts', afterOf([['1']])],
    ['a number that is none', afterOf([['1x', ID]])],
    ['a number that Postgres cannot hold', afterOf([['9223372036854775808', ID]])],
    ['an id that is none', afterOf([['1', "'; DROP TABLE job"]])],
    ['no texts', afterOf([[1, ID]])],
  ])('refuses `after` with %s', (_what, after) => {
    expect(() => read({ after })).toThrow(ApiError);
  });

  it('refuses to pass over more than 10,000 rows of a big list, and says what to do', () => {
    expect(read({ skip: '10000' }, { ...KEYS, ...BIG_LIST }).skip).toBe(10_000);
    expect(() => read({ skip: '10001' }, { ...KEYS, ...BIG_LIST })).toThrow(/next/);
  });
});

describe('a page', () => {
  const rows = Array.from({ length: 5 }, (_, n) => ({ n, text: 'x'.repeat(100), key: [String(n)] }));

  it('ends where its bytes end, but not before its first row', () => {
    const bodyOf = ({ text }: { text: string }) => text;
    expect(pageOfRows({ rows, hasMore: false }, bodyOf, 250)).toMatchObject({ bodies: { length: 2 }, last: ['1'] });
    expect(pageOfRows({ rows, hasMore: false }, bodyOf, 10)).toMatchObject({ bodies: { length: 1 }, last: ['0'] });
    expect(pageOfRows({ rows, hasMore: false }, bodyOf)).toMatchObject({ bodies: { length: 5 }, last: null });
  });

  it('has a next one only when something follows', () => {
    const place = { base: 'http://a/l', query: read({ limit: '5' }) };
    expect(listAnswer('items', { rows, hasMore: false }, ({ n }) => n, place)).toEqual({
      success: true,
      items: [0, 1, 2, 3, 4],
    });
    const answer = listAnswer('items', { rows, hasMore: true }, ({ n }) => n, place);
    expect((answer as { next?: string }).next).toContain(`after=${afterOf([['4']])}`);
  });

  it.each([
    [10, 0, [10, 0]],
    [0, 30, [0, 10]],
    [30, 30, [5, 5]],
    [30, 2, [8, 2]],
    [3, 30, [3, 7]],
    [1, 1, [1, 1]],
  ])('is shared by two lists of %i and %i rows', (first, second, shares) => {
    expect(sharesOf(first, second, 10)).toEqual(shares);
  });
});

describe('failed and blocked pages', () => {
  const errors = (count: number, hasMore = false) => ({
    rows: Array.from({ length: count }, (_, i) => ({
      jobNo: '1',
      id: ID,
      at: new Date(0),
      url: `http://a/${i}`,
      code: 'SCRAPE_TIMEOUT' as const,
      message: 'too slow',
      key: [String(i), ID],
    })),
    hasMore,
  });
  const blocked = (count: number, hasMore = false) => ({
    rows: Array.from({ length: count }, (_, i) => ({ url: `http://b/${i}`, key: [String(i), String(i)] })),
    hasMore,
  });

  it('are one answer with both lists, and a next one while either goes on', () => {
    const query = problemsQueryFromV2({ limit: '10' });
    const whole = problemsToV2({ errors: errors(2), robotsBlocked: blocked(3) }, query, 'http://h/errors');
    expect(whole).not.toHaveProperty('next');
    expect(whole.robotsBlocked).toEqual(['http://b/0', 'http://b/1', 'http://b/2']);
    const part = problemsToV2({ errors: errors(2), robotsBlocked: blocked(10, true) }, query, 'http://h/errors');
    expect([part.errors.length, part.robotsBlocked.length]).toEqual([2, 8]);
    const after = new URL((part as { next: string }).next).searchParams.get('after')!;
    expect(problemsQueryFromV2({ after })).toMatchObject({ afterError: ['1', ID], afterBlocked: ['7', '7'] });
  });

  it('that were all passed over do not begin anew on the next page', () => {
    const query = problemsQueryFromV2({ skip: '5', limit: '10' });
    const part = problemsToV2({ errors: errors(0), robotsBlocked: blocked(10, true) }, query, 'http://h/errors');
    const after = new URL((part as { next: string }).next).searchParams.get('after')!;
    expect(problemsQueryFromV2({ after }).afterError).not.toBeNull();
  });
});
