/**
 * Bodies read with a cap that holds while they stream, for the bytes received and for what they decode to: an endless
 * body and a decompression bomb both end at the cap, not in memory.
 */
import type { Transform } from 'node:stream';
import zlib from 'node:zlib';
import { TroupeError } from '@troupe/contracts';
import { bodyTooLarge } from './engine-errors.js';

/** Node has zstd from 22.15 on; what cannot be decoded is not announced. */
const HAS_ZSTD = 'createZstdDecompress' in zlib && typeof zlib.createZstdDecompress === 'function';
export const ACCEPT_ENCODING = HAS_ZSTD ? 'gzip, deflate, br, zstd' : 'gzip, deflate, br';

/** A page encoded more often than this is an attack. */
const MAX_CODINGS = 3;

/** Chunks as they arrive, each a `Buffer`; read at the pace of the reader. */
export interface BodySource extends AsyncIterable<unknown> {
  destroy(): unknown;
}

export interface EncodedBody {
  source: BodySource;
  contentEncoding: string | undefined;
  contentLength: string | undefined;
  url: string;
  maxBytes: number;
}

/**
 * Reads a body to its end. The source is destroyed when this rejects.
 * @throws TroupeError SCRAPE_BODY_TOO_LARGE, SCRAPE_SITE_ERROR for a body that cannot be decoded; the source's own error
 */
export async function readBody(body: EncodedBody): Promise<Uint8Array> {
  try {
    if (Number(body.contentLength ?? 0) > body.maxBytes) throw bodyTooLarge(body.url, body.maxBytes);
    const codings = parseCodings(body.contentEncoding);
    return await (codings.length === 0 ? gather(body.source, body) : decode(codings, body));
  } catch (error) {
    body.source.destroy();
    throw error;
  }
}

function parseCodings(header: string | undefined): string[] {
  const names = (header ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  return names.filter((name) => name !== '' && name !== 'identity' && name !== 'utf-8').reverse();
}

async function gather(source: AsyncIterable<unknown>, limit: { url: string; maxBytes: number }): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of source) {
    const bytes = chunk as Buffer;
    size += bytes.length;
    if (size > limit.maxBytes) throw bodyTooLarge(limit.url, limit.maxBytes);
    chunks.push(bytes);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size);
}

async function decode(codings: string[], body: EncodedBody): Promise<Buffer> {
  if (codings.length > MAX_CODINGS) throw undecodable(body.url, codings.join(', '));
  const source = body.source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const first = await source.next();
  if (first.done === true) return Buffer.alloc(0);
  let decoded = capped(rest(first.value, source), body);
  let head: Buffer | null = first.value;
  for (const coding of codings) {
    const decoder = decoderFor(coding, head, body.url);
    head = null;
    if (decoder !== null) decoded = capped(through(decoded, decoder, coding, body.url), body);
  }
  return gather(decoded, body);
}

async function* rest(first: Buffer, source: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  for (let next = await source.next(); next.done !== true; next = await source.next()) yield next.value;
}

async function* capped(
  source: AsyncIterable<Buffer>,
  limit: { url: string; maxBytes: number },
): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of source) {
    size += chunk.length;
    if (size > limit.maxBytes) throw bodyTooLarge(limit.url, limit.maxBytes);
    yield chunk;
  }
}

/** Feeds the decoder chunk by chunk and no faster than its output is taken. */
async function* through(
  source: AsyncIterable<Buffer>,
  decoder: Transform,
  coding: string,
  url: string,
): AsyncGenerator<Buffer> {
  let sourceError: Error | null = null;
  const feeding = feed(source, decoder).catch((error: unknown) => {
    sourceError = error as Error;
    decoder.destroy(sourceError);
  });
  try {
    for await (const chunk of decoder) yield chunk as Buffer;
  } catch {
    throw sourceError ?? undecodable(url, coding);
  } finally {
    decoder.destroy();
    void feeding;
  }
}

async function feed(source: AsyncIterable<Buffer>, decoder: Transform): Promise<void> {
  for await (const chunk of source) {
    if (decoder.destroyed || decoder.writableEnded) return;
    if (!decoder.write(chunk)) await drained(decoder);
  }
  decoder.end();
}

function drained(decoder: Transform): Promise<void> {
  if (decoder.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      decoder.off('drain', done).off('close', done);
      resolve();
    };
    decoder.on('drain', done).on('close', done);
  });
}

/**
 * null = the body is plain although its header says otherwise (a gzip header before text is common).
 * A body cut short is decoded as far as it goes, as browsers do.
 */
function decoderFor(coding: string, head: Buffer | null, url: string): Transform | null {
  const lenient = { finishFlush: zlib.constants.Z_SYNC_FLUSH };
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return head !== null && head[0] !== 0x1f ? null : zlib.createGunzip(lenient);
    case 'deflate':
      return isZlib(head) ? zlib.createInflate(lenient) : zlib.createInflateRaw(lenient);
    case 'br':
      return zlib.createBrotliDecompress({ finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH });
    case 'zstd':
      return zstdDecoder(url);
    default:
      throw undecodable(url, coding);
  }
}

function isZlib(head: Buffer | null): boolean {
  return head === null || ((head[0] ?? 0) & 0x0f) === 8;
}

function zstdDecoder(url: string): Transform {
  const create = (zlib as { createZstdDecompress?: () => Transform }).createZstdDecompress;
  if (create === undefined) throw undecodable(url, 'zstd');
  return create();
}

function undecodable(url: string, coding: string): TroupeError {
  return new TroupeError(
    'SCRAPE_SITE_ERROR',
    `the body of ${url} cannot be decoded (content-encoding ${coding.slice(0, 100)})`,
  );
}
