import { NestFactory } from '@nestjs/core';
import type { TroupeConfig } from '@troupe/config';
import { MemberBoard, NatsLink } from '@troupe/messaging';
import type { RunningService, ServiceContext } from '@troupe/observability';
import { createPool } from '@troupe/persistence';
import { ExtractorModule } from './extractor.module.js';
import { TeamModels } from './models/team-models.js';

const POOL_SIZE = 4;

export async function startExtractor({
  config,
  instance,
}: ServiceContext<Readonly<TroupeConfig>>): Promise<RunningService> {
  const link = await NatsLink.open({ url: config.natsUrl, name: instance });
  await link.ensureTopology();
  const pool = createPool({ databaseUrl: config.databaseUrl, poolSize: POOL_SIZE, name: instance });
  const models = new TeamModels(config);
  const app = await NestFactory.createApplicationContext(
    ExtractorModule.with({ instance, config, link, pool, models }),
    { logger: ['error', 'warn'], abortOnError: false },
  );
  return {
    checks: {
      nats: () => link.ping(),
      postgres: async () => void (await pool.query('SELECT 1')),
    },
    async drain() {
      await app.get(MemberBoard).stop();
      await app.close();
      await models.close();
      await link.close();
      await pool.end();
    },
  };
}
