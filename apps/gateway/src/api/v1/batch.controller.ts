import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import type { Request } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { JobCancelService } from '../../jobs/job-cancel.service.js';
import { JobStatusService } from '../../jobs/job-status.service.js';
import { InjectConfig } from '../../settings.js';
import { BatchController } from '../v2/batch.controller.js';
import { JobReader } from '../v2/status-sender.js';
import { BodyPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';
import { BatchV1Dto } from './batch.dto.js';
import { batchFromV1 } from './batch.mapper.js';
import { JobV1Controller } from './job.controller.js';

@Controller('v1/batch/scrape')
export class BatchV1Controller extends JobV1Controller {
  protected readonly reader: JobReader;

  constructor(
    private readonly batches: BatchController,
    status: JobStatusService,
    cancel: JobCancelService,
    @InjectConfig() config: Readonly<TroupeConfig>,
  ) {
    super();
    this.reader = new JobReader({ status, cancel, config }, 'v1/batch/scrape');
  }

  @Post()
  @HttpCode(200)
  async startBatch(
    @AsCaller() caller: Caller,
    @Body(new BodyPipe(BatchV1Dto)) read: ReadBody<BatchV1Dto>,
    @Req() request: Request,
  ) {
    const started = await this.batches.startBatch(caller, batchFromV1(read), request);
    return { ...started, url: this.reader.addressOf(request, started.id) };
  }
}
