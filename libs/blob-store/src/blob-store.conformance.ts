/** Contract of every driver of the port. Imported by specs only. */
import { describe, expect, it } from '@jest/globals';
import { BlobNotFoundError, putMany, type BlobStore } from './blob-store.js';

const HOUR = '2026112110';
const LATER = '2026112111';
const ABSENT = `${HOUR}/ab/ab${'0'.repeat(62)}`;

/** @param make returns an empty store; called once per test. */
export function blobStoreConformance(name: string, make: () => Promise<BlobStore>): void {
  describe(`${name} as a blob store`, () => {
    it('returns the bytes that were put', async () => {
      const store = await make();
      const bytes = new Uint8Array([0, 255, 31, 139, 10, 13, 0]);
      const key = await store.put(bytes, HOUR);
      expect(await store.get(key)).toEqual(Buffer.from(bytes));
    });

    it('names a blob by its hour and SHA-256', async () => {
      const store = await make();
      const sha256 = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
      expect(await store.put(Buffer.from('abc'), HOUR)).toBe(`${HOUR}/ba/${sha256}`);
    });

    it('keeps an empty blob', async () => {
      const store = await make();
      expect((await store.get(await store.put(new Uint8Array(), HOUR))).length).toBe(0);
    });

    it('stores equal bytes of one hour under one key, also when written at once', async () => {
      const store = await make();
      const keys = await Promise.all(Array.from({ length: 8 }, () => store.put(Buffer.from('same'), HOUR)));
      expect(new Set(keys).size).toBe(1);
      expect((await store.get(keys[0]!)).toString()).toBe('same');
    });

    it('gives back each of the pieces that were put together', async () => {
      const store = await make();
      const pieces = ['one', '', 'three', 'three'].map((text) => Buffer.from(text));
      const keys = await putMany(store, pieces, HOUR);
      expect(new Set(keys).size).toBe(4);
      expect(await Promise.all(keys.map((key) => store.get(key)))).toEqual(pieces);
    });

    it('gives a single piece a blob of its own', async () => {
      const store = await make();
      expect(await putMany(store, [Buffer.from('abc')], HOUR)).toEqual([await store.put(Buffer.from('abc'), HOUR)]);
    });

    it('refuses a part behind the end of a blob', async () => {
      const store = await make();
      const key = await store.put(Buffer.from('abc'), HOUR);
      await expect(store.get(`${key}@1-4`)).rejects.toThrow();
    });

    it('keeps a large blob whole', async () => {
      const store = await make();
      const bytes = Buffer.from(Uint8Array.from({ length: 3_000_000 }, (_, i) => i % 251));
      expect((await store.get(await store.put(bytes, HOUR))).equals(bytes)).toBe(true);
    });

    it('says so when a blob is not there', async () => {
      const store = await make();
      await expect(store.get(ABSENT)).rejects.toThrow(BlobNotFoundError);
    });

    it.each([
      '',
      '../secret',
      `${HOUR}/../../etc/passwd`,
      `/${ABSENT}`,
      `${ABSENT}/x`,
      `${ABSENT}@3-1`,
      `${ABSENT}@0-`,
      `${HOUR}/cd/ab${'0'.repeat(62)}`,
      ABSENT.toUpperCase(),
    ])('treats %j as no key at all', async (key) => {
      const store = await make();
      await expect(store.get(key)).rejects.toThrow(BlobNotFoundError);
    });

    it.each(['', '..', '2026', '20261121100', '2026112110/..', '../../../../tmp'])(
      'refuses %j as an hour',
      async (hour) => {
        const store = await make();
        await expect(store.put(Buffer.from('x'), hour)).rejects.toThrow(RangeError);
        await expect(store.dropHour(hour)).rejects.toThrow(RangeError);
      },
    );

    it('drops an hour with everything in it and leaves the others', async () => {
      const store = await make();
      const gone = await store.put(Buffer.from('old'), HOUR);
      const kept = await store.put(Buffer.from('new'), LATER);
      await store.dropHour(HOUR);
      await expect(store.get(gone)).rejects.toThrow(BlobNotFoundError);
      expect((await store.get(kept)).toString()).toBe('new');
      expect(await store.listHours()).toEqual([LATER]);
    });

    it('does nothing when an absent hour is dropped', async () => {
      const store = await make();
      await expect(store.dropHour(HOUR)).resolves.toBeUndefined();
    });

    it('takes blobs of an hour again after it was dropped', async () => {
      const store = await make();
      await store.put(Buffer.from('x'), HOUR);
      await store.dropHour(HOUR);
      const key = await store.put(Buffer.from('x'), HOUR);
      expect((await store.get(key)).toString()).toBe('x');
    });

    it('lists the hours it holds, oldest first', async () => {
      const store = await make();
      expect(await store.listHours()).toEqual([]);
      await store.put(Buffer.from('b'), LATER);
      await store.put(Buffer.from('a'), HOUR);
      expect(await store.listHours()).toEqual([HOUR, LATER]);
    });
  });
}
