/** Stored pages back to the JSON bytes of their documents; never parsed on the way. */
import { Inject, Injectable } from '@nestjs/common';
import { JobRepository } from '@troupe/persistence';
import { isLost, readDocument, readDocuments, type DocumentList } from '@troupe/blob-store';
import { parseScrapeId, scrapeIdOf, type JobNo, type Uuid } from '@troupe/contracts';
import { BLOBS } from '@troupe/service';
import { LostDocuments } from './lost-documents.js';
import { type Blobs, type Jobs, type StoredPage } from './ports.js';

const LOST = 'The document of this page was lost: its stored bytes cannot be read any more. Scrape the page again.';

@Injectable()
export class PageBytes {
  constructor(
    @Inject(BLOBS) private readonly blobs: { results: Blobs },
    @Inject(JobRepository) private readonly jobs: Pick<Jobs, 'page'>,
    @Inject(LostDocuments) private readonly losses: Pick<LostDocuments, 'note'>,
  ) {}

  /** Documents in the order of their rows. A lost one is its addresses and `metadata.error`. */
  documents(jobNo: JobNo, rows: readonly StoredPage[]): Promise<DocumentList> {
    return readDocuments(this.blobs.results, rows, (page, error) => this.standIn(jobNo, page, error));
  }

  /** The page of a job behind a `metadata.scrapeId`; null when unknown, expired or another team's. */
  async ofScrapeId(team: Uuid, id: Uuid): Promise<Buffer | null> {
    const place = parseScrapeId(id);
    const row = place === null ? null : await this.jobs.page(place.jobNo, place.item);
    if (row === null || row.team !== team) return null;
    try {
      return await readDocument(this.blobs.results, row);
    } catch (error) {
      if (!isLost(error)) throw error;
      return this.standIn(place!.jobNo, row, error);
    }
  }

  private standIn(jobNo: JobNo, page: StoredPage, error: unknown): Buffer {
    this.losses.note({ jobNo, page, error });
    const { url, item } = page;
    const metadata = { sourceURL: url, url, scrapeId: scrapeIdOf(jobNo, item), error: LOST };
    return Buffer.from(JSON.stringify({ metadata }));
  }
}
