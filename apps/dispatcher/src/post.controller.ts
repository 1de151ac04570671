import { Controller, Inject } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import type { Post } from '@troupe/contracts';
import { PostRunner } from './post-runner.js';

/** Runs taken at a time: many, since each may wait for a slow receiver. */
const AT_ONCE = { maxInFlight: 200 };

@Controller()
export class PostController {
  constructor(@Inject(PostRunner) private readonly runner: PostRunner) {}

  /** First attempts. */
  @EventPattern('work.post.hi', AT_ONCE)
  first(@Payload() post: Post): Promise<void | { retryMs: number }> {
    return this.runner.run(post);
  }

  /** Retries and replays. */
  @EventPattern('work.post.lo', AT_ONCE)
  again(@Payload() post: Post): Promise<void | { retryMs: number }> {
    return this.runner.run(post);
  }
}
