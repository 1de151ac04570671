import { Inject, Injectable } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { CONFIG } from '@troupe/service';
import type { Request, Response } from 'express';
import { type Caller } from '../../auth/caller.js';
import { clientGone } from '../../http/client-gone.js';
import { CrawlWishesService } from '../../jobs/crawl-wishes.service.js';
import { JobSubmitService } from '../../jobs/job-submit.service.js';
import { BodyCheck } from '../validation/body-check.js';
import { warningOf, type ReadBody } from '../validation/read-body.js';
import { checkedWishes, promptEcho, underBody } from './crawl-prompt.js';
import { type CrawlDto } from './crawl.dto.js';
import { jobAddress } from './job-address.js';
import { refusePrompt, refuseZeroDataRetention } from './refusals.js';
import { permittedCrawl } from './permitted-crawl.js';
import { submissionOf } from './submission.js';

@Injectable()
export class CrawlCall {
  constructor(
    private readonly submit: JobSubmitService,
    private readonly wishes: CrawlWishesService,
    private readonly bodies: BodyCheck,
    @Inject(CONFIG) private readonly config: Readonly<TroupeConfig>,
  ) {}

  async start(caller: Caller, { body, warnings }: ReadBody<CrawlDto>, request: Request, response: Response) {
    refuseZeroDataRetention(body.zeroDataRetention, caller);
    const asked = body.prompt ? await this.fromPrompt(body, caller, response) : null;
    const spec = permittedCrawl(asked?.body ?? body, caller, this.config);
    const id = await this.submit.startCrawl(spec, submissionOf(request, caller, body));
    return {
      success: true,
      id,
      url: jobAddress(request, id, this.config),
      ...(asked === null ? {} : promptEcho(asked.wishes, spec)),
      ...warningOf([...(asked?.warnings ?? []), ...warnings]),
    };
  }

  /** A site that may not be crawled is refused before a model is asked. */
  private async fromPrompt(body: CrawlDto, caller: Caller, response: Response) {
    refusePrompt(caller, this.config);
    const { scope } = permittedCrawl(body, caller, this.config);
    const sentence = { url: scope.base, prompt: body.prompt ?? '' };
    const { wishes, warning } = await this.wishes.read(caller, sentence, clientGone(response));
    const checked = await checkedWishes(this.bodies, { url: body.url, wishes }, { team: caller.team, hasModel: true });
    return { wishes: checked, body: underBody(checked, body), warnings: warning === undefined ? [] : [warning] };
  }
}
