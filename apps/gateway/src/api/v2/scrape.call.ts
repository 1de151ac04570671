import { Inject, Injectable } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { type Uuid } from '@troupe/contracts';
import { CONFIG } from '@troupe/service';
import type { Response } from 'express';
import { type Caller } from '../../auth/caller.js';
import { clientGone } from '../../http/client-gone.js';
import { sendDocument } from '../../http/send-json.js';
import { ScrapeService } from '../../jobs/scrape.service.js';
import { ScrapedDocuments } from '../../jobs/scraped-documents.js';
import { customIssue, InvalidBodyError } from '../validation/issue.js';
import { readPageUrl } from '../validation/page-url.js';
import { type ReadBody } from '../validation/read-body.js';
import { refuseModelFormats, refuseZeroDataRetention } from './refusals.js';
import { type ScrapeDto } from './scrape.dto.js';
import { scrapeSpecFromV2 } from './scrape.mapper.js';

@Injectable()
export class ScrapeCall {
  constructor(
    private readonly scrapes: ScrapeService,
    private readonly documents: ScrapedDocuments,
    @Inject(CONFIG) private readonly config: Readonly<TroupeConfig>,
  ) {}

  async send(caller: Caller, { body, warnings }: ReadBody<ScrapeDto>, response: Response): Promise<void> {
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

  async sendStored(caller: Caller, id: Uuid, response: Response): Promise<void> {
    sendDocument(response, await this.documents.find(caller, id));
  }
}

function absoluteUrl(text: string): string {
  const page = readPageUrl(text);
  if (!page.ok) throw new InvalidBodyError([customIssue(page.message, ['url'])]);
  return page.url;
}
