import { Controller, Inject, type Type } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import type { Lane } from '@troupe/contracts';
import { traceOf } from '@troupe/messaging';
import { LaneConsumer } from './lane.consumer.js';

/**
 * Part of the module only where there is a browser. It takes as many lanes as the browser opens pages; others wait in
 * the stream.
 */
export function browserLaneController(maxInFlight: number): Type {
  @Controller()
  class BrowserLaneController {
    constructor(@Inject(LaneConsumer) private readonly lanes: LaneConsumer) {}

    @EventPattern(['work.browser.hi', 'work.browser.lo'], { maxInFlight })
    lane(@Payload() lane: Lane, @Ctx() context: unknown): Promise<void | { retryMs: number }> {
      return this.lanes.handle(lane, traceOf(context));
    }
  }
  return BrowserLaneController;
}
