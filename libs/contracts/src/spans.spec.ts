import { describe, expect, it } from '@jest/globals';
import { numbersOf, spansOf, splitSpans } from './spans.js';

describe('spans', () => {
  it('hold distinct numbers in rising order', () => {
    expect(spansOf([5, 1, 2, 2, 3, 9])).toEqual([
      [1, 3],
      [5, 5],
      [9, 9],
    ]);
    expect([...numbersOf(spansOf([5, 1, 2, 2, 3, 9]))]).toEqual([1, 2, 3, 5, 9]);
    expect(spansOf([])).toEqual([]);
  });

  it('are split after so many numbers', () => {
    const spans = spansOf([1, 2, 3, 7, 8, 9]);
    for (let n = 0; n <= 7; n++) {
      const [first, rest] = splitSpans(spans, n).map((part) => [...numbersOf(part)]);
      expect([first, rest]).toEqual([[1, 2, 3, 7, 8, 9].slice(0, n), [1, 2, 3, 7, 8, 9].slice(n)]);
    }
  });
});
