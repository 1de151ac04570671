import { Controller, Inject } from '@nestjs/common';
import { Ctx, MessagePattern, Payload } from '@nestjs/microservices';
import { RPC, type MapRequest } from '@troupe/contracts';
import { NatsContext, type RpcRequest } from '@troupe/messaging';
import { callerOf } from '../cluster/caller-signal.js';
import { SiteMapper, type MapAnswer } from './site-mapper.js';

@Controller()
export class MapController {
  constructor(@Inject(SiteMapper) private readonly mapper: SiteMapper) {}

  @MessagePattern(RPC.map)
  map(@Payload() { head }: RpcRequest<MapRequest>, @Ctx() context: NatsContext): Promise<MapAnswer> {
    return this.mapper.answer(head, callerOf(context), context.trace);
  }
}
