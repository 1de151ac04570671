import { Body, Controller, Delete, Get, HttpCode, Param, Post, Req, Res, UseInterceptors } from '@nestjs/common';
import { type Uuid } from '@troupe/contracts';
import type { Request, Response } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { ReadsLists } from '../../http/heavy-reads.js';
import { BodyPipe, JobIdPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';
import { BatchCall } from './batch.call.js';
import { BatchDto } from './batch.dto.js';
import { PageJobCalls } from './page-job.calls.js';
import { StatusSender } from './status-sender.js';

@Controller('v2/batch/scrape')
export class BatchController {
  constructor(
    private readonly call: BatchCall,
    private readonly statuses: StatusSender,
    private readonly jobs: PageJobCalls,
  ) {}

  @Post()
  @HttpCode(200)
  startBatch(@AsCaller() caller: Caller, @Body(BodyPipe(BatchDto)) read: ReadBody<BatchDto>, @Req() request: Request) {
    return this.call.start(caller, read, request);
  }

  @Get(':id')
  sendResults(
    @AsCaller() caller: Caller,
    @Param('id', JobIdPipe) id: Uuid,
    @Req() request: Request,
    @Res() response: Response,
  ) {
    return this.statuses.sendResults(caller, id, request, response);
  }

  @Delete(':id')
  cancelBatch(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid) {
    return this.jobs.cancel(caller, id);
  }

  @Get(':id/errors')
  @UseInterceptors(ReadsLists)
  listErrors(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid, @Req() request: Request) {
    return this.jobs.problems(caller, id, request);
  }
}
