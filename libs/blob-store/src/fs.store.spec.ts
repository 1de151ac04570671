import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { blobStoreConformance } from './blob-store.conformance.js';
import { blobHour } from './blob-store.js';
import { FsBlobStore } from './fs.store.js';

let folder: string;
const newRoot = (): Promise<string> => mkdtemp(path.join(folder, 'root-'));

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'troupe-blobs-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

blobStoreConformance('FsBlobStore', async () => new FsBlobStore(await newRoot()));

describe('FsBlobStore', () => {
  it('leaves no temporary file behind', async () => {
    const root = await newRoot();
    const key = await new FsBlobStore(root).put(Buffer.from('x'), '2026112110');
    expect(await readdir(path.join(root, path.dirname(key)))).toEqual([path.basename(key)]);
  });

  it('holds no hour before its root exists', async () => {
    expect(await new FsBlobStore(path.join(folder, 'not-yet')).listHours()).toEqual([]);
  });

  it('still writes when another process dropped the hour it was writing to', async () => {
    const root = await newRoot();
    const store = new FsBlobStore(root);
    await store.put(Buffer.from('x'), '2026112110');
    await new FsBlobStore(root).dropHour('2026112110');
    const key = await store.put(Buffer.from('x'), '2026112110');
    expect((await store.get(key)).toString()).toBe('x');
  });

  it('ignores what is not an hour in its root', async () => {
    const root = await newRoot();
    await writeFile(path.join(root, 'README'), 'x');
    expect(await new FsBlobStore(root).listHours()).toEqual([]);
  });
});

describe('blobHour', () => {
  it('is the hour after the longest life of the job and of its results', () => {
    expect(blobHour(Date.UTC(2026, 10, 21, 10, 59), 24)).toBe('2026112411');
  });
});
