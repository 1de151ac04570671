import { Inject, Injectable } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { type CrawlSpec, type Uuid } from '@troupe/contracts';
import { CONFIG } from '@troupe/service';
import type { Request } from 'express';
import { type Caller } from '../../auth/caller.js';
import { JobCancelService } from '../../jobs/job-cancel.service.js';
import { JobStatusService } from '../../jobs/job-status.service.js';
import { type JobView } from '../../jobs/ports.js';
import { listAnswer, placeOf, rangeOf } from '../list-query.js';
import { jobAddress } from './job-address.js';
import { problemsQueryFromV2, problemsToV2 } from './problems.mapper.js';

/** The other calls on crawls and batches, in either version; either path answers for either kind of job. */
@Injectable()
export class PageJobCalls {
  constructor(
    private readonly status: JobStatusService,
    private readonly cancels: JobCancelService,
    @Inject(CONFIG) private readonly config: Readonly<TroupeConfig>,
  ) {}

  async cancel(caller: Caller, id: Uuid) {
    await this.cancels.cancel(caller, id);
    return { success: true, status: 'cancelled' };
  }

  async problems(caller: Caller, id: Uuid, request: Request) {
    const query = problemsQueryFromV2(request.query);
    const problems = await this.status.problems(caller, id, query);
    return problemsToV2(problems, query, `${jobAddress(request, id, this.config)}/errors`);
  }

  /** Running crawls, whichever version started them, with their options in the words of the asking one. */
  async activeCrawls(caller: Caller, request: Request, optionsOf: (spec: CrawlSpec) => object) {
    const place = placeOf(request, this.config, { keys: [['int', 'int']] });
    const found = await this.status.activeCrawls(caller, rangeOf(place.query));
    const bodyOf = (job: JobView) => ({
      id: job.job,
      teamId: job.team,
      url: job.originUrl ?? '',
      created_at: job.createdAt.toISOString(),
      options: optionsOf(job.wireOptions as CrawlSpec),
    });
    return listAnswer('crawls', found, bodyOf, place);
  }
}
