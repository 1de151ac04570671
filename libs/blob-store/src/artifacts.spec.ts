import { describe, expect, it } from '@jest/globals';
import { Artifacts } from './artifacts.js';
import { blobKey, BlobNotFoundError, type BlobStore } from './blob-store.js';

const HOUR = '2026112110';
const PICTURE = { type: 'image/png', bytes: Buffer.from('picture') } as const;

function fixture() {
  const stored = new Map<string, Uint8Array>();
  const blobs: Pick<BlobStore, 'put' | 'get'> = {
    put: async (bytes, hour) => {
      const key = blobKey(bytes, hour);
      stored.set(key, bytes);
      return key;
    },
    get: async (key) => {
      const bytes = stored.get(key);
      if (bytes === undefined) throw new BlobNotFoundError(key);
      return Buffer.from(bytes);
    },
  };
  return { stored, blobs, artifacts: new Artifacts(blobs) };
}

describe('artifacts', () => {
  it.each(['image/png', 'image/jpeg', 'application/pdf'] as const)(
    'of type %s come back as they were',
    async (type) => {
      const { artifacts } = fixture();
      const read = await artifacts.get(await artifacts.put({ type, bytes: Buffer.from('bytes') }, HOUR));
      expect({ ...read, bytes: Buffer.from(read.bytes).toString() }).toEqual({ type, bytes: 'bytes' });
    },
  );

  it('have keys that the file itself does not tell', async () => {
    const { artifacts, stored } = fixture();
    const keys = [await artifacts.put(PICTURE, HOUR), await artifacts.put(PICTURE, HOUR)];
    expect(keys[0]).not.toBe(keys[1]);
    expect(keys).not.toContain(blobKey(PICTURE.bytes, HOUR));
    expect([...stored.keys()]).toEqual(keys);
  });

  it('are not there under a key that was never given, nor when what is stored is no artifact', async () => {
    const { artifacts, blobs } = fixture();
    await expect(artifacts.get(blobKey(PICTURE.bytes, HOUR))).rejects.toThrow(BlobNotFoundError);
    for (const bytes of [Buffer.alloc(0), Buffer.alloc(16), Buffer.alloc(20, 0xff)]) {
      await expect(artifacts.get(await blobs.put(bytes, HOUR))).rejects.toThrow(BlobNotFoundError);
    }
  });
});
