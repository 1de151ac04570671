import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { ChangeHistory } from '@troupe/persistence';
import { overPostgres } from '@troupe/service';
import { ChangeTracker, ChangeTrackerParts } from './change-tracker.js';
import { DiffThread } from './diff-thread.js';

@Module({
  providers: [ChangeTracker, ChangeTrackerParts, DiffThread, ...overPostgres(ChangeHistory)],
  exports: [ChangeTracker],
})
export class ChangesModule implements OnApplicationShutdown {
  constructor(private readonly differ: DiffThread) {}

  onApplicationShutdown(): Promise<void> {
    return this.differ.stop();
  }
}
