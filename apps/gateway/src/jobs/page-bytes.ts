/** Stored pages back to the JSON bytes of their documents; never parsed on the way. */
import { isLost, readDocument, readDocuments, type DocumentList } from '@troupe/blob-store';
import { parseScrapeId, scrapeIdOf, type JobNo, type Uuid } from '@troupe/contracts';
import { type Blobs, type Jobs, type StoredPage } from './ports.js';

const LOST = 'The document of this page was lost: its stored bytes cannot be read any more. Scrape the page again.';

/** Told of every document that was to be read and is lost. */
export type LossObserver = (loss: { jobNo: JobNo; page: StoredPage; error: unknown }) => void;

export class PageBytes {
  constructor(
    private readonly blobs: Blobs,
    private readonly jobs: Pick<Jobs, 'page'>,
    private readonly onLost: LossObserver,
  ) {}

  /** Documents in the order of their rows. A lost one is its addresses and `metadata.error`. */
  documents(jobNo: JobNo, rows: readonly StoredPage[]): Promise<DocumentList> {
    return readDocuments(this.blobs, rows, (page, error) => this.standIn(jobNo, page, error));
  }

  /** The page of a job behind a `metadata.scrapeId`; null when unknown, expired or another team's. */
  async ofScrapeId(team: Uuid, id: Uuid): Promise<Buffer | null> {
    const place = parseScrapeId(id);
    const row = place === null ? null : await this.jobs.page(place.jobNo, place.item);
    if (row === null || row.team !== team) return null;
    try {
      return await readDocument(this.blobs, row);
    } catch (error) {
      if (!isLost(error)) throw error;
      return this.standIn(place!.jobNo, row, error);
    }
  }

  private standIn(jobNo: JobNo, page: StoredPage, error: unknown): Buffer {
    this.onLost({ jobNo, page, error });
    const { url, item } = page;
    const metadata = { sourceURL: url, url, scrapeId: scrapeIdOf(jobNo, item), error: LOST };
    return Buffer.from(JSON.stringify({ metadata }));
  }
}
