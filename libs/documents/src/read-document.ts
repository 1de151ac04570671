/** Chooses the reader for a kind of document. Each is loaded with its parsers when its first file comes. */
import {
  type DocumentContent,
  type Ocr,
  type ParsersSpec,
  type PdfSpec,
  readingFile,
  TroupeError,
  unreadable,
} from '@troupe/contracts';
import { kindOfArchive, refuseOle, type DocumentKind } from './document-kind.js';
import { escapeHtml } from '@troupe/html';
import { ZipArchive } from './zip-archive.js';

export interface DocumentReading {
  kind: DocumentKind;
  body: Uint8Array;
  /** The body decoded, for kinds that are text. */
  text(): string;
  parsers: ParsersSpec & { pdf: PdfSpec };
  timeoutMs: number;
  ocr: Ocr | null;
}

/**
 * null for a body that turns out to be no document: an archive of something else, a feed that is not well-formed.
 *
 * @throws TroupeError SCRAPE_UNSUPPORTED_FILE_ERROR (damaged, encrypted, hostile, or a kind that cannot be read),
 * SCRAPE_PDF_*
 */
export async function readDocument(reading: DocumentReading): Promise<DocumentContent | null> {
  const { kind, body, parsers, timeoutMs, ocr } = reading;
  switch (kind) {
    case 'pdf':
      return (await import('@troupe/pdf')).readPdf(body, parsers.pdf, { timeoutMs, ocr });
    case 'csv':
      return readingFile('table', async () => (await import('./csv.js')).readCsv(reading.text()));
    case 'feed':
      return (await import('./feed.js')).readFeed(reading.text());
    case 'rtf':
      return readingFile('RTF document', async () => (await import('./rtf.js')).readRtf(body));
    case 'image':
      return readImage(body, parsers, ocr);
    case 'ole':
      throw refuseOle(body);
    default:
      return readArchive(body);
  }
}

async function readArchive(body: Uint8Array): Promise<DocumentContent | null> {
  const archive = await readingFile('archive', () => ZipArchive.open(body));
  const kind = await readingFile('archive', () => kindOfArchive(archive));
  switch (kind) {
    case 'docx':
      return readingFile('Word document', async () => (await import('./office/docx.js')).readDocx(archive));
    case 'xlsx':
      return readingFile('Excel workbook', async () => (await import('./office/xlsx.js')).readXlsx(archive));
    case 'pptx':
      return readingFile('PowerPoint presentation', async () => (await import('./office/pptx.js')).readPptx(archive));
    case 'odt':
    case 'ods':
    case 'odp':
      return readingFile('OpenDocument file', async () => (await import('./office/odf.js')).readOdf(archive, kind));
    case 'epub':
      return readingFile('book', async () => (await import('./epub.js')).readEpub(archive));
    default:
      return null;
  }
}

/** A document of one page. */
async function readImage(body: Uint8Array, parsers: ParsersSpec, ocr: Ocr | null): Promise<DocumentContent> {
  if (!parsers.image) throw unreadable('Images are read with the parser "image" only');
  if (ocr === null) throw unreadable('Images cannot be read: no engine for text recognition is configured here');
  const text = await ocr.recognise(body);
  const paragraphs = text.split(/\n\s*\n/).map((paragraph) => paragraph.trim());
  const html = paragraphs.filter((one) => one !== '').map((one) => `<p>${escapeHtml(one)}</p>`);
  return { parts: [html.join('\n')], title: null, metadata: {}, pages: { read: 1, total: 1 }, warning: null };
}

/** Kinds that come back as they are when no parser is wanted: a text needs none. */
export function isBinaryDocument(kind: DocumentKind): boolean {
  return kind !== 'csv' && kind !== 'feed';
}

export function tooLargeToReturn(bytes: number, limit: number): TroupeError {
  return new TroupeError(
    'SCRAPE_BODY_TOO_LARGE',
    `The file has ${bytes} bytes: without a parser at most ${limit} are returned`,
  );
}
