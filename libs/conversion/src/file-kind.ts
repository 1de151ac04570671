import type { ConvertRequest } from '@troupe/contracts';
import { documentKindOf, type DocumentKind } from '@troupe/documents';

/** null: a page, text, or something that nobody reads. Cheap, and apart: who only asks this needs no reader in memory. */
export function kindOfFile(
  request: Pick<ConvertRequest, 'body' | 'contentType' | 'url' | 'rendered'>,
): DocumentKind | null {
  return request.rendered ? null : documentKindOf(request);
}
