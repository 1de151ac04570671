import { Inject, Injectable } from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { CONFIG } from '@troupe/service';
import { type Caller } from '../../auth/caller.js';
import { SearchService, type SearchAnswer } from '../../search/search.service.js';
import { type ReadBody } from '../validation/read-body.js';
import { refuseModelFormats, refuseZeroDataRetention } from './refusals.js';
import { type SearchDto } from './search.dto.js';
import { searchSpecFromV2, searchWarnings } from './search.mapper.js';

@Injectable()
export class SearchCall {
  constructor(
    private readonly searches: SearchService,
    @Inject(CONFIG) private readonly config: Readonly<TroupeConfig>,
  ) {}

  /** The answer before it is written, for either version. */
  async answer(caller: Caller, { body, warnings }: ReadBody<SearchDto>, signal: AbortSignal): Promise<SearchAnswer> {
    refuseModelFormats(body.scrapeOptions?.formats, ['scrapeOptions'], { caller, config: this.config });
    const spec = searchSpecFromV2(body, this.config);
    refuseZeroDataRetention(body.scrapeOptions?.zeroDataRetention, caller);
    const answer = await this.searches.search(caller, spec, signal);
    return { ...answer, warnings: [...answer.warnings, ...searchWarnings(body), ...warnings] };
  }
}
