import { Module, type DynamicModule } from '@nestjs/common';
import type { ServiceContext } from '@troupe/observability';
import { ServiceModule, type Config } from '@troupe/service';
import { PostsModule } from './posts/posts.module.js';

const NEEDS = { poolSize: 4, blobs: true, member: 'dispatcher' };

/** The dispatcher: consumer of webhook posts. */
@Module({ imports: [PostsModule] })
export class DispatcherModule {
  static of(context: ServiceContext<Config>): DynamicModule {
    return { module: DispatcherModule, imports: [ServiceModule.with(context, NEEDS)] };
  }
}
