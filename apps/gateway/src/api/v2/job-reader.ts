import type { Request, Response } from 'express';
import { type TroupeConfig } from '@troupe/config';
import { type CrawlSpec, type Uuid } from '@troupe/contracts';
import { type Caller } from '../../auth/caller.js';
import { clientGone } from '../../http/client-gone.js';
import { publicBase } from '../../http/public-address.js';
import { type JobCancelService } from '../../jobs/job-cancel.service.js';
import { type JobStatusService } from '../../jobs/job-status.service.js';
import { type PageBytes } from '../../jobs/page-bytes.js';
import { nextUrl, readStatusQuery, sendStatus } from './job-status.js';
import { problemsToV2 } from './problems.mapper.js';

export interface JobReads {
  status: JobStatusService;
  cancel: JobCancelService;
  pages: PageBytes;
  config: Readonly<TroupeConfig>;
}

/** What is the same for crawls and batches: either path answers for either kind of job. */
export class JobReader {
  constructor(
    private readonly parts: JobReads,
    /** Path of the jobs without leading slash: `next` stays on the path of the request. */
    private readonly path: string,
  ) {}

  addressOf(request: Request, id: Uuid): string {
    return `${publicBase(request, this.parts.config)}/${this.path}/${id}`;
  }

  async sendStatus(caller: Caller, id: Uuid, request: Request, response: Response): Promise<void> {
    const query = readStatusQuery(request.query);
    const signal = clientGone(response);
    const page = await this.parts.status.page(caller, id, query, signal);
    if (signal.aborted) return;
    await sendStatus(response, page, nextUrl(this.addressOf(request, id), query, page.nextSkip), this.parts.pages);
  }

  async cancel(caller: Caller, id: Uuid) {
    await this.parts.cancel.cancel(caller, id);
    return { success: true, status: 'cancelled' };
  }

  async problems(caller: Caller, id: Uuid) {
    return problemsToV2(await this.parts.status.problems(caller, id));
  }

  /** Running crawls, whichever version started them, with their options in the words of the asking one. */
  async activeCrawls(caller: Caller, optionsOf: (spec: CrawlSpec) => object) {
    const crawls = await this.parts.status.activeCrawls(caller);
    return {
      success: true,
      crawls: crawls.map((job) => ({
        id: job.job,
        teamId: job.team,
        url: job.originUrl ?? '',
        created_at: job.createdAt.toISOString(),
        options: optionsOf(job.wireOptions as CrawlSpec),
      })),
    };
  }
}
