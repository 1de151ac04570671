import { Controller, Inject } from '@nestjs/common';
import { Ctx, MessagePattern, Payload } from '@nestjs/microservices';
import { RPC, type MapRequest } from '@troupe/contracts';
import { NatsContext, type RpcRequest } from '@troupe/messaging';
import { FetcherParts } from '../fetcher.parts.js';
import { callerOf } from '../scrape/caller-signal.js';
import { type MapAnswer } from './site-mapper.js';

@Controller()
export class MapController {
  constructor(@Inject(FetcherParts) private readonly parts: FetcherParts) {}

  @MessagePattern(RPC.map)
  map(@Payload() { head }: RpcRequest<MapRequest>, @Ctx() context: NatsContext): Promise<MapAnswer> {
    return this.parts.mapper.answer(head, callerOf(context), context.trace);
  }
}
