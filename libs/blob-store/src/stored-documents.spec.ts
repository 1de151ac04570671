import { describe, expect, it } from '@jest/globals';
import { isGzip, packDocument } from '@troupe/packing';
import { gzipSync } from 'node:zlib';
import { type StoredDocument } from './stored-document.js';
import { readDocuments } from './stored-documents.js';

const BLOB = `2026112110/ab/ab${'0'.repeat(62)}`;
const jsonOf = (n: number) => `{"markdown":"${`page ${n} `.repeat(n)}"}`;
const inline = (json: string): StoredDocument => ({
  inline: gzipSync(json),
  blob: null,
  bytes: Buffer.byteLength(json),
});

/** Documents that share one blob, and the keys that were asked for. */
function gathered(jsons: readonly string[]) {
  const gzips = jsons.map((json) => gzipSync(json));
  const blob = Buffer.concat(gzips);
  const asked: string[] = [];
  const blobs = {
    get: (key: string) => {
      asked.push(key);
      const [from, to] = key.split('@')[1]!.split('-').map(Number);
      return Promise.resolve(blob.subarray(from, to));
    },
  };
  let to = 0;
  const documents = gzips.map(({ byteLength }, i): StoredDocument => {
    const key = `${BLOB}@${to}-${(to += byteLength)}`;
    return { inline: null, blob: key, bytes: Buffer.byteLength(jsons[i]!) };
  });
  return { blobs, documents, asked, size: blob.byteLength };
}

const noBlobs = { get: () => Promise.reject(new Error('no blobs here')) };

function textsOf({ bytes, ends }: Awaited<ReturnType<typeof readDocuments>>): string[] {
  return ends.map((end, i) => bytes.toString('utf8', i === 0 ? 0 : ends[i - 1]! + 1, end));
}

describe('readDocuments', () => {
  it('gives the documents joined by commas, with the places where they end', async () => {
    const jsons = Array.from({ length: 300 }, (_, n) => jsonOf(n));
    const list = await readDocuments(noBlobs, jsons.map(inline));
    expect(String(list.bytes)).toBe(jsons.join(','));
    expect(textsOf(list)).toEqual(jsons);
  });

  it('reads short documents among long ones, which are packed otherwise', async () => {
    const jsons = [1, 2, 1900, 3, 1901, 1902, 4, 5].map(jsonOf);
    const documents = jsons.map((json) => ({ ...inline(json), inline: packDocument(Buffer.from(json)) }));
    expect(documents.map((document) => isGzip(document.inline))).toEqual(
      [1, 1, 0, 1, 0, 0, 1, 1].map((each) => each === 1),
    );
    const list = await readDocuments(noBlobs, documents);
    expect(String(list.bytes)).toBe(jsons.join(','));
    expect(textsOf(list)).toEqual(jsons);
    documents[2]!.bytes -= 5;
    expect(textsOf(await readDocuments(noBlobs, documents))).toEqual(jsons);
  });

  it('reads documents that lie behind one another in a blob in one go', async () => {
    const jsons = [1, 2, 3, 4].map(jsonOf);
    const { blobs, documents, asked, size } = gathered(jsons);
    expect(textsOf(await readDocuments(blobs, documents))).toEqual(jsons);
    expect(asked).toEqual([`${BLOB}@0-${size}`]);
  });

  it('reads nothing that lies between what was asked for', async () => {
    const jsons = [1, 2, 3, 4, 5].map(jsonOf);
    const { blobs, documents, asked } = gathered(jsons);
    const wanted = [documents[3]!, documents[0]!, documents[1]!, inline(jsonOf(9))];
    expect(textsOf(await readDocuments(blobs, wanted))).toEqual([jsons[3], jsons[0], jsons[1], jsonOf(9)]);
    expect(asked).toHaveLength(2);
  });

  it.each([-3, 5])('gives whole documents when a row is wrong about their size (by %d bytes)', async (error) => {
    const jsons = [1, 20, 3].map(jsonOf);
    const documents = jsons.map(inline);
    documents[1]!.bytes += error;
    expect(textsOf(await readDocuments(noBlobs, documents))).toEqual(jsons);
  });

  it('has nothing to give for no documents', async () => {
    expect(await readDocuments(noBlobs, [])).toEqual({ bytes: Buffer.alloc(0), ends: [] });
  });

  it('fails when a blob cannot be read or a row has nothing', async () => {
    await expect(readDocuments(noBlobs, [{ inline: null, blob: `${BLOB}@0-3`, bytes: 9 }])).rejects.toThrow('no blobs');
    await expect(readDocuments(noBlobs, [{ inline: null, blob: null, bytes: 9 }])).rejects.toThrow('neither');
  });
});
