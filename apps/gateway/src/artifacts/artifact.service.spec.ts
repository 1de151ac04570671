import { describe, expect, it } from '@jest/globals';
import { BlobNotFoundError, type Artifact } from '@troupe/blob-store';
import { ArtifactService } from './artifact.service.js';

const SHA = 'ab'.repeat(32);
const PATH = `2026112210/ab/${SHA}.png`;
const PICTURE: Artifact = { type: 'image/png', bytes: Buffer.from('picture') };
const NOW = Date.UTC(2026, 10, 22, 10, 30);

function serviceOf(get: (key: string) => Promise<Artifact>, now = NOW) {
  return new ArtifactService({ get }, () => now);
}

async function sent(service: ArtifactService, path: string): Promise<Artifact[]> {
  const files: Artifact[] = [];
  await service.read(path, async (file) => void files.push(file));
  return files;
}

describe('the service of artifacts', () => {
  it('sends the file of an address until the hour in it is over', async () => {
    const asked: string[] = [];
    const get = async (key: string) => {
      asked.push(key);
      return PICTURE;
    };
    expect(await sent(serviceOf(get), PATH)).toEqual([PICTURE]);
    await expect(sent(serviceOf(get, NOW + 3_600_000), PATH)).rejects.toMatchObject({ status: 404 });
    expect(asked).toEqual([`2026112210/ab/${SHA}`]);
  });

  it.each([
    '',
    `2026112210/ab/${SHA}`,
    `2026112210/cd/${SHA}.png`,
    `2026112210/ab/${SHA}@0-9.png`,
    `../2026112210/ab/${SHA}.png`,
    `zdr/2026112210/ab/${SHA}.png`,
  ])('asks the store for nothing at %j', async (path) => {
    const get = () => Promise.reject(new Error('asked'));
    await expect(sent(serviceOf(get), path)).rejects.toMatchObject({ status: 404 });
  });

  it('knows a file that is gone from a store that is away', async () => {
    const gone = serviceOf(() => Promise.reject(new BlobNotFoundError('key')));
    await expect(sent(gone, PATH)).rejects.toMatchObject({ status: 404 });
    const away = serviceOf(() => Promise.reject(new Error('connect ECONNREFUSED')));
    await expect(sent(away, PATH)).rejects.toMatchObject({ status: 503, retryAfterS: 5 });
  });

  it('sends sixteen at once, and the next when one of them is through', async () => {
    const service = serviceOf(() => Promise.resolve(PICTURE));
    let end: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (end = resolve));
    const reads = Array.from({ length: 16 }, () => service.read(PATH, () => held));
    await expect(sent(service, PATH)).rejects.toMatchObject({ status: 429, retryAfterS: 5 });
    end();
    await Promise.all(reads);
    expect(await sent(service, PATH)).toHaveLength(1);
  });

  it('forgets a place whose sending failed', async () => {
    const service = serviceOf(() => Promise.resolve(PICTURE));
    for (let i = 0; i < 20; i++) {
      await expect(service.read(PATH, () => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
    }
    expect(await sent(service, PATH)).toHaveLength(1);
  });
});
