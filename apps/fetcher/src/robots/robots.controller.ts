import { Controller, Inject } from '@nestjs/common';
import { Ctx, MessagePattern, Payload } from '@nestjs/microservices';
import { RPC, type RobotsReply, type RobotsRequest } from '@troupe/contracts';
import { NatsContext, type RpcRequest } from '@troupe/messaging';
import { FetcherParts } from '../fetcher.parts.js';
import { callerOf } from '../scrape/caller-signal.js';

@Controller()
export class RobotsController {
  constructor(@Inject(FetcherParts) private readonly parts: FetcherParts) {}

  @MessagePattern(RPC.robots)
  async judge(
    @Payload() { head }: RpcRequest<RobotsRequest>,
    @Ctx() context: NatsContext,
  ): Promise<{ head: RobotsReply }> {
    return { head: await this.parts.robots.judge(head, callerOf(context)) };
  }
}
