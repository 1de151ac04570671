/**
 * Many documents at once, as the members of one list.
 *
 * Short documents are gzips, and gzips behind one another are a gzip of their contents: with a packed comma between them,
 * zlib makes the whole list in one go, at a quarter of what it costs to unpack them one by one. Long ones are not (see
 * `packDocument`): there one by one costs the same.
 */
import { gzipSync } from 'node:zlib';
import { isGzip, unpackDocument } from '@troupe/packing';
import { parseBlobKey, type BlobStore } from './blob-store.js';
import { isLost, packedOf, readDocument, type StoredDocument } from './stored-document.js';

/** Documents that follow one another. */
export interface DocumentList {
  /** Their JSON, joined by commas. */
  bytes: Buffer;
  /** Where each document ends in `bytes`. */
  ends: number[];
}

type Blobs = Pick<BlobStore, 'get'>;

const COMMA = Buffer.from(',');
const PACKED_COMMA = gzipSync(COMMA);
/** Blobs, or parts of them, that are read at the same time. */
const READ_AHEAD = 4;

/** JSON bytes that stand for a document whose own are lost. */
export type Placeholder<D> = (document: D, error: unknown) => Buffer;

/**
 * The JSON of the documents, in their order.
 *
 * @param placeholder without it one lost document fails all @throws errors of the store other than an answer
 */
export async function readDocuments<D extends StoredDocument>(
  blobs: Blobs,
  documents: readonly D[],
  placeholder?: Placeholder<D>,
): Promise<DocumentList> {
  try {
    return (await readTogether(blobs, documents)) ?? (await readOneByOne(blobs, documents, placeholder));
  } catch (error) {
    if (placeholder === undefined || !isLost(error)) throw error;
    return readOneByOne(blobs, documents, placeholder);
  }
}

/** null: a row is wrong about its size, or its bytes are no document. */
async function readTogether(blobs: Blobs, documents: readonly StoredDocument[]): Promise<DocumentList | null> {
  const ends = endsOf(documents.map(({ bytes }) => bytes));
  const size = ends.at(-1) ?? 0;
  if (size === 0) return { bytes: Buffer.alloc(0), ends };
  const packed = await readPacked(blobs, documents);
  const parts = await Promise.all(
    partsOf(packed, documents).map(async (part) => unpackDocument(part.packed, part.bytes)),
  );
  const bytes = parts.length === 1 ? parts[0]! : joined(parts, COMMA);
  return bytes.byteLength === size ? { bytes, ends } : null;
}

/** Neighbours that are unpacked together. */
function partsOf(
  packed: readonly Uint8Array[],
  documents: readonly StoredDocument[],
): { packed: Uint8Array; bytes: number }[] {
  const runs: { members: Uint8Array[]; bytes: number }[] = [];
  for (const [i, { bytes }] of documents.entries()) {
    const one = packed[i]!;
    const run = runs.at(-1);
    if (run !== undefined && isGzip(one) && isGzip(run.members[0]!)) {
      run.members.push(one);
      run.bytes += COMMA.byteLength + bytes;
    } else runs.push({ members: [one], bytes });
  }
  return runs.map(({ members, bytes }) => ({
    packed: members.length === 1 ? members[0]! : joined(members, PACKED_COMMA),
    bytes,
  }));
}

/** For lists with a row that is wrong about its size, or whose document is lost. */
async function readOneByOne<D extends StoredDocument>(
  blobs: Blobs,
  documents: readonly D[],
  placeholder: Placeholder<D> | undefined,
): Promise<DocumentList> {
  const parts: Buffer[] = [];
  for (const document of documents) parts.push(await readOrReplace(blobs, document, placeholder));
  return { bytes: joined(parts, COMMA), ends: endsOf(parts.map(({ byteLength }) => byteLength)) };
}

async function readOrReplace<D extends StoredDocument>(
  blobs: Blobs,
  document: D,
  placeholder: Placeholder<D> | undefined,
): Promise<Buffer> {
  try {
    return await readDocument(blobs, document);
  } catch (error) {
    if (placeholder === undefined || !isLost(error)) throw error;
    return placeholder(document, error);
  }
}

function endsOf(sizes: readonly number[]): number[] {
  let end = -1;
  return sizes.map((size) => (end += size + 1));
}

function joined(parts: readonly Uint8Array[], between: Uint8Array): Buffer {
  return Buffer.concat(parts.flatMap((part, i) => (i === 0 ? [part] : [between, part])));
}

/** A row, or rows whose bytes lie behind one another in one blob. */
interface Span {
  documents: StoredDocument[];
  /** Place of the whole span; null when its only document is in its row. */
  place: { blob: string; from: number; to: number } | null;
}

async function readPacked(blobs: Blobs, documents: readonly StoredDocument[]): Promise<Uint8Array[]> {
  const spans = spansOf(documents);
  const read: Uint8Array[][] = new Array<Uint8Array[]>(spans.length);
  const waiting = spans.entries();
  const worker = async () => {
    for (const [i, span] of waiting) read[i] = await readSpan(blobs, span);
  };
  await Promise.all(Array.from({ length: Math.min(READ_AHEAD, spans.length) }, worker));
  return read.flat();
}

/** Documents that were gathered into one blob are mostly asked for together, and are then read together. */
function spansOf(documents: readonly StoredDocument[]): Span[] {
  const spans: Span[] = [];
  for (const document of documents) {
    const key = document.blob === null ? null : parseBlobKey(document.blob);
    const place = key?.part ? { blob: key.blob, ...key.part } : null;
    const last = spans.at(-1);
    if (place !== null && last?.place?.blob === place.blob && last.place.to === place.from) {
      last.documents.push(document);
      last.place.to = place.to;
    } else spans.push({ documents: [document], place });
  }
  return spans;
}

async function readSpan(blobs: Blobs, { documents, place }: Span): Promise<Uint8Array[]> {
  if (place === null || documents.length === 1) return [await packedOf(blobs, documents[0]!)];
  const all = await blobs.get(`${place.blob}@${place.from}-${place.to}`);
  return documents.map(({ blob }) => {
    const { from, to } = parseBlobKey(blob!)!.part!;
    return all.subarray(from - place.from, to - place.from);
  });
}
