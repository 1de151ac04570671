/**
 * Files that a document points to by address instead of carrying them: pictures and PDFs that a browser made.
 *
 * The key is enough to read the file. So it cannot be guessed, not even from the same file: a secret number
 * is stored before the bytes, and is thereby part of their hash.
 */
import { randomBytes } from 'node:crypto';
import { BlobNotFoundError, type BlobStore } from './blob-store.js';

/** File types by the number that stands for them in stored keys: add at the end only. */
const TYPES = ['image/png', 'image/jpeg', 'application/pdf'] as const;
export type ArtifactType = (typeof TYPES)[number];

export interface Artifact {
  type: ArtifactType;
  bytes: Uint8Array;
}

const SECRET_BYTES = 16;
const HEAD_BYTES = SECRET_BYTES + 1;

export function isArtifactType(text: string): text is ArtifactType {
  return (TYPES as readonly string[]).includes(text);
}

export class Artifacts {
  constructor(private readonly blobs: Pick<BlobStore, 'put' | 'get'>) {}

  /** Stores the file under `hour` (see `blobHour`) and returns its key, another one at every call. */
  put({ type, bytes }: Artifact, hour: string): Promise<string> {
    const head = Buffer.concat([randomBytes(SECRET_BYTES), Buffer.of(TYPES.indexOf(type))]);
    return this.blobs.put(Buffer.concat([head, bytes]), hour);
  }

  /** @throws BlobNotFoundError when the key is unknown, dropped or not a key */
  async get(key: string): Promise<Artifact> {
    const stored = await this.blobs.get(key);
    const type = TYPES[stored[SECRET_BYTES] ?? TYPES.length];
    if (type === undefined) throw new BlobNotFoundError(key);
    return { type, bytes: stored.subarray(HEAD_BYTES) };
  }
}
