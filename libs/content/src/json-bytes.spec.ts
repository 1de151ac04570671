import { describe, expect, it } from '@jest/globals';
import { jsonBytes } from './json-bytes.js';

function usual(document: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(document));
}

describe('jsonBytes', () => {
  const everyUnit = Array.from({ length: 0x10000 }, (_, unit) => `${String.fromCharCode(unit)}.`).join('');

  it.each<[string, Record<string, unknown>]>([
    ['nothing', {}],
    ['keys without a value', { a: undefined, b: null, c: undefined }],
    ['short and nested values', { 'a"ü': 'b', links: ['x', '"'], metadata: { title: 'ä\n', n: 1, gone: undefined } }],
    ['every unit, surrogates alone', { text: everyUnit }],
    ['pairs of surrogates across chunks', { even: '😀'.repeat(20_000), odd: `a${'😀'.repeat(20_000)}` }],
    [
      'halves of pairs',
      { high: '\ud83d'.repeat(20_000), low: '\ude00'.repeat(20_000), last: `${'a'.repeat(8191)}\ud83d` },
    ],
    ['texts that grow', { text: '\u0001'.repeat(100_000), more: '€'.repeat(100_000) }],
  ])('writes what JSON.stringify and UTF-8 make of %s', (_, document) => {
    expect(Buffer.compare(jsonBytes(document), usual(document))).toBe(0);
  });
});
