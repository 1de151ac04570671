import { NestFactory } from '@nestjs/core';
import { ActorRuntime } from '@troupe/actors';
import { openBlobs } from '@troupe/blob-store';
import type { TroupeConfig } from '@troupe/config';
import { NatsLink } from '@troupe/messaging';
import type { RunningService, ServiceContext } from '@troupe/observability';
import { checkPostgres, createPool, HostSettings, TeamSizes } from '@troupe/persistence';
import { HousekeepingRounds } from './housekeeping/housekeeping-rounds.js';
import { LostJobs } from './housekeeping/lost-jobs.js';
import { RetentionRounds } from './housekeeping/retention-rounds.js';
import { SchedulerModule } from './scheduler.module.js';

const POOL_SIZE = 4;
/** What is done now and then: it may take its time, and no turn waits for it. */
const CHORES = { poolSize: 2, statementMs: 300_000 };

export async function startScheduler(context: ServiceContext<Readonly<TroupeConfig>>): Promise<RunningService> {
  const { config, log, metrics, tracer, instance } = context;
  const link = await NatsLink.open({
    server: config,
    name: instance,
    tracer,
    onProblem: (problem, error) => log.warn({ err: error }, problem),
  });
  await link.ensureTopology();
  const pool = createPool({ ...config, poolSize: POOL_SIZE, name: instance, log });
  const chores = pool.beside(CHORES);
  const counts = pool.beside({ poolSize: 1 });
  const teams = await TeamSizes.watch(pool, (error) => log.warn({ err: error }, 'the sizes of teams were not read'));
  const hosts = await HostSettings.watch(pool, (error) =>
    log.warn({ err: error }, 'the settings of hosts were not read'),
  );
  const blobs = await openBlobs(config);
  const app = await NestFactory.createApplicationContext(
    SchedulerModule.with({ config, log, metrics, tracer, instance, link, pool, chores, counts, blobs, teams, hosts }),
    {
      logger: ['error', 'warn'],
      abortOnError: false,
    },
  );
  await app.get(ActorRuntime).start();
  app.get(HousekeepingRounds).start();
  app.get(RetentionRounds).start();
  app.get(LostJobs).start();
  return {
    checks: {
      nats: () => link.ping(),
      postgres: () => checkPostgres(pool),
      blobs: () => blobs.check(),
    },
    async drain() {
      app.get(HousekeepingRounds).stop();
      app.get(RetentionRounds).stop();
      app.get(LostJobs).stop();
      await app.get(ActorRuntime).stop();
      await app.close();
      await link.close();
      teams.stop();
      hosts.stop();
      blobs.close();
      await pool.end();
    },
  };
}
