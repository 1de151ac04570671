import { Module } from '@nestjs/common';
import type { OpenBlobs } from '@troupe/blob-store';
import type { Tracer } from '@troupe/contracts';
import { ActorBus, Rpc } from '@troupe/messaging';
import { DeliveryRepository, JobRepository, ModelSteps, type LivePool } from '@troupe/persistence';
import type { SearchProvider } from '@troupe/search';
import { BLOBS, CONFIG, overPostgres, POOL, TRACER, type Config } from '@troupe/service';
import { MODELS, type Models } from '../models/model.js';
import { ModelsModule } from '../models/models.module.js';
import { PageModeler } from '../pages/page-modeler.js';
import { PagesModule } from '../pages/pages.module.js';
import { SEARCH, SearchModule } from '../search/search.module.js';
import { StepsModule } from '../tasks/steps.module.js';
import { ChildStarter } from './child-starter.js';
import { fitValue } from './fit-value.js';
import { MergeHandler } from './merge.handler.js';
import { PageProposals } from './page-proposals.js';
import { PagesHandler } from './pages.handler.js';
import { PlanHandler } from './plan.handler.js';
import { SiteFinder } from './site-finder.js';
import { StoredPages } from './stored-pages.js';

/** The handlers of an extract job's steps. */
@Module({
  imports: [ModelsModule, PagesModule, SearchModule, StepsModule],
  providers: [
    ...overPostgres(DeliveryRepository),
    { provide: SiteFinder, inject: [Rpc], useFactory: (calls: Rpc) => new SiteFinder(calls) },
    {
      provide: PageProposals,
      inject: [SEARCH, MODELS],
      useFactory: (search: SearchProvider | null, models: Models) => new PageProposals({ search, models }),
    },
    {
      provide: ChildStarter,
      inject: [POOL, CONFIG, ActorBus, TRACER],
      useFactory: (pool: LivePool, { resultTtlHours }: Config, mailboxes: ActorBus, tracer: Tracer) =>
        new ChildStarter({ jobs: new JobRepository(pool, { resultTtlHours }), mailboxes, tracer }),
    },
    {
      provide: StoredPages,
      inject: [DeliveryRepository, BLOBS],
      useFactory: (pages: DeliveryRepository, { results }: OpenBlobs) => new StoredPages(pages, results),
    },
    {
      provide: PlanHandler,
      inject: [ModelSteps, SiteFinder, PageProposals, ChildStarter, CONFIG],
      useFactory: (...[steps, sites, proposals, children, { extractMaxPages: maxPages }]: PlanNeeds) =>
        new PlanHandler({ steps, sites, proposals, children, maxPages }),
    },
    {
      provide: PagesHandler,
      inject: [StoredPages, PageModeler],
      useFactory: (stored: StoredPages, reader: PageModeler) => new PagesHandler({ stored, reader }),
    },
    {
      provide: MergeHandler,
      inject: [ModelSteps, MODELS],
      useFactory: (steps: ModelSteps, models: Models) => new MergeHandler({ steps, models, fit: fitValue }),
    },
  ],
  exports: [PlanHandler, PagesHandler, MergeHandler],
})
export class ExtractModule {}

type PlanNeeds = [ModelSteps, SiteFinder, PageProposals, ChildStarter, Config];
