/** Reads pages from the results of the jobs that fetched them. */
import { isLost, readDocument, type BlobStore } from '@troupe/blob-store';
import { parseScrapeId, type JobNo, type PageDocument } from '@troupe/contracts';
import type { DeliveryRepository } from '@troupe/persistence';

export interface StoredPage {
  ord: number;
  /** Place among the pages as they were asked for or found; results are stored in the order of their arrival. */
  item: number;
  url: string;
  title: string | null;
  statusCode: number;
  markdown: string;
}

/** Larger documents are no pages that a model could read. */
const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;

export class StoredPages {
  constructor(
    private readonly pages: Pick<DeliveryRepository, 'pages'>,
    private readonly blobs: Pick<BlobStore, 'get'>,
  ) {}

  /** null: it is not stored any more, lost, or too long. @throws when the store cannot be read */
  async read(jobNo: JobNo, ord: number): Promise<StoredPage | null> {
    const row = (await this.pages.pages(jobNo, [ord])).get(ord);
    if (row === undefined || row.bytes > MAX_DOCUMENT_BYTES) return null;
    try {
      const json = await readDocument(this.blobs, row);
      return pageOf(ord, JSON.parse(json.toString('utf8')) as PageDocument);
    } catch (error) {
      if (isLost(error)) return null;
      throw error;
    }
  }
}

function pageOf(ord: number, { markdown, metadata }: PageDocument): StoredPage {
  const { scrapeId, url, title, statusCode } = metadata;
  return {
    ord,
    item: parseScrapeId(scrapeId)?.item ?? ord,
    url,
    title: typeof title === 'string' ? title : null,
    statusCode,
    markdown: markdown ?? '',
  };
}
