import { type SearchAnswer, type SearchResult } from '../../search/search.service.js';
import { type ReadBody } from '../validation/read-body.js';
import { type SearchDto } from '../v2/search.dto.js';
import { itemsOf, notesOf } from '../v2/search.mapper.js';
import { scrapeOptionsFromV1, scrapeWarningsOf } from './scrape.mapper.js';
import { type SearchV1Dto } from './search.dto.js';

/** Without formats nothing is scraped, in v1 too. */
export function searchFromV1({ body, warnings }: ReadBody<SearchV1Dto>): ReadBody<SearchDto> {
  const { scrapeOptions, ...same } = body;
  const options = scrapeOptions && scrapeOptionsFromV1({ ...scrapeOptions, formats: scrapeOptions.formats ?? [] });
  return {
    body: { ...same, ...(options === undefined ? {} : { scrapeOptions: options }) },
    warnings: [...warnings, ...scrapeWarningsOf(scrapeOptions)],
  };
}

/** A flat list in v1. */
export function* searchAnswerToV1({ results, failures, warnings }: SearchAnswer): Generator<Uint8Array | string> {
  yield '{"success":true,"data":[';
  yield* itemsOf(results.get('web') ?? [], itemToV1);
  yield `]${notesOf({ failures, warnings })}}`;
}

function itemToV1({ url, title, text }: SearchResult): object {
  return { url, title, description: text };
}
