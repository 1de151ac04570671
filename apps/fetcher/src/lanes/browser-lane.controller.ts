import { Controller, Inject, type Type } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import type { Lane } from '@troupe/contracts';
import { traceOf } from '@troupe/messaging';
import { FetcherParts } from '../fetcher.parts.js';

/** Part of the module only where a browser is; takes as many lanes as the browser opens pages, others wait in the stream. */
export function browserLaneController(maxInFlight: number): Type {
  @Controller()
  class BrowserLaneController {
    constructor(@Inject(FetcherParts) private readonly parts: FetcherParts) {}

    @EventPattern('work.browser.hi', { maxInFlight })
    urgent(@Payload() lane: Lane, @Ctx() context: unknown): Promise<void | { retryMs: number }> {
      return this.parts.lanes.handle(lane, traceOf(context));
    }

    @EventPattern('work.browser.lo', { maxInFlight })
    bulk(@Payload() lane: Lane, @Ctx() context: unknown): Promise<void | { retryMs: number }> {
      return this.parts.lanes.handle(lane, traceOf(context));
    }
  }
  return BrowserLaneController;
}
