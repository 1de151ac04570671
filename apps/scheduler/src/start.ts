import { NestFactory } from '@nestjs/core';
import { ActorRuntime } from '@troupe/actors';
import { openBlobs } from '@troupe/blob-store';
import type { TroupeConfig } from '@troupe/config';
import { NatsLink } from '@troupe/messaging';
import type { RunningService, ServiceContext } from '@troupe/observability';
import { createPool, TeamSizes } from '@troupe/persistence';
import { HousekeepingRounds } from './housekeeping/housekeeping-rounds.js';
import { RetentionRounds } from './housekeeping/retention-rounds.js';
import { SchedulerModule } from './scheduler.module.js';

const POOL_SIZE = 4;

export async function startScheduler(context: ServiceContext<Readonly<TroupeConfig>>): Promise<RunningService> {
  const { config, log, metrics, instance } = context;
  const link = await NatsLink.open({
    server: config,
    name: instance,
    onProblem: (problem, error) => log.warn({ err: error }, problem),
  });
  await link.ensureTopology();
  const pool = createPool({ ...config, poolSize: POOL_SIZE, name: instance });
  const teams = await TeamSizes.watch(pool, (error) => log.warn({ err: error }, 'the sizes of teams were not read'));
  const blobs = await openBlobs(config);
  const app = await NestFactory.createApplicationContext(
    SchedulerModule.with({ config, log, metrics, instance, link, pool, blobs, teams }),
    {
      logger: ['error', 'warn'],
      abortOnError: false,
    },
  );
  await app.get(ActorRuntime).start();
  app.get(HousekeepingRounds).start();
  app.get(RetentionRounds).start();
  return {
    checks: {
      nats: () => link.ping(),
      postgres: async () => void (await pool.query('SELECT 1')),
      blobs: () => blobs.check(),
    },
    async drain() {
      app.get(HousekeepingRounds).stop();
      app.get(RetentionRounds).stop();
      await app.get(ActorRuntime).stop();
      await app.close();
      await link.close();
      teams.stop();
      blobs.close();
      await pool.end();
    },
  };
}
