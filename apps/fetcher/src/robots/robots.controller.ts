import { Controller, Inject } from '@nestjs/common';
import { Ctx, MessagePattern, Payload } from '@nestjs/microservices';
import { RPC, type RobotsReply, type RobotsRequest } from '@troupe/contracts';
import { NatsContext, type RpcRequest } from '@troupe/messaging';
import { callerOf } from '../cluster/caller-signal.js';
import { RobotsJudge } from './robots-judge.js';

@Controller()
export class RobotsController {
  constructor(@Inject(RobotsJudge) private readonly robots: RobotsJudge) {}

  @MessagePattern(RPC.robots)
  async judge(
    @Payload() { head }: RpcRequest<RobotsRequest>,
    @Ctx() context: NatsContext,
  ): Promise<{ head: RobotsReply }> {
    return { head: await this.robots.judge(head, callerOf(context)) };
  }
}
