import { Inject, Injectable } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { type Uuid } from '@troupe/contracts';
import { CONFIG } from '@troupe/service';
import type { Request } from 'express';
import { type Caller } from '../../auth/caller.js';
import { BatchAppendService } from '../../jobs/batch-append.service.js';
import { JobSubmitService, type Submission } from '../../jobs/job-submit.service.js';
import { TargetPolicy } from '../../jobs/target-policy.js';
import { warningOf, type ReadBody } from '../validation/read-body.js';
import { type BatchDto } from './batch.dto.js';
import { batchFromV2, type BatchOrder } from './batch.mapper.js';
import { jobAddress } from './job-address.js';
import { refuseModelFormats, refuseZeroDataRetention } from './refusals.js';
import { submissionOf } from './submission.js';

@Injectable()
export class BatchCall {
  constructor(
    private readonly submit: JobSubmitService,
    private readonly appends: BatchAppendService,
    private readonly targets: TargetPolicy,
    @Inject(CONFIG) private readonly config: Readonly<TroupeConfig>,
  ) {}

  async start(caller: Caller, { body, warnings }: ReadBody<BatchDto>, request: Request) {
    refuseModelFormats(body.formats, [], { caller, config: this.config });
    const checkTarget = (url: string) => this.targets.check(url);
    const order = batchFromV2(body, { ...this.config, concurrency: caller.concurrency, checkTarget });
    refuseZeroDataRetention(body.zeroDataRetention, caller);
    const id = await this.startOrAppend(body.appendToId, order, submissionOf(request, caller, body));
    const invalid = order.invalidUrls === null ? {} : { invalidURLs: order.invalidUrls };
    return { success: true, id, url: jobAddress(request, id, this.config), ...invalid, ...warningOf(warnings) };
  }

  /** The options of the first request stay in force. */
  private async startOrAppend(appendToId: Uuid | undefined, { spec, urls }: BatchOrder, submission: Submission) {
    if (appendToId === undefined) return this.submit.startBatch(spec, urls, submission);
    const id = appendToId.toLowerCase();
    await this.appends.append(submission.caller, id, urls, submission.idempotencyKey);
    return id;
  }
}
