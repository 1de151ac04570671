import { Body, Controller, Get, HttpCode, Post, Req, Res, UseInterceptors } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import type { Request, Response } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { ReadsLists } from '../../http/heavy-reads.js';
import { JobCancelService } from '../../jobs/job-cancel.service.js';
import { JobStatusService } from '../../jobs/job-status.service.js';
import { InjectConfig } from '../../settings.js';
import { CrawlController } from '../v2/crawl.controller.js';
import { JobReader } from '../v2/status-sender.js';
import { BodyPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';
import { CrawlV1Dto } from './crawl.dto.js';
import { crawlFromV1, crawlSpecToV1 } from './crawl.mapper.js';
import { JobV1Controller } from './job.controller.js';

@Controller('v1/crawl')
export class CrawlV1Controller extends JobV1Controller {
  protected readonly reader: JobReader;

  constructor(
    private readonly crawls: CrawlController,
    status: JobStatusService,
    cancel: JobCancelService,
    @InjectConfig() config: Readonly<TroupeConfig>,
  ) {
    super();
    this.reader = new JobReader({ status, cancel, config }, 'v1/crawl');
  }

  @Post()
  @HttpCode(200)
  async startCrawl(
    @AsCaller() caller: Caller,
    @Body(new BodyPipe(CrawlV1Dto)) read: ReadBody<CrawlV1Dto>,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ) {
    const started = await this.crawls.startCrawl(caller, crawlFromV1(read), request, response);
    return { ...started, url: this.reader.addressOf(request, started.id) };
  }

  /** Both names stand before `:id`, which would take them for an id. */
  @Get(['active', 'ongoing'])
  @UseInterceptors(ReadsLists)
  activeCrawls(@AsCaller() caller: Caller, @Req() request: Request) {
    return this.reader.activeCrawls(caller, request, crawlSpecToV1);
  }
}
