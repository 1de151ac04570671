import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { openBlobs } from '@troupe/blob-store';
import type { Tracer } from '@troupe/contracts';
import { MemberBoard, NatsLink } from '@troupe/messaging';
import { Metrics, watchLink, watchPool, type Logger, type ServiceContext } from '@troupe/observability';
import { createPool, type LivePool } from '@troupe/persistence';
import { Connections } from './connections.js';
import { BLOBS, CONFIG, INSTANCE, LOG, POOL, TRACER, type Config } from './tokens.js';

/** Connections that not every service has. */
export interface ServiceNeeds {
  /** Connections to Postgres at most. @default it has none */
  poolSize?: number;
  /** Stored documents are read or written. @default false */
  blobs?: boolean;
  /** As what the other processes see this one. @default they do not */
  member?: string;
}

/** The process, and its connections to the rest of the cluster: there for every part of an app. */
@Module({})
export class ServiceModule {
  static with(context: ServiceContext<Config>, { poolSize, blobs, member }: ServiceNeeds = {}): DynamicModule {
    const providers: Provider[] = [
      ...given(context),
      NATS,
      ...(poolSize === undefined ? [] : [postgres(poolSize)]),
      ...(blobs ? [{ provide: BLOBS, useFactory: openBlobs, inject: [CONFIG] }] : []),
      ...(member === undefined ? [] : [membership(member)]),
      Connections,
    ];
    return { module: ServiceModule, global: true, providers, exports: providers };
  }
}

function given({ config, log, metrics, tracer, instance }: ServiceContext<Config>): Provider[] {
  return [
    { provide: CONFIG, useValue: config },
    { provide: LOG, useValue: log },
    { provide: Metrics, useValue: metrics },
    { provide: TRACER, useValue: tracer },
    { provide: INSTANCE, useValue: instance },
  ];
}

const NATS: Provider = {
  provide: NatsLink,
  inject: [CONFIG, INSTANCE, LOG, TRACER, Metrics],
  useFactory: async (server: Config, name: string, log: Logger, tracer: Tracer, metrics: Metrics) => {
    const onProblem = (problem: string, error: unknown): void => log.warn({ err: error }, problem);
    const link = await NatsLink.open({ server, name, tracer, onProblem });
    await link.ensureTopology();
    watchLink(metrics, link);
    return link;
  },
};

function postgres(poolSize: number): Provider {
  return {
    provide: POOL,
    inject: [CONFIG, INSTANCE, LOG, Metrics],
    useFactory: (config: Config, name: string, log: Logger, metrics: Metrics) => {
      const pool = createPool({ ...config, poolSize, name, log });
      watchPool(metrics, pool);
      return pool;
    },
  };
}

function membership(kind: string): Provider {
  return {
    provide: MemberBoard,
    inject: [NatsLink, INSTANCE],
    useFactory: async (link: NatsLink, id: string) => {
      const members = new MemberBoard(link);
      await members.start({ id, kind });
      return members;
    },
  };
}

/** Adapters that need nothing but the connection to NATS. */
export function overNats(...adapters: (new (link: NatsLink) => object)[]): Provider[] {
  return adapters.map((adapter) => ({
    provide: adapter,
    inject: [NatsLink],
    useFactory: (link: NatsLink) => new adapter(link),
  }));
}

/** Repositories that need nothing but Postgres. */
export function overPostgres(...repositories: (new (pool: LivePool) => object)[]): Provider[] {
  return repositories.map((repository) => ({
    provide: repository,
    inject: [POOL],
    useFactory: (pool: LivePool) => new repository(pool),
  }));
}
