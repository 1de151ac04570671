/** Blobs as files under one root: a single machine, or a shared volume. */
import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { blobKey, BlobNotFoundError, isBlobHour, parseBlobKey, type BlobPlace, type BlobStore } from './blob-store.js';

/** Folders remembered as made; forgotten all at once beyond this. */
const MAX_KNOWN_FOLDERS = 4_096;

export class FsBlobStore implements BlobStore {
  private readonly folders = new Set<string>();

  constructor(private readonly root: string) {}

  /** Written beside its place and renamed, so that a reader never sees half a blob. */
  async put(bytes: Uint8Array, hour: string): Promise<string> {
    const key = blobKey(bytes, hour);
    const file = path.join(this.root, key);
    const temporary = `${file}.${randomUUID()}.tmp`;
    await this.ensureFolder(path.dirname(file));
    try {
      await this.write(temporary, bytes);
      await rename(temporary, file);
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
    for (const known of this.folders) {
      if (known.startsWith(folder)) this.folders.delete(known);
    }
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

  private async ensureFolder(folder: string): Promise<void> {
    if (this.folders.has(folder)) return;
    await mkdir(folder, { recursive: true });
    if (this.folders.size >= MAX_KNOWN_FOLDERS) this.folders.clear();
    this.folders.add(folder);
  }

  /** Another process may have dropped the hour since its folder was made. */
  private async write(file: string, bytes: Uint8Array): Promise<void> {
    try {
      await writeFile(file, bytes);
    } catch (error) {
      if (!isAbsent(error)) throw error;
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, bytes);
    }
  }
}

function isAbsent(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
