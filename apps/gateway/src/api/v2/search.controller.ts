import { Body, Controller, HttpCode, Post, Res, UseGuards } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import type { Response } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { clientGone } from '../../http/client-gone.js';
import { sendPieces } from '../../http/send-list.js';
import { SearchService, type SearchAnswer } from '../../search/search.service.js';
import { InjectConfig } from '../../settings.js';
import { BodyPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';
import { refuseModelFormats, refuseZeroDataRetention } from './offer.js';
import { SearchDto } from './search.dto.js';
import { searchAnswerToV2, searchSpecFromV2, searchWarnings } from './search.mapper.js';
import { SearchOfferedGuard } from './search-offered.guard.js';

@Controller('v2/search')
@UseGuards(SearchOfferedGuard)
export class SearchController {
  constructor(
    private readonly searches: SearchService,
    @InjectConfig() private readonly config: Readonly<TroupeConfig>,
  ) {}

  @Post()
  @HttpCode(200)
  async search(
    @AsCaller() caller: Caller,
    @Body(new BodyPipe(SearchDto)) read: ReadBody<SearchDto>,
    @Res() response: Response,
  ): Promise<void> {
    const answer = await this.answer(caller, read, clientGone(response));
    await sendPieces(response, searchAnswerToV2(answer));
  }

  /** The answer before it is written, for either version. */
  async answer(caller: Caller, { body, warnings }: ReadBody<SearchDto>, signal: AbortSignal): Promise<SearchAnswer> {
    refuseModelFormats(body.scrapeOptions?.formats, ['scrapeOptions'], { caller, config: this.config });
    const spec = searchSpecFromV2(body, this.config);
    refuseZeroDataRetention(body.scrapeOptions?.zeroDataRetention, caller);
    const answer = await this.searches.search(caller, spec, signal);
    return { ...answer, warnings: [...answer.warnings, ...searchWarnings(body), ...warnings] };
  }
}
