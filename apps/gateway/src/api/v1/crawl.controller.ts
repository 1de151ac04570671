import { Body, Controller, Get, HttpCode, Post, Req, Res, UseInterceptors } from '@nestjs/common';
import type { Request, Response } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { ReadsLists } from '../../http/heavy-reads.js';
import { CrawlCall } from '../v2/crawl.call.js';
import { PageJobCalls } from '../v2/page-job.calls.js';
import { StatusSender } from '../v2/status-sender.js';
import { BodyPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';
import { CrawlV1Dto } from './crawl.dto.js';
import { crawlFromV1, crawlSpecToV1 } from './crawl.mapper.js';
import { JobV1Controller } from './job.controller.js';

@Controller('v1/crawl')
export class CrawlV1Controller extends JobV1Controller {
  constructor(
    private readonly call: CrawlCall,
    statuses: StatusSender,
    jobs: PageJobCalls,
  ) {
    super(statuses, jobs);
  }

  @Post()
  @HttpCode(200)
  async startCrawl(
    @AsCaller() caller: Caller,
    @Body(BodyPipe(CrawlV1Dto)) read: ReadBody<CrawlV1Dto>,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ) {
    return this.call.start(caller, crawlFromV1(read), request, response);
  }

  /** Both names stand before `:id`, which would take them for an id. */
  @Get(['active', 'ongoing'])
  @UseInterceptors(ReadsLists)
  activeCrawls(@AsCaller() caller: Caller, @Req() request: Request) {
    return this.jobs.activeCrawls(caller, request, crawlSpecToV1);
  }
}
