import { type SearchAnswer, type SearchResult } from '../../jobs/search.service.js';
import { itemsOf } from '../v2/search.mapper.js';

/** A flat list in v1. */
export function* searchAnswerToV1({ results, warnings }: SearchAnswer): Generator<Uint8Array | string> {
  yield '{"success":true,"data":[';
  yield* itemsOf(results.get('web') ?? [], itemToV1);
  yield warnings.length === 0 ? ']}' : `],"warning":${JSON.stringify(warnings.join(' '))}}`;
}

function itemToV1({ url, title, text }: SearchResult): object {
  return { url, title, description: text };
}
