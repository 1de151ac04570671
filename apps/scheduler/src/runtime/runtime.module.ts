import { Inject, Module, type OnApplicationBootstrap, type OnModuleDestroy, type Provider } from '@nestjs/common';
import { ActorRuntime, systemClock, type ActorDef, type RuntimeDeps } from '@troupe/actors';
import { ActorBus, KvLeaseBoard, NatsLink } from '@troupe/messaging';
import { Metrics, type Logger } from '@troupe/observability';
import { DeadLetterRepository, PgActorStore, type LivePool } from '@troupe/persistence';
import { CONFIG, INSTANCE, LOG, overPostgres, POOL, TRACER, type Config } from '@troupe/service';
import { CrawlModule, PAGE_JOB_ACTORS } from '../crawl/crawl.module.js';
import { DELIVERY_ACTOR, DeliveryModule } from '../delivery/delivery.module.js';
import { HOST_ACTOR, HostModule } from '../host/host.module.js';
import { meteredLeases } from '../metrics/metered-leases.js';
import { meteredStore } from '../metrics/metered-store.js';
import { MODEL_JOB_ACTORS, ModelJobModule } from '../model-job/model-job.module.js';
import { TEAM_ACTOR, TeamModule } from '../team/team.module.js';
import { PoisonLetters } from './poison-letters.js';

type Defs = RuntimeDeps['defs'];

const ACTORS = Symbol('actors');

/** The actor definitions, found by their kind. */
const actors: Provider = {
  provide: ACTORS,
  inject: [PAGE_JOB_ACTORS, MODEL_JOB_ACTORS, HOST_ACTOR, TEAM_ACTOR, DELIVERY_ACTOR],
  useFactory: (...defs: (ActorDef<never, never> | Defs)[]): Defs => defs.flat(),
};

const bus: Provider = {
  provide: ActorBus,
  inject: [NatsLink, PoisonLetters, LOG],
  useFactory: (link: NatsLink, letters: PoisonLetters, log: Logger) =>
    new ActorBus(link, {
      onPoison: (poison) => letters.bury(poison),
      onUntold: (host, error) =>
        log.debug({ host, err: error }, 'the state of a host was not published; it is published again'),
    }),
};

const store: Provider = {
  provide: PgActorStore,
  inject: [POOL, CONFIG, Metrics],
  useFactory: (pool: LivePool, config: Config, metrics: Metrics) =>
    meteredStore(new PgActorStore(pool, config), metrics),
};

const leases: Provider = {
  provide: KvLeaseBoard,
  inject: [NatsLink, INSTANCE, Metrics],
  useFactory: (link: NatsLink, id: string, metrics: Metrics) => meteredLeases(new KvLeaseBoard(link, { id }), metrics),
};

const runtime: Provider = {
  provide: ActorRuntime,
  inject: [INSTANCE, PgActorStore, ActorBus, KvLeaseBoard, LOG, ACTORS, TRACER, POOL],
  useFactory: (...[id, store, bus, leases, log, defs, tracer, pool]: RuntimeParts) =>
    new ActorRuntime({
      id,
      store,
      bus,
      leases,
      clock: systemClock,
      log,
      defs,
      tracer,
      storeSilentMs: () => pool.silentMs(),
    }),
};

type RuntimeParts = [
  ...[id: string, store: PgActorStore, bus: ActorBus, leases: KvLeaseBoard, log: Logger, defs: Defs],
  ...[tracer: RuntimeDeps['tracer'], pool: LivePool],
];

/**
 * Actors on leased partitions. Partitions are taken when all parts are open, and given back before any of them closes.
 */
@Module({
  imports: [CrawlModule, ModelJobModule, HostModule, TeamModule, DeliveryModule],
  providers: [...overPostgres(DeadLetterRepository), PoisonLetters, actors, bus, store, leases, runtime],
  exports: [ActorRuntime],
})
export class RuntimeModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(@Inject(ActorRuntime) private readonly runtime: ActorRuntime) {}

  onApplicationBootstrap(): Promise<void> {
    return this.runtime.start();
  }

  onModuleDestroy(): Promise<void> {
    return this.runtime.stop();
  }
}
