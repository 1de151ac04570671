import { Module, type DynamicModule } from '@nestjs/common';
import type { ServiceContext } from '@troupe/observability';
import { ServiceModule, type Config } from '@troupe/service';
import { HousekeepingModule } from './housekeeping/housekeeping.module.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { RuntimeModule } from './runtime/runtime.module.js';

const POOL_SIZE = 4;

/** The frontier's process: actors on leased partitions, and the housekeeping of tables and blobs. */
@Module({ imports: [RuntimeModule, HousekeepingModule, MetricsModule] })
export class SchedulerModule {
  static of(context: ServiceContext<Config>): DynamicModule {
    return { module: SchedulerModule, imports: [ServiceModule.with(context, { poolSize: POOL_SIZE, blobs: true })] };
  }
}
