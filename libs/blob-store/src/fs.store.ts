/**
 * Blobs as files under one root: a single machine, or a shared volume.
 *
 * A row names a blob once `put` has resolved, and Postgres keeps that row through a power cut. So by then the bytes are on the
 * disk, and so is every name on the way to them.
 */
import { randomUUID } from 'node:crypto';
import { open, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { blobKey, BlobNotFoundError, isBlobHour, parseBlobKey, type BlobPlace, type BlobStore } from './blob-store.js';
import { DurableFolders } from './durable-folders.js';

export class FsBlobStore implements BlobStore {
  /** @param folders of the disk; stores on the same disk may share them */
  constructor(
    private readonly root: string,
    private readonly folders = new DurableFolders(path.dirname(root), true),
  ) {}

  /** Written beside its place and renamed, so that a reader never sees half a blob. */
  async put(bytes: Uint8Array, hour: string): Promise<string> {
    const key = blobKey(bytes, hour);
    const file = path.join(this.root, key);
    const temporary = `${file}.${randomUUID()}.tmp`;
    const folder = path.dirname(file);
    await this.folders.ensure(folder);
    try {
      await this.write(temporary, bytes);
      await rename(temporary, file);
      await this.folders.settle(folder);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    return key;
  }

  async get(key: string): Promise<Buffer> {
    const place = parseBlobKey(key);
    if (place === null) throw new BlobNotFoundError(key);
    try {
      return await this.read(place);
    } catch (error) {
      if (!isAbsent(error)) throw error;
      throw new BlobNotFoundError(key, { cause: error });
    }
  }

  async dropHour(hour: string): Promise<void> {
    if (!isBlobHour(hour)) throw new RangeError(`not an hour (yyyymmddhh): ${JSON.stringify(hour)}`);
    const folder = path.join(this.root, hour);
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    this.folders.forget(folder);
  }

  async listHours(): Promise<string[]> {
    try {
      return (await readdir(this.root)).filter(isBlobHour).sort();
    } catch (error) {
      if (!isAbsent(error)) throw error;
      return [];
    }
  }

  private async read({ blob, part }: BlobPlace): Promise<Buffer> {
    const file = path.join(this.root, blob);
    if (part === null) return readFile(file);
    const handle = await open(file);
    try {
      const bytes = Buffer.allocUnsafe(part.to - part.from);
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, part.from);
      if (bytesRead < bytes.length) throw new RangeError(`blob ${blob} ends before ${part.to}`);
      return bytes;
    } finally {
      await handle.close();
    }
  }

  /** Another process may have dropped the hour since its folder was made. */
  private async write(file: string, bytes: Uint8Array): Promise<void> {
    try {
      await this.writeOnce(file, bytes);
    } catch (error) {
      if (!isAbsent(error)) throw error;
      const folder = path.dirname(file);
      this.folders.forget(path.dirname(folder));
      await this.folders.ensure(folder);
      await this.writeOnce(file, bytes);
    }
  }

  private async writeOnce(file: string, bytes: Uint8Array): Promise<void> {
    const handle = await open(file, 'w');
    try {
      await handle.writeFile(bytes);
      if (this.folders.sync) await handle.datasync();
    } finally {
      await handle.close();
    }
  }
}

function isAbsent(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
