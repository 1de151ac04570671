import { Controller, Inject } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import type { Lane } from '@troupe/contracts';
import { FetcherParts } from '../fetcher.parts.js';

@Controller()
export class LaneController {
  constructor(@Inject(FetcherParts) private readonly parts: FetcherParts) {}

  @EventPattern('work.http.hi')
  urgent(@Payload() lane: Lane): Promise<void | { retryMs: number }> {
    return this.parts.lanes.handle(lane);
  }

  @EventPattern('work.http.lo')
  bulk(@Payload() lane: Lane): Promise<void | { retryMs: number }> {
    return this.parts.lanes.handle(lane);
  }
}
