import type { RunningService, ServiceContext } from '@troupe/observability';
import { listen, type Config } from '@troupe/service';
import { DispatcherModule } from './dispatcher.module.js';
import { PostRunner } from './posts/post-runner.js';

const EXPECTED = ['work.post.hi', 'work.post.lo'];

export function startDispatcher(context: ServiceContext<Config>): Promise<RunningService> {
  return listen(DispatcherModule.of(context), context, { expects: EXPECTED, draining: PostRunner });
}
