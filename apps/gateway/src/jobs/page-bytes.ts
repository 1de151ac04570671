/** Stored pages back to the JSON bytes of their documents; never parsed on the way. */
import { promisify } from 'node:util';
import { gunzip, gunzipSync } from 'node:zlib';
import { parseScrapeId, type Uuid } from '@troupe/contracts';
import { type Blobs, type Jobs, type StoredPage } from './ports.js';

const unpackInThread = promisify(gunzip);
/** What takes less time than handing it to a thread: most documents. */
const SMALL_BYTES = 8 * 1024;
const MIN_CHUNK_BYTES = 64;
/** Pages being read and unpacked at the same time for one answer. */
const READ_AHEAD = 4;

export class PageBytes {
  constructor(
    private readonly blobs: Blobs,
    private readonly jobs: Pick<Jobs, 'page'>,
  ) {}

  /** Documents in the order of their rows. */
  async *documents(rows: readonly StoredPage[]): AsyncGenerator<Buffer> {
    const reading: Promise<Buffer>[] = [];
    try {
      for (const row of rows) {
        reading.push(settledLater(this.read(row)));
        if (reading.length >= READ_AHEAD) yield await reading.shift()!;
      }
      while (reading.length > 0) yield await reading.shift()!;
    } finally {
      await Promise.allSettled(reading);
    }
  }

  /** The page of a job behind a `metadata.scrapeId`; null when unknown, expired or another team's. */
  async ofScrapeId(team: Uuid, id: Uuid): Promise<Buffer | null> {
    const place = parseScrapeId(id);
    const row = place === null ? null : await this.jobs.page(place.jobNo, place.item);
    return row === null || row.team !== team ? null : this.read(row);
  }

  private async read({ inline, blob, bytes }: StoredPage): Promise<Buffer> {
    if (inline === null && blob === null) throw new Error('a stored page has neither bytes nor a blob');
    return unpack(inline ?? (await this.blobs.get(blob!)), bytes);
  }
}

/** @param bytes that it becomes; one more is room for zlib to see that it is through */
function unpack(gzip: Buffer, bytes: number): Buffer | Promise<Buffer> {
  const options = { chunkSize: Math.max(MIN_CHUNK_BYTES, bytes + 1) };
  return gzip.byteLength <= SMALL_BYTES ? gunzipSync(gzip, options) : unpackInThread(gzip, options);
}

/** A page that fails while an earlier one is still being sent is reported in its turn, not as an unhandled rejection. */
function settledLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
