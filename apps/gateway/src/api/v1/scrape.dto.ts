import { UrlField } from '../v2/scrape.dto.js';
import { ScrapeOptionsV1Dto } from './scrape-options.dto.js';

/** Body of `POST /v1/scrape`. */
export class ScrapeV1Dto extends ScrapeOptionsV1Dto {
  @UrlField() url!: string;
}
