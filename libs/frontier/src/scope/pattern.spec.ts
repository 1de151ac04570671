import { describe, expect, it } from '@jest/globals';
import { checkPattern, checkPatterns, compilePatterns, findsOne } from './pattern.js';

describe('the budget of patterns', () => {
  it.each([
    '^/blog/',
    '^/(en|de)/[\\p{L}\\p{N}-]+/\\d{4}-\\d{2}/?$',
    '(?i)^/(docs|api)/[a-z0-9_-]+\\.html?$',
    '(?i)[à-ÿ一-龥]+',
    '\\x{4e00}-\\x{9fa5}',
    '/[a-f0-9]{32}(\\?.*)?$',
  ])('leaves room for %s', (pattern) => {
    expect(checkPattern(pattern)).toBeNull();
  });

  it.each([
    ['a long text that is repeated', `(?:${'abcdefghij'.repeat(30)}){9}`],
    ['counted classes', '(\\pL|\\pN){0,60}'.repeat(100)],
    ['folded ranges', `(?i)[${'b-\u{10ffff}'.repeat(400)}]`],
    ['folded ranges in hexadecimal', `(?i)${'[\\x{100}-\\x{10ffff}]'.repeat(90)}`],
    ['folded ranges in octal', `(?i)${'[\\141-\u{ffff}]'.repeat(150)}`],
    ['groups in groups', '('.repeat(900) + ')'.repeat(900)],
    ['repeats beside repeats', 'x*'.repeat(900)],
    ['a class of all classes', `[${'\\pL'.repeat(600)}]`],
    ['negated classes without case', `(?i)${'[\\W]'.repeat(400)}`],
  ])('has none for %s, and says so with the number', (_, pattern) => {
    const startedAt = performance.now();
    expect(checkPattern(pattern)).toMatch(/^Pattern costs \d+ to compile, at most 2000 are allowed$/);
    expect(performance.now() - startedAt).toBeLessThan(400);
  });

  it('is one for all patterns of a request: the first one too many is named, and those behind it are not compiled', () => {
    const begun: number[] = [];
    const patterns = Array.from({ length: 70 }, (_, i) => `${i}`.padEnd(1990, 'x'));
    const problems = checkPatterns(patterns, (index) => begun.push(index));
    expect(problems).toEqual([
      {
        index: 10,
        message: expect.stringMatching(/^The patterns up to this one cost 2\d{4} to compile, at most 20000/),
      },
    ]);
    expect(begun).toHaveLength(11);
  });
});

describe('compiled patterns', () => {
  it('are made once, whatever scope they belong to', () => {
    const [first] = compilePatterns('includePaths', ['^/only-once/']);
    const [again] = compilePatterns('excludePaths', ['^/only-once/']);
    expect(again).toBe(first);
  });

  it('bound the states that they keep, and find what they are to find all the same', () => {
    const pattern = compilePatterns('includePaths', ['[ab]*a[ab]{300}[cd]'])[0]!;
    const random = Array.from({ length: 2_000 }, (_, i) => (((i * 7919) % 13) % 2 === 0 ? 'a' : 'b')).join('');
    expect(pattern.test(random)).toBe(false);
    expect(pattern.test(`${random}${'a'.repeat(301)}c`)).toBe(true);
    const { dfa } = pattern.re2();
    expect(dfa.stateCount).toBeLessThan(1_000);
    expect(dfa.stateBudget).toBe(64 * 1024);
  });

  it('are asked no more when there is no time left', () => {
    const patterns = compilePatterns('excludePaths', ['^/never', '^/found', '^/late']);
    let asked = 0;
    const isOutOfTime = () => ++asked > 2;
    expect(findsOne(patterns, '/found', isOutOfTime)).toBe(true);
    asked = 0;
    expect(findsOne(patterns, '/late', isOutOfTime)).toBeNull();
  });
});
