/** A document where its job keeps it: in a row, or in the store when it is large. */
import { promisify } from 'node:util';
import { gunzip, gunzipSync } from 'node:zlib';
import type { BlobStore } from './blob-store.js';

/** Exactly one of `inline` and `blob` is set: the gzip of the document, or the key of its blob. */
export interface StoredDocument {
  inline: Uint8Array | null;
  blob: string | null;
  /** Unpacked. */
  bytes: number;
}

const unpackInThread = promisify(gunzip);
/** What takes less time than handing it to a thread: most documents. */
const SMALL_BYTES = 8 * 1024;
const MIN_CHUNK_BYTES = 64;

/** The JSON bytes of the document. @throws BlobNotFoundError */
export async function readDocument(blobs: Pick<BlobStore, 'get'>, document: StoredDocument): Promise<Buffer> {
  return unpack(await gzipOf(blobs, document), document.bytes);
}

export function gzipOf(
  blobs: Pick<BlobStore, 'get'>,
  { inline, blob }: StoredDocument,
): Uint8Array | Promise<Uint8Array> {
  if (inline === null && blob === null) throw new Error('a stored page has neither bytes nor a blob');
  return inline ?? blobs.get(blob!);
}

/** @param bytes that it becomes; one more is room for zlib to see that it is through */
export function unpack(gzip: Uint8Array, bytes: number): Buffer | Promise<Buffer> {
  const options = { chunkSize: Math.max(MIN_CHUNK_BYTES, bytes + 1) };
  return gzip.byteLength <= SMALL_BYTES ? gunzipSync(gzip, options) : unpackInThread(gzip, options);
}
