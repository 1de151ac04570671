import { Module, type DynamicModule } from '@nestjs/common';
import { ActorRuntime, systemClock, type ActorDef } from '@troupe/actors';
import { openBlobRoots } from '@troupe/blob-store';
import type { TroupeConfig } from '@troupe/config';
import { ActorBus, KvLeaseBoard, NatsLink } from '@troupe/messaging';
import type { Logger } from '@troupe/observability';
import { createPool, Housekeeping, PgActorStore, Retention, type TeamSizes } from '@troupe/persistence';
import path from 'node:path';
import { batchActor } from './batch/batch.actor.js';
import { crawlActor } from './crawl/crawl.actor.js';
import { domainActor } from './domain/domain.actor.js';
import { HousekeepingRounds } from './housekeeping/housekeeping-rounds.js';
import { RetentionRounds } from './housekeeping/retention-rounds.js';
import { extractActor } from './extract/extract.actor.js';
import { deliveryActor } from './delivery/delivery.actor.js';
import { teamActor } from './team/team.actor.js';

export interface SchedulerParts {
  config: Readonly<TroupeConfig>;
  log: Logger;
  instance: string;
  link: NatsLink;
  pool: ReturnType<typeof createPool>;
  teams: Pick<TeamSizes, 'concurrencyOf'>;
}

/** The product token of the User-Agent is what robots.txt is matched against (RFC 9309, section 2.2.1). */
function robotsAgentOf(userAgent: string): string {
  return userAgent.split(/[/\s]/, 1)[0]!;
}

function actorsFor({ config, teams }: Pick<SchedulerParts, 'config' | 'teams'>): ActorDef<never, never>[] {
  const job = { robotsAgent: robotsAgentOf(config.userAgent), limitCountsFailed: config.limitCountsFailed };
  return [
    crawlActor(job),
    batchActor(job),
    domainActor({ maxConn: config.hostMaxConn, gapMs: config.hostGapMs }),
    teamActor({ concurrencyOf: (team) => teams.concurrencyOf(team) ?? config.teamConcurrency }),
    deliveryActor({ retryMs: config.webhookRetryMs }),
    extractActor(),
  ] as unknown as ActorDef<never, never>[];
}

/** The frontier's process: actors on leased partitions, and the housekeeping of tables and blobs. */
@Module({})
export class SchedulerModule {
  static with({ config, log, instance, link, pool, teams }: SchedulerParts): DynamicModule {
    const runtime = new ActorRuntime({
      id: instance,
      store: new PgActorStore(pool, config),
      bus: new ActorBus(link, {
        onPoison: async (poison) => log.error({ poison }, 'a message in a mailbox could not be read'),
      }),
      leases: new KvLeaseBoard(link, { id: instance }),
      clock: systemClock,
      log,
      defs: actorsFor({ config, teams }),
    });
    const blobs = openBlobRoots(path.join(config.troupeDataDir, 'blobs'));
    const rounds = new HousekeepingRounds(new Housekeeping(pool), blobs.results, runtime, log);
    const retention = new RetentionRounds({
      rows: new Retention(pool),
      blobs,
      runtime,
      cacheMaxBytes: config.cacheMaxMb * 1_000_000,
      historyHours: config.changeHistoryHours,
      log,
    });
    return {
      module: SchedulerModule,
      providers: [
        { provide: ActorRuntime, useValue: runtime },
        { provide: HousekeepingRounds, useValue: rounds },
        { provide: RetentionRounds, useValue: retention },
      ],
    };
  }
}
