import { Controller, Inject } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import type { Post } from '@troupe/contracts';
import { traceOf } from '@troupe/messaging';
import { PostRunner } from './post-runner.js';

/** Runs taken at a time: many, since each may wait for a slow receiver. */
const AT_ONCE = { maxInFlight: 200 };

@Controller()
export class PostController {
  constructor(@Inject(PostRunner) private readonly runner: PostRunner) {}

  /** First attempts. */
  @EventPattern('work.post.hi', AT_ONCE)
  first(@Payload() post: Post, @Ctx() context: unknown): Promise<void | { retryMs: number }> {
    return this.runner.run(post, traceOf(context));
  }

  /** Retries and replays. */
  @EventPattern('work.post.lo', AT_ONCE)
  again(@Payload() post: Post, @Ctx() context: unknown): Promise<void | { retryMs: number }> {
    return this.runner.run(post, traceOf(context));
  }
}
