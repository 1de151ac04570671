/**
 * A look at a file before the library reads it: streams that expand too far are refused.
 *
 * The library decodes a stream as a whole into memory, and nothing stops it there. The bytes unpacked here are counted and thrown away.
 */
import { createInflate } from 'node:zlib';
import { unreadable } from '@troupe/contracts';

/** Only pixels are this large in a real file. */
const MAX_STREAM_BYTES = 64 * 1024 * 1024;
const MAX_IMAGE_BYTES = 256 * 1024 * 1024;
const MAX_ALL_BYTES = 2 * 1024 * 1024 * 1024;
/** A shorter stream cannot expand beyond the limit: deflate makes at most 1,032 bytes of one. */
const MIN_PACKED_BYTES = Math.floor(MAX_STREAM_BYTES / 1032);
const DICTIONARY_BYTES = 1024;
const CHUNK_BYTES = 64 * 1024;

/** @throws TroupeError SCRAPE_UNSUPPORTED_FILE_ERROR: the file would fill the memory */
export async function refuseBombs(body: Uint8Array): Promise<void> {
  const file = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  let total = 0;
  for (const { packed, isImage } of packedStreams(file)) {
    const limit = isImage ? MAX_IMAGE_BYTES : MAX_STREAM_BYTES;
    const size = await unpackedSize(packed, limit);
    total += size;
    if (size > limit || total > MAX_ALL_BYTES) throw tooLarge();
  }
}

function tooLarge(): Error {
  return unreadable('The PDF expands to more than this server reads');
}

function* packedStreams(file: Buffer): Generator<{ packed: Buffer; isImage: boolean }> {
  for (let at = file.indexOf('stream'); at !== -1; at = file.indexOf('stream', at)) {
    const start = streamStart(file, at + 6);
    at += 6;
    if (start === null || !looksDeflated(file, start)) continue;
    const end = file.indexOf('endstream', start);
    const packed = file.subarray(start, end === -1 ? file.length : end);
    if (packed.length > MIN_PACKED_BYTES) {
      const dictionary = file.toString('latin1', Math.max(0, at - DICTIONARY_BYTES), at);
      yield { packed, isImage: /\/Image\b/.test(dictionary.slice(dictionary.lastIndexOf(' obj') + 1)) };
    }
    if (end === -1) return;
    at = end + 9;
  }
}

/** null: the word is no begin of a stream. */
function streamStart(file: Buffer, after: number): number | null {
  if (file[after] === 0x0a) return after + 1;
  if (file[after] !== 0x0d) return null;
  return file[after + 1] === 0x0a ? after + 2 : after + 1;
}

/** By its first two bytes: names of filters can be spelt in many ways. */
function looksDeflated(file: Buffer, start: number): boolean {
  const method = file[start] ?? 0;
  return (method & 0x0f) === 8 && ((method << 8) | (file[start + 1] ?? 0)) % 31 === 0;
}

/** Counts up to just above `limit`; a damaged stream counts as far as it goes. */
async function unpackedSize(packed: Buffer, limit: number): Promise<number> {
  const inflate = createInflate();
  let size = 0;
  inflate.on('data', (chunk: Buffer) => {
    size += chunk.length;
  });
  const ended = new Promise<void>((resolve) => inflate.once('close', resolve));
  inflate.once('error', () => inflate.destroy());
  for (let at = 0; at < packed.length && size <= limit && !inflate.destroyed; at += CHUNK_BYTES) {
    await new Promise<void>((resolve) => {
      inflate.once('close', resolve);
      inflate.write(packed.subarray(at, at + CHUNK_BYTES), () => {
        inflate.off('close', resolve);
        resolve();
      });
    });
  }
  inflate.destroy();
  await ended;
  return size;
}
