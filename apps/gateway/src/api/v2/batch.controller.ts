import { Body, Controller, Delete, Get, HttpCode, Param, Post, Req, Res, UseInterceptors } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { type Uuid } from '@troupe/contracts';
import type { Request, Response } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { ReadsLists } from '../../http/heavy-reads.js';
import { BatchAppendService } from '../../jobs/batch-append.service.js';
import { JobCancelService } from '../../jobs/job-cancel.service.js';
import { JobStatusService } from '../../jobs/job-status.service.js';
import { JobSubmitService, type Submission } from '../../jobs/job-submit.service.js';
import { TargetPolicy } from '../../jobs/target-policy.js';
import { InjectConfig } from '../../settings.js';
import { BodyPipe, JobIdPipe } from '../validation/body.pipe.js';
import { warningOf, type ReadBody } from '../validation/read-body.js';
import { BatchDto } from './batch.dto.js';
import { batchFromV2, type BatchOrder } from './batch.mapper.js';
import { JobReader } from './status-sender.js';
import { refuseModelFormats, refuseZeroDataRetention } from './offer.js';
import { submissionOf } from './submission.js';

@Controller('v2/batch/scrape')
export class BatchController {
  private readonly reader: JobReader;

  constructor(
    private readonly submit: JobSubmitService,
    private readonly appends: BatchAppendService,
    status: JobStatusService,
    cancel: JobCancelService,
    private readonly targets: TargetPolicy,
    @InjectConfig() private readonly config: Readonly<TroupeConfig>,
  ) {
    this.reader = new JobReader({ status, cancel, config }, 'v2/batch/scrape');
  }

  @Post()
  @HttpCode(200)
  async startBatch(
    @AsCaller() caller: Caller,
    @Body(new BodyPipe(BatchDto)) { body, warnings }: ReadBody<BatchDto>,
    @Req() request: Request,
  ) {
    refuseModelFormats(body.formats, [], { caller, config: this.config });
    const checkTarget = (url: string) => this.targets.check(url);
    const order = batchFromV2(body, { ...this.config, concurrency: caller.concurrency, checkTarget });
    refuseZeroDataRetention(body.zeroDataRetention, caller);
    const id = await this.startOrAppend(body.appendToId, order, submissionOf(request, caller, body));
    const invalid = order.invalidUrls === null ? {} : { invalidURLs: order.invalidUrls };
    return { success: true, id, url: this.reader.addressOf(request, id), ...invalid, ...warningOf(warnings) };
  }

  /** The options of the first request stay in force. */
  private async startOrAppend(appendToId: Uuid | undefined, { spec, urls }: BatchOrder, submission: Submission) {
    if (appendToId === undefined) return this.submit.startBatch(spec, urls, submission);
    const id = appendToId.toLowerCase();
    await this.appends.append(submission.caller, id, urls, submission.idempotencyKey);
    return id;
  }

  @Get(':id')
  sendResults(
    @AsCaller() caller: Caller,
    @Param('id', JobIdPipe) id: Uuid,
    @Req() request: Request,
    @Res() response: Response,
  ) {
    return this.reader.sendResults(caller, id, request, response);
  }

  @Delete(':id')
  cancelBatch(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid) {
    return this.reader.cancel(caller, id);
  }

  @Get(':id/errors')
  @UseInterceptors(ReadsLists)
  listErrors(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid, @Req() request: Request) {
    return this.reader.problems(caller, id, request);
  }
}
