import { NestedField } from '../validation/fields.js';
import { SearchWordsDto } from '../v2/search.dto.js';
import { ScrapeOptionsV1Dto } from './scrape-options.dto.js';

/** Body of `POST /v1/search`: only the web is searched. */
export class SearchV1Dto extends SearchWordsDto {
  @NestedField(() => ScrapeOptionsV1Dto) scrapeOptions?: ScrapeOptionsV1Dto;
}
