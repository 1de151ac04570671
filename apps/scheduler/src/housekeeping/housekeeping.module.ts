import { Module, type Provider } from '@nestjs/common';
import { ActorRuntime } from '@troupe/actors';
import type { OpenBlobs } from '@troupe/blob-store';
import type { Logger } from '@troupe/observability';
import { Housekeeping, LostJobRepository, Retention, type LivePool } from '@troupe/persistence';
import { BLOBS, CONFIG, LOG, POOL, type Config } from '@troupe/service';
import { RuntimeModule } from '../runtime/runtime.module.js';
import { HousekeepingRounds } from './housekeeping-rounds.js';
import { LostJobs } from './lost-jobs.js';
import { RetentionRounds } from './retention-rounds.js';
import { Rounds, type Chore } from './rounds.js';

/** Chores may take their time: they have a pool of their own, so that no turn waits for them. */
const CHORES_POOL = Symbol('Postgres for chores');
const OWN_CONNECTIONS = { poolSize: 2, statementMs: 300_000 };

const rounds: Provider[] = [
  {
    provide: HousekeepingRounds,
    inject: [CHORES_POOL, CONFIG, BLOBS, ActorRuntime, LOG],
    useFactory: (pool: LivePool, { databasePooler }: Config, blobs: OpenBlobs, runtime: ActorRuntime, log: Logger) =>
      new HousekeepingRounds(new Housekeeping(pool, databasePooler), blobs.results, runtime, log),
  },
  {
    provide: RetentionRounds,
    inject: [CHORES_POOL, CONFIG, BLOBS, ActorRuntime, LOG],
    useFactory: (pool: LivePool, config: Config, blobs: OpenBlobs, runtime: ActorRuntime, log: Logger) =>
      new RetentionRounds({
        rows: new Retention(pool),
        blobs,
        runtime,
        cacheMaxBytes: config.cacheMaxMb * 1_000_000,
        historyHours: config.changeHistoryHours,
        log,
      }),
  },
  {
    provide: LostJobs,
    inject: [CHORES_POOL, CONFIG, ActorRuntime, LOG],
    useFactory: (pool: LivePool, config: Config, runtime: ActorRuntime, log: Logger) =>
      new LostJobs({ jobs: new LostJobRepository(pool, config), runtime, lostAfterMs: config.jobLostAfterMs, log }),
  },
];

@Module({
  imports: [RuntimeModule],
  providers: [
    { provide: CHORES_POOL, inject: [POOL], useFactory: (pool: LivePool) => pool.beside(OWN_CONNECTIONS) },
    ...rounds,
    {
      provide: Rounds,
      inject: [HousekeepingRounds, RetentionRounds, LostJobs],
      useFactory: (...chores: Chore[]) => new Rounds(chores),
    },
  ],
})
export class HousekeepingModule {}
