import type { Request, Response } from 'express';
import { type TroupeConfig } from '@troupe/config';
import { type CrawlSpec, type Uuid } from '@troupe/contracts';
import { type Caller } from '../../auth/caller.js';
import { clientGone } from '../../http/client-gone.js';
import { publicBase } from '../../http/public-address.js';
import { type JobCancelService } from '../../jobs/job-cancel.service.js';
import { type JobStatusService } from '../../jobs/job-status.service.js';
import { WatchEndedError } from '../../jobs/job-stream.js';
import { type JobView } from '../../jobs/ports.js';
import { listAnswer, placeOf, rangeOf } from '../list-query.js';
import { readFollow, sendLines, wantsLines } from './job-lines.js';
import { nextUrl, readStatusQuery, sendStatus } from './job-status.js';
import { problemsQueryFromV2, problemsToV2 } from './problems.mapper.js';

export interface JobReads {
  status: JobStatusService;
  cancel: JobCancelService;
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

  /** The status record, or the results as lines for a client that asks for them. */
  sendResults(caller: Caller, id: Uuid, request: Request, response: Response): Promise<void> {
    return wantsLines(request)
      ? this.sendLines(caller, id, request, response)
      : this.sendStatus(caller, id, request, response);
  }

  async sendStatus(caller: Caller, id: Uuid, request: Request, response: Response): Promise<void> {
    const query = readStatusQuery(request.query);
    const signal = clientGone(response);
    const page = await this.parts.status.page(caller, id, query, signal);
    if (signal.aborted) return;
    await sendStatus(response, page, (skip) => nextUrl(this.addressOf(request, id), query, skip));
  }

  private async sendLines(caller: Caller, id: Uuid, request: Request, response: Response): Promise<void> {
    const { status } = this.parts;
    const { skip, limit } = readStatusQuery(request.query);
    if (!readFollow(request.query)) {
      const job = await status.find(caller, id);
      return sendLines(response, status.pageOf(job, { skip, limit, maxBytes: Infinity }).runs(), () => job);
    }
    const stream = await status.stream(caller, id, clientGone(response));
    try {
      await sendLines(response, stream.runs(skip, limit), () => stream.job);
    } catch (error) {
      if (!(error instanceof WatchEndedError)) throw error;
      response.destroy();
    } finally {
      stream.close();
    }
  }

  async cancel(caller: Caller, id: Uuid) {
    await this.parts.cancel.cancel(caller, id);
    return { success: true, status: 'cancelled' };
  }

  async problems(caller: Caller, id: Uuid, request: Request) {
    const query = problemsQueryFromV2(request.query);
    const problems = await this.parts.status.problems(caller, id, query);
    return problemsToV2(problems, query, `${this.addressOf(request, id)}/errors`);
  }

  /** Running crawls, whichever version started them, with their options in the words of the asking one. */
  async activeCrawls(caller: Caller, request: Request, optionsOf: (spec: CrawlSpec) => object) {
    const place = placeOf(request, this.parts.config, { keys: [['int', 'int']] });
    const found = await this.parts.status.activeCrawls(caller, rangeOf(place.query));
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
