import { NestFactory } from '@nestjs/core';
import type { MicroserviceOptions } from '@nestjs/microservices';
import type { TroupeConfig } from '@troupe/config';
import { MemberBoard, NatsLink, NatsStrategy } from '@troupe/messaging';
import type { RunningService, ServiceContext } from '@troupe/observability';
import { createPool, ModelUsage, TeamModelTable } from '@troupe/persistence';
import { ExtractorModule } from './extractor.module.js';
import { TeamBudget } from './models/team-budget.js';
import { TeamModels } from './models/team-models.js';

/** Without these the extractor would leave pages unread. */
const EXPECTED = ['rpc.model.page', 'rpc.model.crawl'];
const POOL_SIZE = 4;

export async function startExtractor(context: ServiceContext<Readonly<TroupeConfig>>): Promise<RunningService> {
  const { config, log, instance } = context;
  const onLinkProblem = (problem: string, error: unknown) => log.warn({ err: error }, problem);
  const link = await NatsLink.open({ url: config.natsUrl, name: instance, onProblem: onLinkProblem });
  await link.ensureTopology();
  const pool = createPool({ databaseUrl: config.databaseUrl, poolSize: POOL_SIZE, name: instance });
  const onProblem = (error: unknown) => log.warn({ err: error }, 'models of teams or their usage cannot be kept');
  const own = await TeamModelTable.watch(pool, onProblem);
  const budget = new TeamBudget({ usage: new ModelUsage(pool), perDay: config.llmTeamTokensPerDay, onProblem });
  const models = new TeamModels({ config, accessOf: (team) => own.accessOf(team), budget });
  await models.warm();
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(
    ExtractorModule.with({ instance, config, link, pool, models }),
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
