import { Delete, Get, Param, Req, Res, UseInterceptors } from '@nestjs/common';
import { type Uuid } from '@troupe/contracts';
import type { Request, Response } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { ReadsLists } from '../../http/heavy-reads.js';
import { JobIdPipe } from '../validation/body.pipe.js';
import { type PageJobCalls } from '../v2/page-job.calls.js';
import { type StatusSender } from '../v2/status-sender.js';

/** The common calls of crawls and batches: either path answers for either kind of job, and for those of v2. */
export abstract class JobV1Controller {
  constructor(
    protected readonly statuses: StatusSender,
    protected readonly jobs: PageJobCalls,
  ) {}

  @Get(':id')
  sendStatus(
    @AsCaller() caller: Caller,
    @Param('id', JobIdPipe) id: Uuid,
    @Req() request: Request,
    @Res() response: Response,
  ) {
    return this.statuses.sendStatus(caller, id, request, response);
  }

  @Delete(':id')
  cancel(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid) {
    return this.jobs.cancel(caller, id);
  }

  @Get(':id/errors')
  @UseInterceptors(ReadsLists)
  listErrors(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid, @Req() request: Request) {
    return this.jobs.problems(caller, id, request);
  }

  /** The JavaScript client of v1 asks for errors with DELETE; nothing is deleted. */
  @Delete(':id/errors')
  @UseInterceptors(ReadsLists)
  listErrorsToo(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid, @Req() request: Request) {
    return this.jobs.problems(caller, id, request);
  }
}
