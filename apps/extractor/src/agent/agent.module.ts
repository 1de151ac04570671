import { Module } from '@nestjs/common';
import { Rpc } from '@troupe/messaging';
import { ModelSteps } from '@troupe/persistence';
import type { SearchProvider } from '@troupe/search';
import { MODELS, type Models } from '../models/model.js';
import { ModelsModule } from '../models/models.module.js';
import { SEARCH, SearchModule } from '../search/search.module.js';
import { StepsModule } from '../tasks/steps.module.js';
import { ActHandler } from './act.handler.js';
import { createAgent } from './create-agent.js';

@Module({
  imports: [ModelsModule, SearchModule, StepsModule],
  providers: [
    {
      provide: ActHandler,
      inject: [MODELS, ModelSteps, Rpc, SEARCH],
      useFactory: (models: Models, steps: ModelSteps, calls: Rpc, search: SearchProvider | null) =>
        createAgent({ models, steps, calls, search }),
    },
  ],
  exports: [ActHandler],
})
export class AgentModule {}
