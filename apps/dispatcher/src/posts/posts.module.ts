import { Module } from '@nestjs/common';
import type { OpenBlobs } from '@troupe/blob-store';
import { ActorBus } from '@troupe/messaging';
import { BLOBS, overNats } from '@troupe/service';
import { EventsModule } from '../events/events.module.js';
import { ReceiversModule } from '../receivers/receivers.module.js';
import { PAGES } from './ports.js';
import { PostController } from './post.controller.js';
import { PostParts, PostRunner } from './post-runner.js';

@Module({
  imports: [EventsModule, ReceiversModule],
  controllers: [PostController],
  providers: [
    ...overNats(ActorBus),
    { provide: PAGES, inject: [BLOBS], useFactory: ({ results }: OpenBlobs) => results },
    PostParts,
    PostRunner,
  ],
})
export class PostsModule {}
