import { Inject, Injectable } from '@nestjs/common';
import { parseScrapeId, type Uuid } from '@troupe/contracts';
import { unpackDocument } from '@troupe/packing';
import { ScrapeRepository } from '@troupe/persistence';
import { type Caller } from '../auth/caller.js';
import { ApiError } from '../errors/api-error.js';
import { PageBytes } from './page-bytes.js';
import { type Documents } from './ports.js';

/** Documents of earlier scrapes, of sync ones and of the pages of jobs. */
@Injectable()
export class ScrapedDocuments {
  constructor(
    @Inject(ScrapeRepository) private readonly documents: Pick<Documents, 'find'>,
    @Inject(PageBytes) private readonly pages: Pick<PageBytes, 'ofScrapeId'>,
  ) {}

  /** The document as JSON. @throws ApiError 404, also for another team's */
  async find(caller: Caller, id: Uuid): Promise<Uint8Array> {
    const document =
      parseScrapeId(id) === null ? await this.findSync(caller, id) : await this.pages.ofScrapeId(caller.team, id);
    if (document === null) throw new ApiError(404, 'Job not found.');
    return document;
  }

  private async findSync(caller: Caller, id: Uuid): Promise<Uint8Array | null> {
    const stored = await this.documents.find(id);
    if (stored === null || stored.team !== caller.team) return null;
    return unpackDocument(stored.packed);
  }
}
