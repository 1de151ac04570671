import { type BatchDto } from '../v2/batch.dto.js';
import { type ReadBody } from '../validation/read-body.js';
import { type BatchV1Dto } from './batch.dto.js';
import { scrapeOptionsFromV1, scrapeWarningsOf } from './scrape.mapper.js';

/** v1 is strict about addresses where v2 is lenient. */
export function batchFromV1({ body, warnings }: ReadBody<BatchV1Dto>): ReadBody<BatchDto> {
  return {
    body: { ...scrapeOptionsFromV1(body), ignoreInvalidURLs: body.ignoreInvalidURLs ?? false },
    warnings: [...warnings, ...scrapeWarningsOf(body)],
  };
}
