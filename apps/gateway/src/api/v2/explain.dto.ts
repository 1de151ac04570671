import { TextListField } from '../validation/fields.js';
import { CrawlDto } from './crawl.dto.js';

const MAX_URLS = 100;

/** Body of `POST /v2/crawl/explain`: that of a crawl, and the addresses to judge. */
export class ExplainDto extends CrawlDto {
  @TextListField({ required: true, minItems: 1, maxItems: MAX_URLS }) urls!: string[];
}
