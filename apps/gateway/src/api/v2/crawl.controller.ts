import { Body, Controller, Delete, Get, HttpCode, Param, Post, Req, Res, UseInterceptors } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { type Uuid } from '@troupe/contracts';
import type { Request, Response } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { ReadsLists } from '../../http/heavy-reads.js';
import { clientGone } from '../../http/client-gone.js';
import { CrawlWishesService } from '../../jobs/crawl-wishes.service.js';
import { JobCancelService } from '../../jobs/job-cancel.service.js';
import { JobStatusService } from '../../jobs/job-status.service.js';
import { JobSubmitService } from '../../jobs/job-submit.service.js';
import { InjectConfig } from '../../settings.js';
import { BodyPipe, JobIdPipe } from '../validation/body.pipe.js';
import { warningOf, type ReadBody } from '../validation/read-body.js';
import { checkedWishes, promptEcho, underBody } from './crawl-prompt.js';
import { CrawlDto } from './crawl.dto.js';
import { crawlSpecToV2 } from './crawl.mapper.js';
import { JobReader } from './status-sender.js';
import { refusePrompt, refuseZeroDataRetention } from './offer.js';
import { permittedCrawl } from './permitted-crawl.js';
import { submissionOf } from './submission.js';

@Controller('v2/crawl')
export class CrawlController {
  private readonly reader: JobReader;

  constructor(
    private readonly submit: JobSubmitService,
    status: JobStatusService,
    cancel: JobCancelService,
    private readonly wishes: CrawlWishesService,
    @InjectConfig() private readonly config: Readonly<TroupeConfig>,
  ) {
    this.reader = new JobReader({ status, cancel, config }, 'v2/crawl');
  }

  @Post()
  @HttpCode(200)
  async startCrawl(
    @AsCaller() caller: Caller,
    @Body(new BodyPipe(CrawlDto)) { body, warnings }: ReadBody<CrawlDto>,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ) {
    refuseZeroDataRetention(body.zeroDataRetention, caller);
    const asked = body.prompt ? await this.fromPrompt(body, caller, response) : null;
    const spec = permittedCrawl(asked?.body ?? body, caller, this.config);
    const id = await this.submit.startCrawl(spec, submissionOf(request, caller, body));
    return {
      success: true,
      id,
      url: this.reader.addressOf(request, id),
      ...(asked === null ? {} : promptEcho(asked.wishes, spec)),
      ...warningOf([...(asked?.warnings ?? []), ...warnings]),
    };
  }

  /** What may not be crawled is refused before a model is asked. */
  private async fromPrompt(body: CrawlDto, caller: Caller, response: Response) {
    refusePrompt(caller, this.config);
    const { scope } = permittedCrawl(body, caller, this.config);
    const sentence = { url: scope.base, prompt: body.prompt ?? '' };
    const { wishes, warning } = await this.wishes.read(caller, sentence, clientGone(response));
    const checked = await checkedWishes(body.url, wishes, { team: caller.team, hasModel: true });
    return { wishes: checked, body: underBody(checked, body), warnings: warning === undefined ? [] : [warning] };
  }

  /** Both names stand before `:id`, which would take them for an id. */
  @Get(['active', 'ongoing'])
  @UseInterceptors(ReadsLists)
  activeCrawls(@AsCaller() caller: Caller, @Req() request: Request) {
    return this.reader.activeCrawls(caller, request, crawlSpecToV2);
  }

  @Get(':id')
  sendResults(
    @AsCaller() caller: Caller,
    @Param('id', JobIdPipe) id: Uuid,
    @Req() request: Request,
    @Res() response: Response,
  ) {
    return this.reader.sendResults(caller, id, request, response);
  }

  @Delete(':id')
  cancelCrawl(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid) {
    return this.reader.cancel(caller, id);
  }

  @Get(':id/errors')
  @UseInterceptors(ReadsLists)
  listErrors(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid, @Req() request: Request) {
    return this.reader.problems(caller, id, request);
  }
}
