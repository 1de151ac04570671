import { NestedField } from '../validation/fields.js';
import { ScrapeOptionsDto } from '../v2/scrape-options.dto.js';
import { SearchWordsDto } from '../v2/search.dto.js';

/** Body of `POST /v1/search`: only the web is searched. */
export class SearchV1Dto extends SearchWordsDto {
  @NestedField(() => ScrapeOptionsDto) scrapeOptions?: ScrapeOptionsDto;
}
