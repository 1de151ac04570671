import { describe, expect, it } from '@jest/globals';
import { estimateTokens } from './estimate-tokens.js';

const PROSE =
  'The quick brown fox jumps over the lazy dog, and nobody minds: it was a sunny day in 2024. Prices start at 1,299.00 EUR.\n';

describe('estimateTokens', () => {
  /** Counted with the tokenizer o200k of current models. */
  it.each([
    [
      'English prose',
      'The committee decided on Tuesday that the transitional rules for small companies will be extended. '.repeat(10),
      161,
    ],
    ['a table', '| Product 17 | 59.50 € | AB-1309 |\n'.repeat(50), 800],
  ])('is near the count of a current tokenizer for %s', (_, text, tokens) => {
    expect(estimateTokens(text) / tokens).toBeGreaterThan(0.9);
    expect(estimateTokens(text) / tokens).toBeLessThan(1.35);
  });

  /** Counted with the older vocabulary cl100k, which needs more of them outside English. */
  it.each([
    ['prose', PROSE.repeat(20), 700],
    ['code', 'export function sum(a: number, b: number): number {\n  return a + b;\n}\n'.repeat(20), 400],
    ['another alphabet', 'Привет, как дела сегодня? '.repeat(20), 241],
    ['signs of China', '今天天气很好我们去公园。'.repeat(20), 280],
  ])('is not far from the count of an older one for %s', (_, text, tokens) => {
    expect(estimateTokens(text) / tokens).toBeGreaterThan(0.8);
    expect(estimateTokens(text) / tokens).toBeLessThan(1.3);
  });

  it.each(['x', ' ', '\u200b', '(', '漢', '1', 'a1'])(
    'takes time in proportion to a text of nothing but %j',
    (piece) => {
      const before = process.cpuUsage();
      expect(estimateTokens(piece.repeat(1_000_000))).toBeGreaterThan(0);
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1000).toBeLessThan(1000);
    },
  );
});
