import type { ConvertRequest } from '@troupe/contracts';
import { documentKindOf, type DocumentKind } from '@troupe/documents';

/** null: a page, text, or a file without a reader. It is cheap, and stands apart: a process that only asks this loads no reader. */
export function kindOfFile(
  request: Pick<ConvertRequest, 'body' | 'contentType' | 'url' | 'rendered'>,
): DocumentKind | null {
  return request.rendered ? null : documentKindOf(request);
}
