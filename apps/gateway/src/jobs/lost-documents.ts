import type { Logger, Metrics } from '@troupe/observability';
import type { LossObserver } from './page-bytes.js';

/** Counts documents whose bytes are lost, each time one is asked for, and says which. */
export function lostDocuments(metrics: Metrics, log: Pick<Logger, 'error'>): LossObserver {
  const lost = metrics.counter({
    name: 'troupe_documents_lost_total',
    help: 'Documents that were asked for and whose stored bytes are gone or damaged',
  });
  return ({ jobNo, page, error }) => {
    lost.inc();
    log.error({ err: error, jobNo, item: page.item, blob: page.blob }, 'the document of a page is lost');
  };
}
