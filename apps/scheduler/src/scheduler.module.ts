import { createHash } from 'node:crypto';
import { Module, type DynamicModule } from '@nestjs/common';
import { ActorRuntime, systemClock, type ActorDef } from '@troupe/actors';
import type { OpenBlobs } from '@troupe/blob-store';
import type { TroupeConfig } from '@troupe/config';
import type { Tracer } from '@troupe/contracts';
import { ActorBus, KvLeaseBoard, NatsLink, readBacklog, type Poison } from '@troupe/messaging';
import { watchLink, watchPool, type Logger, type Metrics } from '@troupe/observability';
import {
  Census,
  DeadLetterRepository,
  Housekeeping,
  LostJobRepository,
  PgActorStore,
  Retention,
  type HostSettings,
  type LivePool,
  type TeamSizes,
  type UnreadableMail,
} from '@troupe/persistence';
import { agentActor } from './model-job/agent/agent.actor.js';
import { batchActor } from './crawl/batch.actor.js';
import { crawlActor } from './crawl/crawl.actor.js';
import { domainActor } from './host/host.actor.js';
import { HousekeepingRounds, LEADER_PARTITION } from './housekeeping/housekeeping-rounds.js';
import { LostJobs } from './housekeeping/lost-jobs.js';
import { RetentionRounds } from './housekeeping/retention-rounds.js';
import { extractActor } from './model-job/extract/extract.actor.js';
import { deliveryActor } from './delivery/delivery.actor.js';
import { ClusterGauges } from './metrics/cluster-gauges.js';
import { meteredLeases } from './metrics/metered-leases.js';
import { meteredStore } from './metrics/metered-store.js';
import { teamActor } from './team/team.actor.js';

export interface SchedulerParts {
  config: Readonly<TroupeConfig>;
  log: Logger;
  metrics: Metrics;
  tracer: Tracer;
  instance: string;
  link: NatsLink;
  pool: LivePool;
  /** For housekeeping. */
  chores: LivePool;
  /** Of one connection, for the census. */
  counts: LivePool;
  blobs: OpenBlobs;
  teams: Pick<TeamSizes, 'concurrencyOf'>;
  hosts: Pick<HostSettings, 'settingOf'>;
}

/** The product token of the User-Agent is what robots.txt is matched against (RFC 9309, section 2.2.1). */
function robotsAgentOf(userAgent: string): string {
  return userAgent.split(/[/\s]/, 1)[0]!;
}

function actorsFor({
  config,
  teams,
  hosts,
}: Pick<SchedulerParts, 'config' | 'teams' | 'hosts'>): ActorDef<never, never>[] {
  const job = { robotsAgent: robotsAgentOf(config.userAgent), limitCountsFailed: config.limitCountsFailed };
  return [
    crawlActor(job),
    batchActor(job),
    domainActor({
      maxConn: config.hostMaxConn,
      gapMs: config.hostGapMs,
      giveUpMs: config.hostGiveUp * 60_000,
      maxCrawlDelayMs: config.hostMaxCrawlDelay * 1000,
      allowIgnoreRobots: config.allowIgnoreRobots,
      settingOf: (host) => hosts.settingOf(host),
    }),
    teamActor({ concurrencyOf: (team) => teams.concurrencyOf(team) ?? config.teamConcurrency }),
    deliveryActor({ retryMs: config.webhookRetryMs }),
    extractActor(),
    agentActor({ maxCredits: config.agentMaxCredits }),
  ] as unknown as ActorDef<never, never>[];
}

/** The name of its error, not its text, which may quote the body. */
function describePoison({ subject, headers, data, error }: Poison): UnreadableMail {
  const hash = createHash('sha256').update(data).digest('hex');
  return { subject, headers, bytes: data.byteLength, hash, error: error.name };
}

/** The frontier's process: actors on leased partitions, and the housekeeping of tables and blobs. */
@Module({})
export class SchedulerModule {
  static with({
    config,
    log,
    metrics,
    tracer,
    instance,
    link,
    pool,
    chores,
    counts,
    blobs,
    teams,
    hosts,
  }: SchedulerParts): DynamicModule {
    const letters = new DeadLetterRepository(pool);
    const runtime = new ActorRuntime({
      id: instance,
      store: meteredStore(new PgActorStore(pool, config), metrics),
      bus: new ActorBus(link, {
        onPoison: async (poison) => {
          const letter = await letters.addUnreadable(poison.part, describePoison(poison));
          log.error({ letter, subject: poison.subject }, 'a message in a mailbox could not be read: dead letter');
        },
        onUntold: (host, error) => log.debug({ host, err: error }, 'a verdict was not told; it is told again'),
      }),
      leases: meteredLeases(new KvLeaseBoard(link, { id: instance }), metrics),
      clock: systemClock,
      log,
      defs: actorsFor({ config, teams, hosts }),
      tracer,
      storeSilentMs: () => pool.silentMs(),
    });
    watchLink(metrics, link);
    watchPool(metrics, pool);
    metrics.watch(
      { name: 'troupe_partitions_held', help: 'Partitions of actors that this scheduler runs' },
      () => runtime.partitions.length,
    );
    new ClusterGauges(metrics, {
      isLeader: () => runtime.partitions.includes(LEADER_PARTITION),
      census: new Census(counts),
      backlog: () => readBacklog(link),
      disk: () => blobs.space(),
    });
    const rounds = new HousekeepingRounds(new Housekeeping(chores, config.databasePooler), blobs.results, runtime, log);
    const retention = new RetentionRounds({
      rows: new Retention(chores),
      blobs,
      runtime,
      cacheMaxBytes: config.cacheMaxMb * 1_000_000,
      historyHours: config.changeHistoryHours,
      log,
    });
    const lostJobs = new LostJobs({
      jobs: new LostJobRepository(chores, config),
      runtime,
      lostAfterMs: config.jobLostAfterMs,
      log,
    });
    return {
      module: SchedulerModule,
      providers: [
        { provide: ActorRuntime, useValue: runtime },
        { provide: HousekeepingRounds, useValue: rounds },
        { provide: RetentionRounds, useValue: retention },
        { provide: LostJobs, useValue: lostJobs },
      ],
    };
  }
}
