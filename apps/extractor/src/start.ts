import { NestFactory } from '@nestjs/core';
import type { MicroserviceOptions } from '@nestjs/microservices';
import type { TroupeConfig } from '@troupe/config';
import { MemberBoard, NatsLink, NatsStrategy } from '@troupe/messaging';
import type { RunningService, ServiceContext } from '@troupe/observability';
import { createPool, ModelUsage, SelectorRecipes, TeamModelTable } from '@troupe/persistence';
import { ExtractorModule } from './extractor.module.js';
import { TeamBudget } from './models/team-budget.js';
import { TeamModels } from './models/team-models.js';
import { checkBySchema } from './pages/create-pages.js';
import { RecipeBook } from './recipes/recipe-book.js';

/** Without these the extractor would leave pages unread. */
const EXPECTED = ['rpc.model.page', 'rpc.model.crawl'];
const POOL_SIZE = 4;

export async function startExtractor(context: ServiceContext<Readonly<TroupeConfig>>): Promise<RunningService> {
  const { config, log, instance } = context;
  const onProblem = (problem: string, error: unknown) => log.warn({ err: error }, problem);
  const link = await NatsLink.open({ url: config.natsUrl, name: instance, onProblem });
  await link.ensureTopology();
  const pool = createPool({ databaseUrl: config.databaseUrl, poolSize: POOL_SIZE, name: instance });
  const onLoss = (error: unknown) => onProblem('models of teams or their usage cannot be kept', error);
  const own = await TeamModelTable.watch(pool, onLoss);
  const budget = new TeamBudget({
    usage: new ModelUsage(pool),
    perDay: config.llmTeamTokensPerDay,
    onProblem: onLoss,
  });
  const models = new TeamModels({ config, accessOf: (team) => own.accessOf(team), budget });
  await models.warm();
  const recipes = new RecipeBook({ recipes: new SelectorRecipes(pool), check: checkBySchema, onProblem });
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(
    ExtractorModule.with({ instance, config, link, pool, models, recipes }),
    { strategy: new NatsStrategy({ link, expects: EXPECTED }), logger: ['error', 'warn'], abortOnError: false },
  );
  await app.listen();
  return {
    checks: {
      nats: () => link.ping(),
      postgres: async () => void (await pool.query('SELECT 1')),
    },
    async drain() {
      await app.close();
      await app.get(MemberBoard).stop();
      own.stop();
      await budget.write();
      await models.close();
      await link.close();
      await pool.end();
    },
  };
}
