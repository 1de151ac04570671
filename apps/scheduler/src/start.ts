import { NestFactory } from '@nestjs/core';
import type { RunningService, ServiceContext } from '@troupe/observability';
import { checkPostgres, type LivePool } from '@troupe/persistence';
import { Connections, nestOptions, POOL, type Config } from '@troupe/service';
import { SchedulerModule } from './scheduler.module.js';

export async function startScheduler(context: ServiceContext<Config>): Promise<RunningService> {
  const app = await NestFactory.createApplicationContext(SchedulerModule.of(context), nestOptions(context));
  const pool = app.get<LivePool>(POOL);
  return {
    // Turns have to write.
    checks: { ...app.get(Connections).checks(), postgres: () => checkPostgres(pool) },
    drain: () => app.close(),
  };
}
