import { Module, type DynamicModule } from '@nestjs/common';
import type { BlobStore } from '@troupe/blob-store';
import type { TroupeConfig } from '@troupe/config';
import type { Tracer } from '@troupe/contracts';
import { parseAllowList, Resolver } from '@troupe/egress';
import { ActorBus, ReceiverBoard, SlotBoard, type MemberBoard, type NatsLink } from '@troupe/messaging';
import { createPool, DeliveryRepository } from '@troupe/persistence';
import type { Metrics } from '@troupe/observability';
import { PostController } from './posts/post.controller.js';
import { postCounts } from './receivers/post-counts.js';
import { PostRunner } from './posts/post-runner.js';
import { ReceiverPlaces } from './receivers/receiver-places.js';
import { Receivers } from './receivers/receivers.js';
import { TeamSecrets } from './events/team-secrets.js';

export interface DispatcherParts {
  config: Readonly<TroupeConfig>;
  metrics: Metrics;
  tracer: Tracer;
  instance: string;
  link: NatsLink;
  members: MemberBoard;
  pool: ReturnType<typeof createPool>;
  /** Of page results. */
  blobs: Pick<BlobStore, 'get'>;
}

/** The dispatcher: consumer of webhook posts. */
@Module({})
export class DispatcherModule {
  static with({ config, metrics, tracer, instance, link, members, pool, blobs }: DispatcherParts): DynamicModule {
    const resolver = new Resolver({
      servers: config.dnsServers,
      allow: parseAllowList(config.allowPrivateWebhooks),
    });
    const receivers = new Receivers({ resolver, userAgent: config.userAgent, onAnswer: postCounts(metrics) });
    const slots = new SlotBoard(link, members);
    const board = new ReceiverBoard(link, { restMs: config.webhookRestMs });
    const deliveries = new DeliveryRepository(pool);
    const runner = new PostRunner({
      instance,
      mailboxes: new ActorBus(link),
      deliveries,
      blobs,
      secrets: new TeamSecrets(deliveries),
      receivers,
      places: new ReceiverPlaces({ instance, slots, board }),
      tracer,
    });
    return {
      module: DispatcherModule,
      controllers: [PostController],
      providers: [
        { provide: PostRunner, useValue: runner },
        { provide: Receivers, useValue: receivers },
        { provide: SlotBoard, useValue: slots },
      ],
    };
  }
}
