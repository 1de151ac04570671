import { Body, Controller, Get, HttpCode, Inject, Param, Post, Req, UseInterceptors } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { type Uuid } from '@troupe/contracts';
import { CONFIG } from '@troupe/service';
import type { Request } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { ReadsLists } from '../../http/heavy-reads.js';
import { DeliveriesService, type Delivery } from '../../jobs/deliveries.service.js';
import { BodyPipe, JobIdPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';
import { ReplayDto } from './deliveries.dto.js';
import { listAnswer, placeOf } from '../list-query.js';

const TRAITS = { keys: [['int']], defaultLimit: 100 } as const;

/** Webhook deliveries of a job (docs/api/own.md); either path answers for either kind of job, as with its status. */
@Controller(['v2/crawl/:id/deliveries', 'v2/batch/scrape/:id/deliveries'])
export class DeliveriesController {
  constructor(
    private readonly deliveries: DeliveriesService,
    @Inject(CONFIG) private readonly config: Readonly<TroupeConfig>,
  ) {}

  @Get()
  @UseInterceptors(ReadsLists)
  async listDeliveries(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid, @Req() request: Request) {
    const place = placeOf(request, this.config, TRAITS);
    const { query } = place;
    // Events are numbered without gaps: the place of one is its key.
    const skip = Number(query.after[0]?.[0] ?? 0) + query.skip;
    const { deliveries, hasMore } = await this.deliveries.list(caller, id, skip, query.limit);
    const rows = deliveries.map((delivery, i) => ({ delivery, key: [String(skip + i + 1)] }));
    return listAnswer('deliveries', { rows, hasMore }, ({ delivery }) => deliveryToV2(delivery), place);
  }

  @Post('replay')
  @HttpCode(200)
  async replayDeliveries(
    @AsCaller() caller: Caller,
    @Param('id', JobIdPipe) id: Uuid,
    @Body(BodyPipe(ReplayDto)) { body }: ReadBody<ReplayDto>,
  ) {
    const webhookIds = body.webhookIds?.map((webhookId) => webhookId.toLowerCase()) ?? null;
    const queued = await this.deliveries.replay(caller, id, { webhookIds, isDeadOnly: body.state === 'dead' });
    return { success: true, queued };
  }
}

/** Absent values are left out. */
function deliveryToV2({ attempts, ...rest }: Delivery) {
  return {
    ...rest,
    attempts: attempts.map(({ at, status, error, ms }) => ({
      at: at.toISOString(),
      ...(status === null ? {} : { status }),
      ...(error === null ? {} : { error }),
      ms,
    })),
  };
}
