import { Controller, Inject, type Type } from '@nestjs/common';
import { Ctx, MessagePattern, Payload } from '@nestjs/microservices';
import { RPC, type FetchRequest } from '@troupe/contracts';
import { NatsContext, type RpcRequest } from '@troupe/messaging';
import { FetcherParts } from '../fetcher.parts.js';
import { callerOf } from './caller-signal.js';
import type { ScrapeAnswer } from './scrape-runner.js';

/** Part of the module only where a browser is; takes as many pages as the browser opens at once, others go elsewhere. */
export function browserScrapeController(capacity: number): Type {
  @Controller()
  class BrowserScrapeController {
    constructor(@Inject(FetcherParts) private readonly parts: FetcherParts) {}

    @MessagePattern(RPC.fetchBrowser, { capacity })
    fetch(@Payload() { head }: RpcRequest<FetchRequest>, @Ctx() context: NatsContext): Promise<ScrapeAnswer> {
      return this.parts.scrapes.browser(head, callerOf(context), context.trace);
    }
  }
  return BrowserScrapeController;
}
