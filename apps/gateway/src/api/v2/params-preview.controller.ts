import { Body, Controller, HttpCode, Inject, Post, Res } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { CONFIG } from '@troupe/service';
import type { Response } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { clientGone } from '../../http/client-gone.js';
import { CrawlWishesService } from '../../jobs/crawl-wishes.service.js';
import { BodyCheck } from '../validation/body-check.js';
import { BodyPipe } from '../validation/body.pipe.js';
import { MAX_PROMPT_CHARS, TextField } from '../validation/fields.js';
import { warningOf, type ReadBody } from '../validation/read-body.js';
import { checkedWishes } from './crawl-prompt.js';
import { startUrl } from './crawl.mapper.js';
import { refusePrompt } from './refusals.js';
import { OriginDto } from './scrape-options.dto.js';
import { UrlField } from './scrape.dto.js';

export class ParamsPreviewDto extends OriginDto {
  @UrlField() url!: string;
  @TextField({ required: true, minLength: 1, maxLength: MAX_PROMPT_CHARS }) prompt!: string;
}

/** Crawl options out of a sentence, without the crawl. */
@Controller('v2/crawl/params-preview')
export class ParamsPreviewController {
  constructor(
    private readonly wishes: CrawlWishesService,
    private readonly bodies: BodyCheck,
    @Inject(CONFIG) private readonly config: Readonly<TroupeConfig>,
  ) {}

  @Post()
  @HttpCode(200)
  async preview(
    @AsCaller() caller: Caller,
    @Body(BodyPipe(ParamsPreviewDto)) { body, warnings }: ReadBody<ParamsPreviewDto>,
    @Res({ passthrough: true }) response: Response,
  ) {
    refusePrompt(caller, this.config);
    const sentence = { url: startUrl(body.url), prompt: body.prompt };
    const { wishes, warning } = await this.wishes.read(caller, sentence, clientGone(response));
    const checked = await checkedWishes(this.bodies, { url: body.url, wishes }, { team: caller.team, hasModel: true });
    const data = { url: body.url, ...checked };
    return { success: true, data, ...warningOf([...(warning === undefined ? [] : [warning]), ...warnings]) };
  }
}
