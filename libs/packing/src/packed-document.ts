/**
 * How documents are packed for storing. Long ones by Brotli at its fastest: less than half the time of the fastest gzip, and 7 %
 * larger. Short ones by gzip: gzips behind one another are a gzip of their contents, so a list of them is unpacked in one go.
 */
import { promisify } from 'node:util';
import {
  brotliCompress,
  brotliCompressSync,
  brotliDecompress,
  brotliDecompressSync,
  constants,
  gunzip,
  gunzipSync,
  gzipSync,
} from 'node:zlib';

const LONG_BYTES = 8 * 1024;
/** zlib's default memory costs more to set up than a page's text costs to compress, and gains nothing. */
const GZIP = { level: constants.Z_BEST_SPEED, memLevel: 6 };
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 0, [constants.BROTLI_PARAM_LGWIN]: 18 } };
/** Packing this takes less time than handing it to a thread: most documents. */
const SMALL_BYTES = 8 * 1024;
const MIN_CHUNK_BYTES = 64;
const OPENING_BRACE = 0x7b;
/** Packing this in place takes a third of the time that handing it to a thread takes in all. */
const PACKED_IN_PLACE_BYTES = 64 * 1024;
const brotliInThread = promisify(brotliCompress);
const gunzipInThread = promisify(gunzip);
const unbrotliInThread = promisify(brotliDecompress);

/** @param json of an object */
export function packDocument(json: Uint8Array): Buffer {
  return json.byteLength < LONG_BYTES ? gzipSync(json, GZIP) : brotliCompressSync(json, BROTLI);
}

/** The same where an event loop must not wait: a large document is packed in a thread. */
export function packDocumentAside(json: Uint8Array): Buffer | Promise<Buffer> {
  return json.byteLength < LONG_BYTES ? packDocument(json) : brotliAside(json);
}

/** By Brotli, whatever the bytes are and however few: at its fastest a third of the time of the fastest gzip on web pages. */
export function brotliAside(bytes: Uint8Array): Buffer | Promise<Buffer> {
  return bytes.byteLength <= PACKED_IN_PLACE_BYTES ? brotliCompressSync(bytes, BROTLI) : brotliInThread(bytes, BROTLI);
}

/** False for the JSON itself: neither form begins like an object (Brotli's first four bits tell the size of its window). */
export function isPacked(document: Uint8Array): boolean {
  return document[0] !== OPENING_BRACE;
}

export function isGzip(packed: Uint8Array): boolean {
  return packed[0] === 0x1f && packed[1] === 0x8b;
}

/** @param bytes size of the result, as far as known */
export function unpackDocument(packed: Uint8Array, bytes?: number): Buffer | Promise<Buffer> {
  // zlib needs one more byte of room to see that it is through.
  const options = bytes === undefined ? {} : { chunkSize: Math.max(MIN_CHUNK_BYTES, bytes + 1) };
  const isSmall = packed.byteLength <= SMALL_BYTES;
  if (isGzip(packed)) return isSmall ? gunzipSync(packed, options) : gunzipInThread(packed, options);
  return isSmall ? brotliDecompressSync(packed, options) : unbrotliInThread(packed, options);
}
