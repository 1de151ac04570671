import { Body, Controller, Get, HttpCode, Param, Post, Req } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { type Uuid } from '@troupe/contracts';
import type { Request } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { publicBase } from '../../http/public-address.js';
import { DeliveriesService, type Delivery } from '../../jobs/deliveries.service.js';
import { InjectConfig } from '../../settings.js';
import { BodyPipe, JobIdPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';
import { ReplayDto } from './deliveries.dto.js';
import { nextUrl, readStatusQuery } from './job-status.js';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

/** Webhook deliveries of a job (spec/own.md); either path answers for either kind of job, as with its status. */
@Controller(['v2/crawl/:id/deliveries', 'v2/batch/scrape/:id/deliveries'])
export class DeliveriesController {
  constructor(
    private readonly deliveries: DeliveriesService,
    @InjectConfig() private readonly config: Readonly<TroupeConfig>,
  ) {}

  @Get()
  async listDeliveries(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid, @Req() request: Request) {
    const query = readStatusQuery(request.query);
    const limit = Math.min(query.limit ?? DEFAULT_LIMIT, MAX_LIMIT);
    const { deliveries, hasMore } = await this.deliveries.list(caller, id, query.skip, limit);
    const base = publicBase(request, this.config) + request.path;
    const next = nextUrl(base, query, hasMore ? query.skip + limit : null);
    return { success: true, deliveries: deliveries.map(deliveryToV2), ...(next === null ? {} : { next }) };
  }

  @Post('replay')
  @HttpCode(200)
  async replayDeliveries(
    @AsCaller() caller: Caller,
    @Param('id', JobIdPipe) id: Uuid,
    @Body(new BodyPipe(ReplayDto)) { body }: ReadBody<ReplayDto>,
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
