import { latin1 } from './charset.js';

/** The kind of text of a body, by its declared type and its first bytes. */
export type ContentKind = 'html' | 'json' | 'xml' | 'text' | 'binary';

const SNIFF_BYTES = 1024;
const HTML_TYPES: ReadonlySet<string> = new Set([
  'text/html',
  'application/xhtml+xml',
  'application/vnd.wap.xhtml+xml',
]);
const TEXT_TYPES: ReadonlySet<string> = new Set([
  'application/javascript',
  'application/x-javascript',
  'application/ecmascript',
  'application/yaml',
  'application/x-yaml',
  'application/toml',
  'application/x-sh',
  'application/sql',
  'application/x-ndjson',
]);
const UNDECLARED: ReadonlySet<string> = new Set([
  '',
  'application/octet-stream',
  'application/x-unknown',
  '*/*',
  'unknown/unknown',
]);
const MAGIC = [
  '%PDF-',
  '\x89PNG',
  'GIF8',
  '\xff\xd8\xff',
  'PK\x03\x04',
  '\x1f\x8b',
  'RIFF',
  'OggS',
  '\x7fELF',
  'Rar!',
  '7z\xbc\xaf',
  'wOFF',
  'wOF2',
];

export function kindOfContent(contentType: string | null, body: Uint8Array): ContentKind {
  const type = (contentType ?? '').split(';', 1)[0]!.trim().toLowerCase();
  const head = latin1(body.subarray(0, SNIFF_BYTES));
  if (isBinary(head)) return 'binary';
  if (HTML_TYPES.has(type)) return 'html';
  if (type === 'application/json' || type === 'text/json' || type.endsWith('+json')) return 'json';
  if (type === 'application/xml' || type === 'text/xml' || type.endsWith('+xml'))
    return looksLikeHtml(head) ? 'html' : 'xml';
  if (type.startsWith('text/') || TEXT_TYPES.has(type)) return 'text';
  if (!UNDECLARED.has(type) && type.includes('/')) return 'binary';
  return sniff(head);
}

/** Known file signatures, or NUL bytes outside UTF-16. */
function isBinary(head: string): boolean {
  if (MAGIC.some((magic) => head.startsWith(magic))) return true;
  return !isUtf16(head) && head.includes('\0');
}

function isUtf16(head: string): boolean {
  return head.startsWith('\xfe\xff') || head.startsWith('\xff\xfe');
}

function looksLikeHtml(head: string): boolean {
  return /<(?:!doctype\s+html|html|head|body)[\s>]/i.test(head);
}

/** Bytes that no text holds (WHATWG MIME sniffing). */
const BINARY_BYTES = /[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]/;

function sniff(head: string): ContentKind {
  if (!isUtf16(head) && BINARY_BYTES.test(head)) return 'binary';
  const text = head.replace(/^\xef\xbb\xbf/, '').trimStart();
  if (looksLikeHtml(text)) return 'html';
  if (text.startsWith('<?xml')) return 'xml';
  if (text.startsWith('<')) return 'html';
  if (/^[{[]/.test(text)) return 'json';
  return text === '' ? 'html' : 'text';
}
