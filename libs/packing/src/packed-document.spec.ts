import { describe, expect, it } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { isGzip, isPacked, packDocument, packDocumentAside, unpackDocument } from './packed-document.js';

const jsonOf = (bytes: number): Buffer =>
  Buffer.from(JSON.stringify({ markdown: Array.from({ length: bytes / 8 }, (_, i) => `word${i % 997}`).join(' ') }));

describe('a packed document', () => {
  it.each([0, 100, 8_000, 9_000, 100_000, 3_000_000])(
    'of about %i bytes is smaller, known as such and unpacked',
    async (bytes) => {
      const json = jsonOf(bytes);
      const packed = packDocument(json);
      expect(await packDocumentAside(json)).toEqual(packed);
      expect([isPacked(json), isPacked(packed)]).toEqual([false, true]);
      if (bytes >= 8_000) expect(packed.byteLength).toBeLessThan(json.byteLength / 2);
      expect((await unpackDocument(packed, json.byteLength)).equals(json)).toBe(true);
      expect((await unpackDocument(packed)).equals(json)).toBe(true);
      // A row that is wrong about the size costs time, no bytes.
      expect((await unpackDocument(packed, 10)).equals(json)).toBe(true);
    },
  );

  it('is a gzip while it is short, so that many are unpacked in one go', () => {
    expect([100, 8_000, 9_000, 50_000].map((bytes) => isGzip(packDocument(jsonOf(bytes))))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('may be a gzip of any length', async () => {
    const json = jsonOf(100_000);
    expect((await unpackDocument(gzipSync(json))).equals(json)).toBe(true);
  });

  it('that was cut off is refused', async () => {
    const packed = packDocument(jsonOf(100_000));
    await expect((async () => unpackDocument(packed.subarray(0, -9)))()).rejects.toThrow(/unexpected end/);
  });
});
