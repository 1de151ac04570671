import { Inject, Injectable } from '@nestjs/common';
import { type OpenBlobs } from '@troupe/blob-store';
import { NatsLink } from '@troupe/messaging';
import { Dependencies, statusOf, type CheckAnswer, type HealthChecks } from '@troupe/observability';
import { checkPostgres, Housekeeping, type LivePool } from '@troupe/persistence';
import { BLOBS, POOL } from '@troupe/service';
import { EdgeState } from '../http/edge.js';

/** Whether this replica can serve: not draining, and everything it depends on answers. */
@Injectable()
export class Readiness {
  readonly checks: HealthChecks;
  private readonly dependencies: Dependencies;

  constructor(
    @Inject(POOL) pool: LivePool,
    link: NatsLink,
    @Inject(BLOBS) blobs: Pick<OpenBlobs, 'check'>,
    private readonly state: EdgeState,
  ) {
    const housekeeping = new Housekeeping(pool);
    this.checks = {
      postgres: () => checkPostgres(pool),
      nats: () => link.ping(),
      migrations: () => housekeeping.checkMigrations(),
      // Without it results beyond the inline size cannot be read; everything else goes on.
      blobs: { optional: () => blobs.check() },
    };
    this.dependencies = new Dependencies(this.checks);
  }

  /** Says which dependency is down, and no more: reasons belong into the log. */
  async ask(): Promise<{ isReady: boolean; checks: Record<string, CheckAnswer['status']> }> {
    const answers = await this.dependencies.ask();
    const checks = Object.fromEntries(Object.entries(answers).map(([name, answer]) => [name, answer.status]));
    return { isReady: !this.state.draining && statusOf(answers) !== 'unavailable', checks };
  }
}
