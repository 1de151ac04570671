import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openBlobRoots } from './blob-roots.js';
import { BlobNotFoundError } from './blob-store.js';

const HOUR = '2026112110';
const JOB = '0a6c8c1e-0000-4000-8000-000000000001';
const OTHER = '0a6c8c1e-0000-4000-8000-000000000002';
const BYTES = Buffer.from('same');
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'troupe-roots-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the roots of the blob store', () => {
  it('do not see each other’s hours', async () => {
    const { results, cache, snapshots, artifacts } = openBlobRoots(path.join(folder, 'apart'));
    const key = await cache.put(BYTES, HOUR);
    expect(await results.listHours()).toEqual([]);
    await snapshots.dropHour(HOUR);
    expect(await cache.get(key)).toEqual(BYTES);
    await expect(results.get(key)).rejects.toThrow(BlobNotFoundError);
    await results.put(BYTES, HOUR);
    await expect(artifacts.get(key)).rejects.toThrow(BlobNotFoundError);
    expect(await artifacts.listHours()).toEqual([]);
  });

  it('erase the blobs of one job, equal ones of others not', async () => {
    const { results, erasable } = openBlobRoots(path.join(folder, 'erased'));
    const [key, other] = [await erasable.of(JOB).put(BYTES, HOUR), await erasable.of(OTHER).put(BYTES, HOUR)];
    expect(key).toMatch(new RegExp(`^zdr/${JOB}/${HOUR}/`));
    expect(await results.get(key)).toEqual(BYTES);
    expect(await erasable.jobs()).toEqual([JOB, OTHER]);
    await erasable.erase(JOB);
    await expect(results.get(key)).rejects.toThrow(BlobNotFoundError);
    expect(await results.get(other)).toEqual(BYTES);
    expect(await erasable.jobs()).toEqual([OTHER]);
    await erasable.erase(JOB);
  });

  it('take nothing but the id of a job for one', async () => {
    const { results, erasable } = openBlobRoots(path.join(folder, 'names'));
    for (const name of ['..', '../../etc', '', `${JOB}/x`]) {
      expect(() => erasable.of(name)).toThrow(RangeError);
      await expect(erasable.erase(name)).rejects.toThrow(RangeError);
    }
    await expect(results.get(`zdr/../${JOB}/${HOUR}`)).rejects.toThrow(BlobNotFoundError);
    expect(await erasable.jobs()).toEqual([]);
  });
});
