import { describe, expect, it } from '@jest/globals';
import { countTokens } from './count-tokens.js';

const PROSE =
  'The quick brown fox jumps over the lazy dog, and nobody minds: it was a sunny day in 2024. Prices start at 1,299.00 EUR.\n';

describe('tokens are counted', () => {
  /** As the vocabulary cl100k has them. */
  it.each([
    ['prose', PROSE.repeat(20), 700],
    ['code', 'export function sum(a: number, b: number): number {\n  return a + b;\n}\n'.repeat(20), 400],
    ['another alphabet', 'Привет, как дела сегодня? '.repeat(20), 241],
    ['signs of China', '今天天气很好我们去公园。'.repeat(20), 280],
  ])('near enough in %s', (_kind, text, tokens) => {
    expect(countTokens(text)).toBeGreaterThan(tokens * 0.75);
    expect(countTokens(text)).toBeLessThan(tokens * 1.3);
  });

  it('quickly, whatever is written', () => {
    const from = performance.now();
    for (const text of ['x', ' ', '\u200b', '(', '漢', '1'])
      expect(countTokens(text.repeat(4_000_000))).toBeGreaterThan(0);
    expect(performance.now() - from).toBeLessThan(500);
  });

  it('of a long text by parts of it', () => {
    const text = PROSE.repeat(2_000);
    expect(countTokens(text) / (2_000 * countTokens(PROSE))).toBeCloseTo(1, 1);
  });
});
