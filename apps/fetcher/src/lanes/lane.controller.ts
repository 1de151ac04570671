import { Controller, Inject } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import type { Lane } from '@troupe/contracts';
import { traceOf } from '@troupe/messaging';
import { FetcherParts } from '../fetcher.parts.js';

@Controller()
export class LaneController {
  constructor(@Inject(FetcherParts) private readonly parts: FetcherParts) {}

  @EventPattern('work.http.hi')
  urgent(@Payload() lane: Lane, @Ctx() context: unknown): Promise<void | { retryMs: number }> {
    return this.parts.lanes.handle(lane, traceOf(context));
  }

  @EventPattern('work.http.lo')
  bulk(@Payload() lane: Lane, @Ctx() context: unknown): Promise<void | { retryMs: number }> {
    return this.parts.lanes.handle(lane, traceOf(context));
  }
}
