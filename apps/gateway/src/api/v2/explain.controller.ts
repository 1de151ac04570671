import { Body, Controller, HttpCode, Inject, Post, Res } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { CONFIG } from '@troupe/service';
import type { Response } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { clientGone } from '../../http/client-gone.js';
import { CrawlExplainService } from '../../jobs/crawl-explain.service.js';
import { BodyPipe } from '../validation/body.pipe.js';
import { customIssue, InvalidBodyError } from '../validation/issue.js';
import { warningOf, type ReadBody } from '../validation/read-body.js';
import { ExplainDto } from './explain.dto.js';
import { explainUrlFromV2, explanationToV2 } from './explain.mapper.js';
import { permittedCrawl } from './permitted-crawl.js';

const PROMPT_FIRST = 'A prompt explains nothing: POST /v2/crawl/params-preview tells the options that it asks for';

@Controller('v2/crawl/explain')
export class ExplainController {
  constructor(
    private readonly explains: CrawlExplainService,
    @Inject(CONFIG) private readonly config: Readonly<TroupeConfig>,
  ) {}

  @Post()
  @HttpCode(200)
  async explain(
    @AsCaller() caller: Caller,
    @Body(BodyPipe(ExplainDto)) { body, warnings }: ReadBody<ExplainDto>,
    @Res({ passthrough: true }) response: Response,
  ) {
    if (body.prompt) throw new InvalidBodyError([customIssue(PROMPT_FIRST, ['prompt'])]);
    const spec = permittedCrawl(body, caller, this.config);
    const found = await this.explains.explain(spec, body.urls.map(explainUrlFromV2), clientGone(response));
    return { success: true, urls: body.urls.map((url, i) => explanationToV2(url, found[i]!)), ...warningOf(warnings) };
  }
}
