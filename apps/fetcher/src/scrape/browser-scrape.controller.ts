import { Controller, Inject, type Type } from '@nestjs/common';
import { Ctx, MessagePattern, Payload } from '@nestjs/microservices';
import { RPC, type FetchRequest } from '@troupe/contracts';
import { NatsContext, type RpcRequest } from '@troupe/messaging';
import { callerOf } from '../cluster/caller-signal.js';
import { ScrapeRunner, type ScrapeAnswer } from './scrape-runner.js';

/**
 * Part of the module only where there is a browser. It takes as many pages as the browser opens at once; others go to
 * other fetchers.
 */
export function browserScrapeController(capacity: number): Type {
  @Controller()
  class BrowserScrapeController {
    constructor(@Inject(ScrapeRunner) private readonly scrapes: ScrapeRunner) {}

    @MessagePattern(RPC.fetchBrowser, { capacity })
    fetch(@Payload() { head }: RpcRequest<FetchRequest>, @Ctx() context: NatsContext): Promise<ScrapeAnswer> {
      return this.scrapes.browser(head, callerOf(context), context.trace);
    }
  }
  return BrowserScrapeController;
}
