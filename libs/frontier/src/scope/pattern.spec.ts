import { describe, expect, it } from '@jest/globals';
import { checkPattern, checkPatterns, compilePatterns, preparePatterns } from './pattern.js';

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

  it('are prepared one by one; known ones take no time', async () => {
    const scope = { includePaths: ['^/in-turn/a', '^/in-turn/b'], excludePaths: ['^/in-turn/c', '('] };
    let turns = 0;
    const giveWay = async () => void turns++;
    await preparePatterns(scope, giveWay);
    expect(turns).toBe(4);
    await preparePatterns({ ...scope, excludePaths: [] }, giveWay);
    expect(turns).toBe(4);
  });
});
