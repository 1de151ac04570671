import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Tracer } from '@troupe/contracts';
import { Metrics, type Logger } from '@troupe/observability';
import { ModelUsage, TeamModelTable, type LivePool } from '@troupe/persistence';
import { CONFIG, LOG, POOL, TRACER, type Config } from '@troupe/service';
import { MODELS } from './model.js';
import { modelCounts } from './model-counts.js';
import { TeamBudget } from './team-budget.js';
import { TeamModels } from './team-models.js';

const onProblem = (log: Logger) => (error: unknown) =>
  log.warn({ err: error }, 'models of teams or their usage cannot be kept');

@Module({
  providers: [
    {
      provide: TeamModelTable,
      inject: [POOL, LOG],
      useFactory: (pool: LivePool, log: Logger) => TeamModelTable.watch(pool, onProblem(log)),
    },
    {
      provide: TeamBudget,
      inject: [POOL, CONFIG, LOG],
      useFactory: (pool: LivePool, { llmTeamTokensPerDay: perDay }: Config, log: Logger) =>
        new TeamBudget({ usage: new ModelUsage(pool), perDay, onProblem: onProblem(log) }),
    },
    {
      provide: TeamModels,
      inject: [CONFIG, TeamModelTable, TeamBudget, Metrics, TRACER],
      useFactory: async (...[config, own, budget, metrics, tracer]: TeamModelsNeeds) => {
        const accessOf = own.accessOf.bind(own);
        const models = new TeamModels({ config, accessOf, budget, onCall: modelCounts(metrics), tracer });
        await models.warm();
        return models;
      },
    },
    { provide: MODELS, useExisting: TeamModels },
  ],
  exports: [MODELS],
})
export class ModelsModule implements OnApplicationShutdown {
  constructor(
    @Inject(TeamModelTable) private readonly own: TeamModelTable,
    @Inject(TeamBudget) private readonly budget: TeamBudget,
    @Inject(TeamModels) private readonly models: TeamModels,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    this.own.stop();
    await Promise.all([this.budget.write(), this.models.close()]);
  }
}

type TeamModelsNeeds = [config: Config, own: TeamModelTable, budget: TeamBudget, metrics: Metrics, tracer: Tracer];
