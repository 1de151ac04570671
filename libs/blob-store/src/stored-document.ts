/** A document where its job keeps it: in a row, or in the store when it is large. */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { BlobStore } from './blob-store.js';

/** Exactly one is set: the gzip of the document, or the key of its blob. */
export interface StoredDocument {
  inline: Uint8Array | null;
  blob: string | null;
}

const unpack = promisify(gunzip);

/** The JSON bytes of the document. @throws BlobNotFoundError */
export async function readDocument(blobs: Pick<BlobStore, 'get'>, { inline, blob }: StoredDocument): Promise<Buffer> {
  if (inline === null && blob === null) throw new Error('a stored page has neither bytes nor a blob');
  return unpack(inline ?? (await blobs.get(blob!)));
}
