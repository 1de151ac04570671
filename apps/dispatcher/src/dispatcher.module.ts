import { Module, type DynamicModule } from '@nestjs/common';
import type { BlobStore } from '@troupe/blob-store';
import type { TroupeConfig } from '@troupe/config';
import type { Tracer } from '@troupe/contracts';
import { parseAllowList, Resolver } from '@troupe/egress';
import { ActorBus, MemberBoard, type NatsLink } from '@troupe/messaging';
import { createPool, DeliveryRepository } from '@troupe/persistence';
import type { Metrics } from '@troupe/observability';
import { PostController } from './post.controller.js';
import { postCounts } from './post-counts.js';
import { PostRunner } from './post-runner.js';
import { Receivers } from './receivers.js';
import { TeamSecrets } from './team-secrets.js';

export interface DispatcherParts {
  config: Readonly<TroupeConfig>;
  metrics: Metrics;
  tracer: Tracer;
  instance: string;
  link: NatsLink;
  pool: ReturnType<typeof createPool>;
  /** Of page results. */
  blobs: Pick<BlobStore, 'get'>;
}

/** The dispatcher: consumer of webhook posts. */
@Module({})
export class DispatcherModule {
  static with({ config, metrics, tracer, instance, link, pool, blobs }: DispatcherParts): DynamicModule {
    const resolver = new Resolver({
      servers: config.dnsServers,
      allow: parseAllowList(config.allowPrivateWebhooks),
    });
    const receivers = new Receivers({ resolver, userAgent: config.userAgent, onAnswer: postCounts(metrics) });
    const deliveries = new DeliveryRepository(pool);
    const runner = new PostRunner({
      instance,
      mailboxes: new ActorBus(link),
      deliveries,
      blobs,
      secrets: new TeamSecrets(deliveries),
      receivers,
      tracer,
    });
    return {
      module: DispatcherModule,
      controllers: [PostController],
      providers: [
        { provide: PostRunner, useValue: runner },
        { provide: Receivers, useValue: receivers },
        {
          provide: MemberBoard,
          useFactory: async (): Promise<MemberBoard> => {
            const members = new MemberBoard(link);
            await members.start({ id: instance, kind: 'dispatcher' });
            return members;
          },
        },
      ],
    };
  }
}
