import { Inject, Injectable } from '@nestjs/common';
import { type JobNo } from '@troupe/contracts';
import { Metrics, type Logger } from '@troupe/observability';
import { LOG } from '@troupe/service';
import { type StoredPage } from './ports.js';

/** Counts and logs documents whose bytes are lost, each time one is asked for. */
@Injectable()
export class LostDocuments {
  private readonly lost;

  constructor(
    metrics: Metrics,
    @Inject(LOG) private readonly log: Pick<Logger, 'error'>,
  ) {
    this.lost = metrics.counter({
      name: 'troupe_documents_lost_total',
      help: 'Documents that were asked for and whose stored bytes are gone or damaged',
    });
  }

  note({ jobNo, page, error }: { jobNo: JobNo; page: StoredPage; error: unknown }): void {
    this.lost.inc();
    this.log.error({ err: error, jobNo, item: page.item, blob: page.blob }, 'the document of a page is lost');
  }
}
