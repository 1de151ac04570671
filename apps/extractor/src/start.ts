import { NestFactory } from '@nestjs/core';
import type { MicroserviceOptions } from '@nestjs/microservices';
import { openBlobs } from '@troupe/blob-store';
import type { TroupeConfig } from '@troupe/config';
import { RPC } from '@troupe/contracts';
import { ActorBus, CancelBoard, MemberBoard, NatsLink, NatsStrategy, Rpc } from '@troupe/messaging';
import { watchLink, watchPool, type RunningService, type ServiceContext } from '@troupe/observability';
import { createPool, ModelSteps, ModelUsage, SelectorRecipes, TeamModelTable } from '@troupe/persistence';
import { createSearchProvider } from '@troupe/search';
import { createAgent } from './agent/create-agent.js';
import { extractHandlers } from './extract/extract-handlers.js';
import { ExtractorModule } from './extractor.module.js';
import { modelCounts } from './models/model-counts.js';
import { TeamBudget } from './models/team-budget.js';
import { TeamModels } from './models/team-models.js';
import { checkBySchema, createCrawlPlanner, createPageModeler } from './pages/create-pages.js';
import { RecipeBook } from './recipes/recipe-book.js';
import { TaskRunner } from './tasks/task-runner.js';

const EXPECTED = ['work.llm.hi', 'work.llm.lo', RPC.pageModel, RPC.crawlOptions];
const POOL_SIZE = 8;

export async function startExtractor(context: ServiceContext<Readonly<TroupeConfig>>): Promise<RunningService> {
  const { config, log, metrics, tracer, instance } = context;
  const onProblem = (problem: string, error: unknown) => log.warn({ err: error }, problem);
  const link = await NatsLink.open({ server: config, name: instance, onProblem, tracer });
  await link.ensureTopology();
  const pool = createPool({ ...config, poolSize: POOL_SIZE, name: instance, log });
  const blobs = await openBlobs(config);
  watchLink(metrics, link);
  watchPool(metrics, pool);
  const cancels = new CancelBoard(link);
  await cancels.start();
  const onModelProblem = (error: unknown) => onProblem('models of teams or their usage cannot be kept', error);
  const own = await TeamModelTable.watch(pool, onModelProblem);
  const perDay = config.llmTeamTokensPerDay;
  const budget = new TeamBudget({ usage: new ModelUsage(pool), perDay, onProblem: onModelProblem });
  const onCall = modelCounts(metrics);
  const models = new TeamModels({ config, accessOf: (team) => own.accessOf(team), budget, onCall, tracer });
  await models.warm();
  const search = await createSearchProvider(config);
  const steps = new ModelSteps(pool);
  const mailboxes = new ActorBus(link);
  const calls = new Rpc(link);
  const recipes = new RecipeBook({ recipes: new SelectorRecipes(pool), check: checkBySchema, onProblem });
  const modeler = createPageModeler(models, config, recipes);
  const planner = createCrawlPlanner(models, config);
  const shared = { steps, mailboxes, calls, models, search, tracer };
  const tasks = new TaskRunner({
    instance,
    steps,
    mailboxes,
    cancels,
    tracer,
    handlers: {
      ...extractHandlers({ ...shared, config, pool, results: blobs.results, reader: modeler }),
      act: createAgent(shared),
    },
  });
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(
    ExtractorModule.with({ instance, link, models, modeler, planner, tasks }),
    {
      strategy: new NatsStrategy({ link, expects: EXPECTED, activatesTraces: true }),
      logger: ['error', 'warn'],
      abortOnError: false,
    },
  );
  await app.listen();
  return {
    checks: {
      nats: () => link.ping(),
      postgres: async () => void (await pool.query('SELECT 1')),
      blobs: () => blobs.check(),
    },
    async drain() {
      tasks.drain();
      await app.close();
      own.stop();
      await Promise.all([app.get(MemberBoard).stop(), cancels.stop(), budget.write(), models.close(), search?.close()]);
      await link.close();
      await pool.end();
      blobs.close();
    },
  };
}
