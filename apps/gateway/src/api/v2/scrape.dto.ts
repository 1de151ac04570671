import { Field } from '../validation/fields.js';
import { invalidUrl, wrongType, type Issue } from '../validation/issue.js';
import { MAX_URL_CHARS, readPageUrl } from '../validation/page-url.js';
import { ScrapeOptionsDto } from './scrape-options.dto.js';

/** A required page address (docs/api/README.md). */
export function UrlField(): PropertyDecorator {
  return Field(urlIssues, { required: true, schema: { type: 'string', maxLength: MAX_URL_CHARS } });
}

function urlIssues(value: unknown): Issue[] {
  if (typeof value !== 'string') return [wrongType('string', value)];
  const page = readPageUrl(value);
  return page.ok ? [] : [invalidUrl(page.message)];
}

/** Body of `POST /v2/scrape`. */
export class ScrapeDto extends ScrapeOptionsDto {
  @UrlField() url!: string;
}
