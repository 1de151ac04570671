/** Stored pages back to the JSON bytes of their documents; never parsed on the way. */
import { readDocument } from '@troupe/blob-store';
import { parseScrapeId, type Uuid } from '@troupe/contracts';
import { type Blobs, type Jobs, type StoredPage } from './ports.js';

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
        reading.push(settledLater(readDocument(this.blobs, row)));
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
    return row === null || row.team !== team ? null : readDocument(this.blobs, row);
  }
}

/** A page that fails while an earlier one is still being sent is reported in its turn, not as an unhandled rejection. */
function settledLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
