import { describe, expect, it } from '@jest/globals';
import type { ConvertResult, Outlink } from '@troupe/contracts';
import { ownBytes, resultFromWire, resultToWire } from './worker-protocol.js';

const resultWith = (outlinks: Outlink[]): ConvertResult => ({
  verdict: 'content',
  document: Uint8Array.of(123, 125),
  documentBytes: 2,
  title: 'A page',
  outlinks,
  excluded: { byRule: {}, sample: [] },
  refreshUrl: null,
  canonicalUrl: null,
  numPages: null,
  isDocument: false,
});

describe('results between threads', () => {
  it.each<[string, Outlink[]]>([
    ['no outlinks', []],
    ['one', [{ h: '00ff00ff00ff00ff', url: 'http://site.test/' }]],
    [
      'several, in their order',
      [
        { h: 'b000000000000000', url: 'http://site.test/b?q=%20&r=1' },
        { h: 'a000000000000000', url: 'http://site.test/a#/route with a space' },
      ],
    ],
  ])('come back as they were, with %s', (_, outlinks) => {
    const result = resultWith(outlinks);
    expect(resultFromWire(structuredClone(resultToWire(result)))).toEqual(result);
  });
});

describe('ownBytes', () => {
  it('copies what shares a buffer with others only', () => {
    const whole = Uint8Array.of(1, 2, 3);
    expect(ownBytes(whole).buffer).toBe(whole.buffer);
    expect([...ownBytes(whole.subarray(1))]).toEqual([2, 3]);
    expect(ownBytes(whole.subarray(1)).buffer).not.toBe(whole.buffer);
  });
});
