import { Global, Module, type OnApplicationShutdown } from '@nestjs/common';
import { ActorBus, CancelBoard, PauseBoard, Rpc } from '@troupe/messaging';
import {
  BlockedHosts,
  HostRepository,
  JobCommandRepository,
  JobRepository,
  LostJobRepository,
  UsageRepository,
  type LivePool,
} from '@troupe/persistence';
import { CONFIG, overNats, overPostgres, POOL, watched, type Config } from '@troupe/service';
import { NatsListener } from './nats-listener.js';

const ADAPTERS = [
  NatsListener,
  ...overNats(ActorBus, Rpc, CancelBoard, PauseBoard),
  ...overPostgres(UsageRepository, HostRepository),
  ...[JobRepository, JobCommandRepository, LostJobRepository].map((repository) => ({
    provide: repository,
    useFactory: (pool: LivePool, config: Config) => new repository(pool, config),
    inject: [POOL, CONFIG],
  })),
  watched(BlockedHosts, 'the blocklist was'),
];

/** What several parts use of Postgres and NATS. */
@Global()
@Module({ providers: ADAPTERS, exports: ADAPTERS })
export class InfraModule implements OnApplicationShutdown {
  constructor(private readonly blocklist: BlockedHosts) {}

  /** A global module: its turn comes when all others have ended. */
  onApplicationShutdown(): void {
    this.blocklist.stop();
  }
}
