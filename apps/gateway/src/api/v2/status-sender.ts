import { Inject, Injectable } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { type Uuid } from '@troupe/contracts';
import { CONFIG } from '@troupe/service';
import type { Request, Response } from 'express';
import { type Caller } from '../../auth/caller.js';
import { clientGone } from '../../http/client-gone.js';
import { JobStatusService } from '../../jobs/job-status.service.js';
import { WatchEndedError } from '../../jobs/job-stream.js';
import { jobAddress } from './job-address.js';
import { readFollow, sendLines, wantsLines } from './job-lines.js';
import { nextUrl, readStatusQuery, sendStatus } from './job-status.js';

/** Writes the status and results of a crawl or batch; either path answers for either kind of job. */
@Injectable()
export class StatusSender {
  constructor(
    private readonly status: JobStatusService,
    @Inject(CONFIG) private readonly config: Readonly<TroupeConfig>,
  ) {}

  /** The status record, or the results as lines for a client that asks for them. */
  sendResults(caller: Caller, id: Uuid, request: Request, response: Response): Promise<void> {
    return wantsLines(request)
      ? this.sendLines(caller, id, request, response)
      : this.sendStatus(caller, id, request, response);
  }

  async sendStatus(caller: Caller, id: Uuid, request: Request, response: Response): Promise<void> {
    const query = readStatusQuery(request.query);
    const signal = clientGone(response);
    const page = await this.status.page(caller, id, query, signal);
    if (signal.aborted) return;
    await sendStatus(response, page, (skip) => nextUrl(jobAddress(request, id, this.config), query, skip));
  }

  private async sendLines(caller: Caller, id: Uuid, request: Request, response: Response): Promise<void> {
    const { status } = this;
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
}
