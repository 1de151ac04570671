import { NestFactory } from '@nestjs/core';
import type { MicroserviceOptions } from '@nestjs/microservices';
import type { TroupeConfig } from '@troupe/config';
import { ActorBus, CancelBoard, MemberBoard, NatsLink, NatsStrategy, Rpc } from '@troupe/messaging';
import type { RunningService, ServiceContext } from '@troupe/observability';
import { createPool, ModelSteps } from '@troupe/persistence';
import { createSearchProvider } from '@troupe/search';
import { createAgent } from './agent/create-agent.js';
import { ExtractorModule } from './extractor.module.js';
import { TeamModels } from './models/team-models.js';
import { TaskRunner } from './tasks/task-runner.js';

const EXPECTED = ['work.llm.hi', 'work.llm.lo'];
const POOL_SIZE = 4;

export async function startExtractor(context: ServiceContext<Readonly<TroupeConfig>>): Promise<RunningService> {
  const { config, instance, log } = context;
  const onProblem = (problem: string, error: unknown) => log.warn({ err: error }, problem);
  const link = await NatsLink.open({ url: config.natsUrl, name: instance, onProblem });
  await link.ensureTopology();
  const pool = createPool({ databaseUrl: config.databaseUrl, poolSize: POOL_SIZE, name: instance });
  const models = new TeamModels(config);
  const search = createSearchProvider(config);
  const cancels = new CancelBoard(link);
  await cancels.start();
  const steps = new ModelSteps(pool);
  const tasks = new TaskRunner({
    instance,
    steps,
    mailboxes: new ActorBus(link),
    cancels,
    handlers: { act: createAgent({ models, steps, calls: new Rpc(link), search }) },
  });
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(
    ExtractorModule.with({ instance, link, models, tasks }),
    { strategy: new NatsStrategy({ link, expects: EXPECTED }), logger: ['error', 'warn'], abortOnError: false },
  );
  await app.listen();
  return {
    checks: {
      nats: () => link.ping(),
      postgres: async () => void (await pool.query('SELECT 1')),
    },
    async drain() {
      tasks.drain();
      await app.close();
      await app.get(MemberBoard).stop();
      await cancels.stop();
      await models.close();
      await search?.close();
      await link.close();
      await pool.end();
    },
  };
}
