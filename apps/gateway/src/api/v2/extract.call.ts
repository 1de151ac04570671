import { Inject, Injectable } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { TroupeError, type Uuid } from '@troupe/contracts';
import { CONFIG } from '@troupe/service';
import type { Request } from 'express';
import { type Caller } from '../../auth/caller.js';
import { JobSubmitService } from '../../jobs/job-submit.service.js';
import { ModelJobs } from '../../jobs/model-jobs.service.js';
import { TargetPolicy } from '../../jobs/target-policy.js';
import { warningOf, type ReadBody } from '../validation/read-body.js';
import { type ExtractDto } from './extract.dto.js';
import { extractFromV2, extractToV2 } from './extract.mapper.js';
import { mayUseModel, refuseZeroDataRetention } from './refusals.js';
import { submissionOf } from './submission.js';

@Injectable()
export class ExtractCall {
  constructor(
    private readonly submit: JobSubmitService,
    private readonly jobs: ModelJobs,
    private readonly targets: TargetPolicy,
    @Inject(CONFIG) private readonly config: Readonly<TroupeConfig>,
  ) {}

  async start(caller: Caller, { body, warnings }: ReadBody<ExtractDto>, request: Request) {
    if (!mayUseModel(caller, this.config)) {
      throw new TroupeError('NOT_SUPPORTED', 'Extraction needs a language model, and none is configured');
    }
    const order = extractFromV2(body, { ...this.config, checkTarget: (url) => this.targets.check(url) });
    refuseZeroDataRetention(body.scrapeOptions?.zeroDataRetention, caller);
    const id = await this.submit.startExtract(order.spec, submissionOf(request, caller, body));
    const invalid = order.invalidUrls === null ? {} : { invalidURLs: order.invalidUrls };
    return { success: true, id, urlTrace: [], ...invalid, ...warningOf([...order.warnings, ...warnings]) };
  }

  async status(caller: Caller, id: Uuid) {
    return extractToV2(await this.jobs.find(caller, id, 'extract'));
  }

  async cancel(caller: Caller, id: Uuid) {
    await this.jobs.cancel(caller, id, 'extract');
    return { success: true, status: 'cancelled' };
  }
}
