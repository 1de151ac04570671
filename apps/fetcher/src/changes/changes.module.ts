import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { ChangeHistory } from '@troupe/persistence';
import { POOL, type Pool } from '../cluster/stores.js';
import { ChangeTracker, ChangeTrackerParts } from './change-tracker.js';
import { DiffThread } from './diff-thread.js';

@Module({
  providers: [
    ChangeTracker,
    ChangeTrackerParts,
    DiffThread,
    { provide: ChangeHistory, useFactory: (pool: Pool) => new ChangeHistory(pool), inject: [POOL] },
  ],
  exports: [ChangeTracker],
})
export class ChangesModule implements OnApplicationShutdown {
  constructor(private readonly differ: DiffThread) {}

  onApplicationShutdown(): Promise<void> {
    return this.differ.stop();
  }
}
