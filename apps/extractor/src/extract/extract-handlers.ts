import type { TroupeConfig } from '@troupe/config';
import type { BlobStore } from '@troupe/blob-store';
import type { Tracer } from '@troupe/contracts';
import type { ActorBus, Rpc } from '@troupe/messaging';
import { DeliveryRepository, JobRepository, type createPool, type ModelSteps } from '@troupe/persistence';
import type { SearchProvider } from '@troupe/search';
import type { Models } from '../models/model.js';
import type { TaskHandlers } from '../tasks/task-runner.js';
import { ChildStarter } from './child-starter.js';
import { fitValue } from './fit-value.js';
import { MergeHandler } from './merge.handler.js';
import { PageProposals } from './page-proposals.js';
import { PagesHandler, type PageReader } from './pages.handler.js';
import { PlanHandler } from './plan.handler.js';
import { SiteFinder } from './site-finder.js';
import { StoredPages } from './stored-pages.js';

export interface ExtractParts {
  config: Readonly<TroupeConfig>;
  pool: ReturnType<typeof createPool>;
  /** Where pages are stored. */
  results: Pick<BlobStore, 'get'>;
  steps: ModelSteps;
  mailboxes: Pick<ActorBus, 'publishActor'>;
  calls: Pick<Rpc, 'call'>;
  models: Models;
  reader: PageReader;
  /** null: none is configured. */
  search: SearchProvider | null;
  tracer: Tracer;
}

/** What an extract job asks of an extractor, step by step. */
export function extractHandlers(parts: ExtractParts): Pick<TaskHandlers, 'plan' | 'pages' | 'merge'> {
  const { config, pool, results, steps, mailboxes, calls, models, reader, search, tracer } = parts;
  const jobs = new JobRepository(pool, { resultTtlHours: config.resultTtlHours });
  return {
    plan: new PlanHandler({
      steps,
      sites: new SiteFinder(calls),
      proposals: new PageProposals({ search, models }),
      children: new ChildStarter({ jobs, mailboxes, tracer }),
      maxPages: config.extractMaxPages,
    }),
    pages: new PagesHandler({ stored: new StoredPages(new DeliveryRepository(pool), results), reader }),
    merge: new MergeHandler({ steps, models, fit: fitValue }),
  };
}
