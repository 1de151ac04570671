import { Body, Controller, Delete, Get, HttpCode, Param, Post, Req, Res, UseInterceptors } from '@nestjs/common';
import { type Uuid } from '@troupe/contracts';
import type { Request, Response } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { ReadsLists } from '../../http/heavy-reads.js';
import { BodyPipe, JobIdPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';
import { CrawlCall } from './crawl.call.js';
import { CrawlDto } from './crawl.dto.js';
import { crawlSpecToV2 } from './crawl.mapper.js';
import { PageJobCalls } from './page-job.calls.js';
import { StatusSender } from './status-sender.js';

@Controller('v2/crawl')
export class CrawlController {
  constructor(
    private readonly call: CrawlCall,
    private readonly statuses: StatusSender,
    private readonly jobs: PageJobCalls,
  ) {}

  @Post()
  @HttpCode(200)
  startCrawl(
    @AsCaller() caller: Caller,
    @Body(BodyPipe(CrawlDto)) read: ReadBody<CrawlDto>,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ) {
    return this.call.start(caller, read, request, response);
  }

  /** Both names stand before `:id`, which would take them for an id. */
  @Get(['active', 'ongoing'])
  @UseInterceptors(ReadsLists)
  activeCrawls(@AsCaller() caller: Caller, @Req() request: Request) {
    return this.jobs.activeCrawls(caller, request, crawlSpecToV2);
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
  cancelCrawl(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid) {
    return this.jobs.cancel(caller, id);
  }

  @Get(':id/errors')
  @UseInterceptors(ReadsLists)
  listErrors(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid, @Req() request: Request) {
    return this.jobs.problems(caller, id, request);
  }
}
