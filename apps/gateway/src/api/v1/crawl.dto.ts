import { SharedCrawlDto } from '../v2/crawl.dto.js';
import { BooleanField, NestedField, NumberField } from '../validation/fields.js';
import { ScrapeOptionsV1Dto } from './scrape-options.dto.js';

/** Body of `POST /v1/crawl`. */
export class CrawlV1Dto extends SharedCrawlDto {
  @NumberField({ min: 0 }) maxDepth?: number;
  @BooleanField() ignoreSitemap?: boolean;
  @BooleanField() allowBackwardLinks?: boolean;
  @NestedField(() => ScrapeOptionsV1Dto) scrapeOptions?: ScrapeOptionsV1Dto;
}
