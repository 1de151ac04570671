import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import wabt from 'wabt';
import { JSON_BYTES_WASM } from './json-bytes.data.js';
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

  it('writes texts of all kinds of units', () => {
    const unit = fc.oneof(
      { weight: 20, arbitrary: fc.constantFrom(...'abz .') },
      {
        weight: 2,
        arbitrary: fc.constantFrom('"', '\\', '\n', '\u0000', '\u001f', '\u007f', '\u0080', '\u07ff', '\u0800'),
      },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 0xffff }).map((c) => String.fromCharCode(c)) },
      { weight: 1, arbitrary: fc.constantFrom('\ud83d', '\ude00', '😀', '\uffff', '中') },
    );
    const text = fc.array(unit, { minLength: 500, maxLength: 700 }).map((units) => units.join(''));
    fc.assert(
      fc.property(text, (value) => {
        expect(Buffer.compare(jsonBytes({ value }), usual({ value }))).toBe(0);
      }),
      { numRuns: 500 },
    );
  });

  it('is what json-bytes.wat says', async () => {
    const source = readFileSync('libs/content/src/json-bytes.wat', 'utf8');
    const { buffer } = (await wabt()).parseWat('json-bytes.wat', source).toBinary({});
    expect(Buffer.from(buffer).toString('base64')).toBe(JSON_BYTES_WASM);
  });
});
