/** The kind of a body, by its first bytes, its contents, its declared type and its address: each of them may lie. */
import { TroupeError } from '@troupe/contracts';
import type { OdfKind } from './office/odf.js';
import { decodeXml } from './xml.js';
import { type ZipArchive } from './zip-archive.js';

export type DocumentKind =
  | 'pdf'
  | 'docx'
  | 'xlsx'
  | 'pptx'
  | OdfKind
  | 'epub'
  | 'rtf'
  | 'csv'
  | 'feed'
  | 'image'
  /** Containers of the old office formats and of encrypted new ones. */
  | 'ole'
  /** An archive whose members say more. */
  | 'zip';

export interface DocumentSource {
  body: Uint8Array;
  /** `Content-Type` as received. */
  contentType: string | null;
  url: string;
}

const HEAD_BYTES = 1024;
const OLE = '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1';
const PICTURE = /^(\x89PNG\r\n|\xff\xd8\xff|GIF8|BM.{4}\0\0\0\0|RIFF.{4}WEBP|II\*\0|MM\0\*)/s;
const FEED_ROOT =
  /^(?:\xef\xbb\xbf)?\s{0,100}(?:<\?xml[^>]{0,300}\?>)?(?:\s{0,100}(?:<!--.{0,600}?-->|<\?xml-stylesheet[^>]{0,300}\?>|<!DOCTYPE rss[^>]{0,200}>)){0,5}\s{0,100}<(?:rss|feed|rdf:RDF)[\s>]/is;
const CSV_TYPES = new Set([
  'text/csv',
  'application/csv',
  'text/x-csv',
  'application/x-csv',
  'text/comma-separated-values',
  'text/tab-separated-values',
]);
/** Types under which servers send tables of text whose name ends in `.csv` or `.tsv`. */
const CSV_BY_NAME = new Set([
  '',
  'text/plain',
  'application/octet-stream',
  'application/vnd.ms-excel',
  'application/download',
  'application/force-download',
  'binary/octet-stream',
]);

/** Told by a glance at the head; null: a page, text, or a file without a reader. Cheap enough for every page. */
export function documentKindOf({ body, contentType, url }: DocumentSource): DocumentKind | null {
  const head = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, HEAD_BYTES)).toString('latin1');
  const type = mediaType(contentType);
  if (isPdf(head, type)) return 'pdf';
  if (head.startsWith('PK\x03\x04')) return 'zip';
  if (head.startsWith('{\\rtf')) return 'rtf';
  if (head.startsWith(OLE)) return 'ole';
  if (PICTURE.test(head)) return 'image';
  if (head.includes('\0') && !/^(\xff\xfe|\xfe\xff)/.test(head)) return null;
  if (CSV_TYPES.has(type)) return 'csv';
  if (CSV_BY_NAME.has(type) && /\.[ct]sv$/i.test(URL.parse(url)?.pathname ?? '')) return 'csv';
  return type !== 'text/plain' && FEED_ROOT.test(head) ? 'feed' : null;
}

function mediaType(contentType: string | null): string {
  return (contentType ?? '').split(';', 1)[0]!.trim().toLowerCase();
}

/** Some have a few bytes of something else in front. */
function isPdf(head: string, type: string): boolean {
  return (
    /^(\xef\xbb\xbf)?\s{0,100}%PDF-/.test(head) || (/^application\/(x-)?pdf$/.test(type) && head.includes('%PDF-'))
  );
}

const OPEN_DOCUMENT: Record<string, DocumentKind> = {
  'application/vnd.oasis.opendocument.text': 'odt',
  'application/vnd.oasis.opendocument.text-template': 'odt',
  'application/vnd.oasis.opendocument.spreadsheet': 'ods',
  'application/vnd.oasis.opendocument.spreadsheet-template': 'ods',
  'application/vnd.oasis.opendocument.presentation': 'odp',
  'application/vnd.oasis.opendocument.presentation-template': 'odp',
  'application/epub+zip': 'epub',
};
const MAX_MIMETYPE_BYTES = 200;

/** Kind of the document in an archive; null when it is no document. */
export function kindOfArchive(archive: ZipArchive): DocumentKind | null {
  const declared = archive.size('mimetype') <= MAX_MIMETYPE_BYTES ? archive.read('mimetype') : null;
  const open = declared === null ? undefined : OPEN_DOCUMENT[decodeXml(declared).trim()];
  if (open !== undefined) return open;
  if (!archive.has('[Content_Types].xml')) return archive.has('META-INF/container.xml') ? 'epub' : null;
  if (archive.has('xl/workbook.bin')) throw unsupported('Binary Excel workbooks (.xlsb)', 'xlsx');
  if (archive.names.some((name) => name.startsWith('word/'))) return 'docx';
  if (archive.names.some((name) => name.startsWith('xl/'))) return 'xlsx';
  return archive.names.some((name) => name.startsWith('ppt/')) ? 'pptx' : null;
}

const OLD_FORMATS: [stream: string, what: string, instead: string][] = [
  ['WordDocument', 'Word files of the old format (.doc)', 'docx or pdf'],
  ['PowerPoint Document', 'PowerPoint files of the old format (.ppt)', 'pptx or pdf'],
  ['Workbook', 'Excel files of the old format (.xls)', 'xlsx or csv'],
  ['Book', 'Excel files of the old format (.xls)', 'xlsx or csv'],
];

/** Why an OLE container is not read: its streams tell what it holds. */
export function refuseOle(body: Uint8Array): TroupeError {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const holds = (stream: string): boolean => bytes.includes(Buffer.from(stream, 'utf16le'));
  if (holds('EncryptedPackage')) {
    return new TroupeError('SCRAPE_UNSUPPORTED_FILE_ERROR', 'The document is encrypted with a password');
  }
  const [, what, instead] = OLD_FORMATS.find(([stream]) => holds(stream)) ?? ['', 'Files of this old format', 'pdf'];
  return unsupported(what, instead);
}

function unsupported(what: string, instead: string): TroupeError {
  return new TroupeError('SCRAPE_UNSUPPORTED_FILE_ERROR', `${what} cannot be read: offer the document as ${instead}`);
}
