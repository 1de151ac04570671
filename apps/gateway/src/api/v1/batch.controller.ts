import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import type { Request } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { BatchCall } from '../v2/batch.call.js';
import { PageJobCalls } from '../v2/page-job.calls.js';
import { StatusSender } from '../v2/status-sender.js';
import { BodyPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';
import { BatchV1Dto } from './batch.dto.js';
import { batchFromV1 } from './batch.mapper.js';
import { JobV1Controller } from './job.controller.js';

@Controller('v1/batch/scrape')
export class BatchV1Controller extends JobV1Controller {
  constructor(
    private readonly call: BatchCall,
    statuses: StatusSender,
    jobs: PageJobCalls,
  ) {
    super(statuses, jobs);
  }

  @Post()
  @HttpCode(200)
  async startBatch(
    @AsCaller() caller: Caller,
    @Body(BodyPipe(BatchV1Dto)) read: ReadBody<BatchV1Dto>,
    @Req() request: Request,
  ) {
    return this.call.start(caller, batchFromV1(read), request);
  }
}
