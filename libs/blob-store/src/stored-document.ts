/** A document where its job keeps it: in a row, or in the store when it is large. */
import { unpackDocument } from '@troupe/packing';
import { BlobNotFoundError, type BlobStore } from './blob-store.js';

const OPENING_BRACE = 0x7b;
/** Codes of zlib, of Brotli, and of a disk that cannot read a sector. */
const DAMAGE = /^(Z_|ERR__ERROR_|EIO$)/;

/** Exactly one of `inline` and `blob` is set: the packed document, or the key of its blob. */
export interface StoredDocument {
  inline: Uint8Array | null;
  blob: string | null;
  /** Unpacked. */
  bytes: number;
}

/** The JSON bytes of the document. @throws BlobNotFoundError @throws RangeError when the stored bytes are no document */
export async function readDocument(blobs: Pick<BlobStore, 'get'>, document: StoredDocument): Promise<Buffer> {
  const json = await unpackDocument(await packedOf(blobs, document), document.bytes);
  if (json[0] !== OPENING_BRACE) throw new RangeError('what is stored is no document');
  return json;
}

/**
 * True when the bytes of a document are gone or damaged: asking again gives the same. A store that does not answer, or that we may
 * not read, is not meant.
 */
export function isLost(error: unknown): boolean {
  if (error instanceof BlobNotFoundError || error instanceof RangeError) return true;
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' && DAMAGE.test(code);
}

export function packedOf(
  blobs: Pick<BlobStore, 'get'>,
  { inline, blob }: StoredDocument,
): Uint8Array | Promise<Uint8Array> {
  if (inline === null && blob === null) throw new Error('a stored page has neither bytes nor a blob');
  return inline ?? blobs.get(blob!);
}
