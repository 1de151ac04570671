import { Controller, Inject } from '@nestjs/common';
import { Ctx, MessagePattern, Payload } from '@nestjs/microservices';
import { RPC, type FetchRequest } from '@troupe/contracts';
import { NatsContext, type RpcRequest } from '@troupe/messaging';
import { FetcherParts } from '../fetcher.parts.js';
import { callerOf } from './caller-signal.js';
import type { ScrapeAnswer } from './scrape-runner.js';

@Controller()
export class ScrapeController {
  constructor(@Inject(FetcherParts) private readonly parts: FetcherParts) {}

  @MessagePattern(RPC.fetchHttp)
  fetch(@Payload() { head }: RpcRequest<FetchRequest>, @Ctx() context: NatsContext): Promise<ScrapeAnswer> {
    return this.parts.scrapes.http(head, callerOf(context), context.trace);
  }
}
