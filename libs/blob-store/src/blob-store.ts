/**
 * Port of the store for documents that are too large for a row. Content-addressed: a key names its bytes, equal bytes
 * of one hour share one blob, writing twice is harmless. There is no delete of a single blob: the hour in a key is an
 * upper bound of its job's life, and whole hours are dropped (docs/design/data-model.md, "Blobs").
 */
import { createHash } from 'node:crypto';

export interface BlobStore {
  /** Stores the bytes under `hour` (`yyyymmddhh`, see `blobHour`) and returns their key. Readable when it resolves. */
  put(bytes: Uint8Array, hour: string): Promise<string>;
  /**
   * The bytes of a key that `put` or `putMany` returned.
   * @throws BlobNotFoundError when the key is unknown, dropped or not a key.
   */
  get(key: string): Promise<Buffer>;
  /** Removes every blob of the hour; of an absent hour: nothing. */
  dropHour(hour: string): Promise<void>;
  /** Hours that hold blobs, oldest first. */
  listHours(): Promise<string[]>;
}

/** Thrown by `get`: the blob is not there (any more). */
export class BlobNotFoundError extends Error {
  constructor(
    readonly key: string,
    options?: { cause?: unknown },
  ) {
    super(`no blob ${JSON.stringify(key)}`, options);
    this.name = 'BlobNotFoundError';
  }
}

const HOUR_MS = 3_600_000;
/** Longest life of a job. */
const JOB_HOURS = 48;
const HOUR = /^\d{10}$/;
const KEY = /^(\d{10}\/([0-9a-f]{2})\/\2[0-9a-f]{62})(?:@(\d{1,12})-(\d{1,12}))?$/;

/** The hour after which no request can ask for a blob of a job created at `createdMs`: its life, its results' life, 1 h. */
export function blobHour(createdMs: number, resultTtlHours: number): string {
  return hourOf(createdMs + (JOB_HOURS + resultTtlHours + 1) * HOUR_MS);
}

/** `yyyymmddhh` in UTC. */
export function hourOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 13).replace(/\D/g, '');
}

export function isBlobHour(text: string): boolean {
  return HOUR.test(text);
}

/** Where the bytes of a key are: all of a blob, or the part from `from` up to `to`. */
export interface BlobPlace {
  blob: string;
  part: { from: number; to: number } | null;
}

/** Null for a text that is no key. */
export function parseBlobKey(key: string): BlobPlace | null {
  const match = KEY.exec(key);
  if (match === null) return null;
  const [, blob, , from, to] = match;
  if (from === undefined) return { blob: blob!, part: null };
  const part = { from: Number(from), to: Number(to) };
  return part.from <= part.to ? { blob: blob!, part } : null;
}

/**
 * Stores several pieces as one blob, which costs as much as storing one of them. Returns a key for each, in their order:
 * `<key of the blob>@<from>-<to>`, in bytes.
 */
export async function putMany(
  store: Pick<BlobStore, 'put'>,
  pieces: readonly Uint8Array[],
  hour: string,
): Promise<string[]> {
  if (pieces.length === 1) return [await store.put(pieces[0]!, hour)];
  const blob = await store.put(Buffer.concat(pieces), hour);
  let to = 0;
  return pieces.map(({ byteLength }) => `${blob}@${to}-${(to += byteLength)}`);
}

/** `<yyyymmddhh>/<2 hex>/<sha256>` @throws RangeError for anything but an hour. */
export function blobKey(bytes: Uint8Array, hour: string): string {
  if (!isBlobHour(hour)) throw new RangeError(`not an hour (yyyymmddhh): ${JSON.stringify(hour)}`);
  const hash = createHash('sha256').update(bytes).digest('hex');
  return `${hour}/${hash.slice(0, 2)}/${hash}`;
}
