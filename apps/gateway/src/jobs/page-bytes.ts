/** Stored pages back to the JSON bytes of their documents; never parsed on the way. */
import { readDocument, readDocuments, type DocumentList } from '@troupe/blob-store';
import { parseScrapeId, type Uuid } from '@troupe/contracts';
import { type Blobs, type Jobs, type StoredPage } from './ports.js';

export class PageBytes {
  constructor(
    private readonly blobs: Blobs,
    private readonly jobs: Pick<Jobs, 'page'>,
  ) {}

  /** Documents in the order of their rows. */
  documents(rows: readonly StoredPage[]): Promise<DocumentList> {
    return readDocuments(this.blobs, rows);
  }

  /** The page of a job behind a `metadata.scrapeId`; null when unknown, expired or another team's. */
  async ofScrapeId(team: Uuid, id: Uuid): Promise<Buffer | null> {
    const place = parseScrapeId(id);
    const row = place === null ? null : await this.jobs.page(place.jobNo, place.item);
    return row === null || row.team !== team ? null : readDocument(this.blobs, row);
  }
}
