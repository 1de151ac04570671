import { Controller, Inject } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import type { Lane } from '@troupe/contracts';
import { traceOf } from '@troupe/messaging';
import { LaneConsumer } from './lane.consumer.js';

@Controller()
export class LaneController {
  constructor(@Inject(LaneConsumer) private readonly lanes: LaneConsumer) {}

  @EventPattern(['work.http.hi', 'work.http.lo'])
  lane(@Payload() lane: Lane, @Ctx() context: unknown): Promise<void | { retryMs: number }> {
    return this.lanes.handle(lane, traceOf(context));
  }
}
