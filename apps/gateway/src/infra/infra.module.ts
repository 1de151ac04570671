/** Connections and the values that the process was started with: opened before everything else, closed after it. */
import {
  Global,
  Inject,
  Module,
  type DynamicModule,
  type OnApplicationShutdown,
  type OnModuleInit,
  type Provider,
} from '@nestjs/common';
import { openBlobs, type OpenBlobs } from '@troupe/blob-store';
import { type TroupeConfig } from '@troupe/config';
import { ActorBus, CancelBoard, MemberBoard, NatsLink, PauseBoard, Rpc } from '@troupe/messaging';
import { Metrics, watchLink, watchPool, type ServiceContext } from '@troupe/observability';
import {
  BlockedHosts,
  createPool,
  HostRepository,
  Housekeeping,
  JobCommandRepository,
  JobRepository,
  LostJobRepository,
  UsageRepository,
  type LivePool,
} from '@troupe/persistence';
import { BLOBS, CONFIG, InjectBlobs, InjectInstance, INSTANCE, LOG, TRACER } from '../settings.js';
import { onLink, onPool, POOL } from './adapters.js';
import { NatsListener } from './nats-listener.js';

export type GatewayContext = ServiceContext<Readonly<TroupeConfig>>;

const POOL_SIZE = 8;

@Global()
@Module({})
export class InfraModule implements OnModuleInit, OnApplicationShutdown {
  constructor(
    private readonly link: NatsLink,
    @Inject(POOL) private readonly pool: LivePool,
    @InjectBlobs() private readonly blobs: OpenBlobs,
    private readonly blocklist: BlockedHosts,
    private readonly members: MemberBoard,
    @InjectInstance() private readonly instance: string,
  ) {}

  static of(context: GatewayContext): DynamicModule {
    const providers = [...startedWith(context), ...connections(context), ...ADAPTERS];
    return { module: InfraModule, providers, exports: providers };
  }

  async onModuleInit(): Promise<void> {
    await this.members.start({ id: this.instance, kind: 'gateway' });
  }

  /** A global module: its turn comes when all others have ended. */
  async onApplicationShutdown(): Promise<void> {
    this.blobs.close();
    await this.members.stop();
    this.blocklist.stop();
    await this.pool.end();
    await this.link.close();
  }
}

function startedWith({ config, log, tracer, metrics, instance }: GatewayContext): Provider[] {
  return [
    { provide: CONFIG, useValue: config },
    { provide: LOG, useValue: log },
    { provide: TRACER, useValue: tracer },
    { provide: INSTANCE, useValue: instance },
    { provide: Metrics, useValue: metrics },
  ];
}

function connections(context: GatewayContext): Provider[] {
  const { config, log } = context;
  const onUnread = (error: unknown) => log.warn({ err: error }, 'the blocklist was not read');
  return [
    { provide: NatsLink, useFactory: () => openLink(context) },
    { provide: POOL, useFactory: () => openPool(context) },
    { provide: BLOBS, useFactory: () => openBlobs(config) },
    { provide: BlockedHosts, useFactory: (pool: LivePool) => BlockedHosts.watch(pool, onUnread), inject: [POOL] },
    ...[JobRepository, JobCommandRepository, LostJobRepository].map((repository) => ({
      provide: repository,
      useFactory: (pool: LivePool) => new repository(pool, config),
      inject: [POOL],
    })),
  ];
}

/** Adapters that several parts use. */
const ADAPTERS: Provider[] = [
  NatsListener,
  onLink(MemberBoard),
  onLink(ActorBus),
  onLink(Rpc),
  onLink(CancelBoard),
  onLink(PauseBoard),
  onPool(UsageRepository),
  onPool(HostRepository),
];

async function openLink({ config, instance, log, metrics, tracer }: GatewayContext): Promise<NatsLink> {
  const onProblem = (problem: string, error: unknown) => log.warn({ err: error }, problem);
  const link = await NatsLink.open({ server: config, name: instance, onProblem, tracer });
  await link.ensureTopology();
  watchLink(metrics, link);
  return link;
}

/** @throws when the schema is not the one of this version */
async function openPool({ config, instance, log, metrics }: GatewayContext): Promise<LivePool> {
  const pool = createPool({ ...config, poolSize: POOL_SIZE, name: instance, log });
  watchPool(metrics, pool);
  await new Housekeeping(pool).checkMigrations();
  return pool;
}
