/** A document where its job keeps it: in a row, or in the store when it is large. */
import { unpackDocument } from '@troupe/contracts';
import type { BlobStore } from './blob-store.js';

/** Exactly one of `inline` and `blob` is set: the packed document, or the key of its blob. */
export interface StoredDocument {
  inline: Uint8Array | null;
  blob: string | null;
  /** Unpacked. */
  bytes: number;
}

/** The JSON bytes of the document. @throws BlobNotFoundError */
export async function readDocument(blobs: Pick<BlobStore, 'get'>, document: StoredDocument): Promise<Buffer> {
  return unpackDocument(await packedOf(blobs, document), document.bytes);
}

export function packedOf(
  blobs: Pick<BlobStore, 'get'>,
  { inline, blob }: StoredDocument,
): Uint8Array | Promise<Uint8Array> {
  if (inline === null && blob === null) throw new Error('a stored page has neither bytes nor a blob');
  return inline ?? blobs.get(blob!);
}
