/** Files that are no web pages: read into parts of HTML, which become formats as any page does. */
import { convertDocument, convertPage, decodeBody, returnFile, type PageRules } from '@troupe/content';
import { DEFAULT_PDF, type ConvertRequest, type ConvertResult, type Ocr } from '@troupe/contracts';
import { isBinaryDocument, readDocument, tooLargeToReturn, type DocumentKind } from '@troupe/documents';

/** Files that come back in base64: more is of no use in an answer. */
const MAX_RETURNED_BYTES = 50 * 1024 * 1024;
/** Share of the time that is kept for writing the formats once the file has been read, and for saying why it was not. */
const WRITE_SHARE = 0.1;

/** @throws TroupeError what `readDocument` and `convertDocument` throw, SCRAPE_BODY_TOO_LARGE */
export async function convertFile(
  request: ConvertRequest,
  kind: DocumentKind,
  { rules, ocr }: { rules: PageRules; ocr: Ocr | null },
): Promise<ConvertResult> {
  const { body, spec, contentType, timeoutMs } = request;
  const { pdf, image } = spec.parsers;
  const isRead = pdf !== null || !isBinaryDocument(kind) || (kind === 'image' && image);
  if (!isRead) {
    if (body.byteLength > MAX_RETURNED_BYTES) throw tooLargeToReturn(body.byteLength, MAX_RETURNED_BYTES);
    return returnFile(request);
  }
  const text = (): string => decodeBody(body, contentType);
  const content = await readDocument({
    kind,
    body,
    text,
    parsers: { image, pdf: pdf ?? DEFAULT_PDF },
    timeoutMs: timeoutMs * (1 - WRITE_SHARE),
    ocr,
  });
  if (content === null) return convertPage(request, rules);
  return convertDocument(request, { ...content, text: isBinaryDocument(kind) ? null : text() }, rules);
}
