import { Controller, Inject } from '@nestjs/common';
import { Ctx, MessagePattern, Payload } from '@nestjs/microservices';
import { RPC, type FetchRequest } from '@troupe/contracts';
import { NatsContext, type RpcRequest } from '@troupe/messaging';
import { callerOf } from '../cluster/caller-signal.js';
import { ScrapeRunner, type ScrapeAnswer } from './scrape-runner.js';

@Controller()
export class ScrapeController {
  constructor(@Inject(ScrapeRunner) private readonly scrapes: ScrapeRunner) {}

  @MessagePattern(RPC.fetchHttp)
  fetch(@Payload() { head }: RpcRequest<FetchRequest>, @Ctx() context: NatsContext): Promise<ScrapeAnswer> {
    return this.scrapes.http(head, callerOf(context), context.trace);
  }
}
