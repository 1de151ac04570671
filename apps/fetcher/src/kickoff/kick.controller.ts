import { Controller, Inject } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import type { Kick } from '@troupe/contracts';
import { traceOf } from '@troupe/messaging';
import { FetcherParts } from '../fetcher.parts.js';

/** Sitemaps may hold 50 MB each. */
const AT_ONCE = { maxInFlight: 8 };

@Controller()
export class KickController {
  constructor(@Inject(FetcherParts) private readonly parts: FetcherParts) {}

  @EventPattern('work.kick.hi', AT_ONCE)
  urgent(@Payload() kick: Kick, @Ctx() context: unknown): Promise<void> {
    return this.parts.kicks.run(kick, traceOf(context));
  }

  @EventPattern('work.kick.lo', AT_ONCE)
  bulk(@Payload() kick: Kick, @Ctx() context: unknown): Promise<void> {
    return this.parts.kicks.run(kick, traceOf(context));
  }
}
