import { Body, Controller, Get, HttpCode, Param, Post, Res } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { type Uuid } from '@troupe/contracts';
import type { Response } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { clientGone } from '../../http/client-gone.js';
import { sendDocument } from '../../http/send-json.js';
import { ScrapeService } from '../../jobs/scrape.service.js';
import { InjectConfig } from '../../settings.js';
import { BodyPipe, JobIdPipe } from '../validation/body.pipe.js';
import { customIssue, InvalidBodyError } from '../validation/issue.js';
import { readPageUrl } from '../validation/page-url.js';
import { type ReadBody } from '../validation/read-body.js';
import { refuseModelFormats, refuseZeroDataRetention } from './offer.js';
import { ScrapeDto } from './scrape.dto.js';
import { scrapeSpecFromV2 } from './scrape.mapper.js';

@Controller('v2/scrape')
export class ScrapeController {
  constructor(
    private readonly scrapes: ScrapeService,
    @InjectConfig() private readonly config: Readonly<TroupeConfig>,
  ) {}

  @Post()
  @HttpCode(200)
  async scrape(
    @AsCaller() caller: Caller,
    @Body(new BodyPipe(ScrapeDto)) { body, warnings }: ReadBody<ScrapeDto>,
    @Res() response: Response,
  ): Promise<void> {
    refuseModelFormats(body.formats, [], { caller, config: this.config });
    refuseZeroDataRetention(body.zeroDataRetention, caller);
    const order = { url: absoluteUrl(body.url), sourceUrl: body.url, spec: scrapeSpecFromV2(body, this.config) };
    const answer = await this.scrapes.scrape(caller, order, clientGone(response));
    const warning = [answer.warning, ...warnings].filter(Boolean).join(' ');
    sendDocument(response, answer.document, {
      ...(warning === '' ? {} : { warning }),
      ...(body.origin?.includes('website') ? { scrape_id: answer.id } : {}),
    });
  }

  @Get(':id')
  async find(@AsCaller() caller: Caller, @Param('id', JobIdPipe) id: Uuid, @Res() response: Response): Promise<void> {
    sendDocument(response, await this.scrapes.find(caller, id));
  }
}

function absoluteUrl(text: string): string {
  const page = readPageUrl(text);
  if (!page.ok) throw new InvalidBodyError([customIssue(page.message, ['url'])]);
  return page.url;
}
