/** A file's data about itself, under the keys of pages (docs/api/formats.md). */
import type { PdfFile } from './pdf-js.js';

const MAX_LENGTH = 2_000;
/** Names that programs give to files, no titles. */
const NO_TITLE =
  /^(?:untitled.*|about:blank|microsoft (?:word|powerpoint|excel) - .*|document\d*|.*\.(?:docx?|dvi|tex|odt|rtf|indd|qxd|pptx?|xlsx?|ps|html?))$/i;

export interface PdfDescription {
  title: string | null;
  metadata: Record<string, string>;
}

export async function describePdf(file: PdfFile): Promise<PdfDescription> {
  const { info, metadata } = await file.getMetadata().catch(() => ({ info: {}, metadata: null }));
  const fields = info as Record<string, unknown>;
  const xmp = (name: string): string | null => {
    const value: unknown = metadata?.get(name);
    return clean(Array.isArray(value) ? value.join(', ') : value);
  };
  const title = [xmp('dc:title'), clean(fields.Title)].find((name) => name !== null && !NO_TITLE.test(name)) ?? null;
  const found: Record<string, string | null> = {
    author: clean(fields.Author) ?? xmp('dc:creator'),
    description: clean(fields.Subject) ?? xmp('dc:description'),
    keywords: clean(fields.Keywords) ?? xmp('pdf:keywords'),
    language: clean(fields.Language) ?? xmp('dc:language'),
    dcDateCreated: pdfDate(fields.CreationDate) ?? isoDate(xmp('xmp:createdate')),
    modifiedTime: pdfDate(fields.ModDate) ?? isoDate(xmp('xmp:modifydate')),
  };
  const known = Object.entries(found).filter((entry): entry is [string, string] => entry[1] !== null);
  return { title, metadata: Object.fromEntries(known) };
}

function clean(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const text = value
    .replace(/[\u0000-\u001f\s]+/g, ' ')
    .trim()
    .slice(0, MAX_LENGTH);
  return text === '' ? null : text;
}

const PDF_DATE = /^D?:?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:Z|([+-])(\d\d)'?(\d\d)?)?/;

/** "D:20230120164927+01'00'" in the form of ISO 8601; null: no date. */
export function pdfDate(value: unknown): string | null {
  const match = typeof value === 'string' ? PDF_DATE.exec(value) : null;
  if (match === null) return null;
  const [
    ,
    year,
    month = '01',
    day = '01',
    hour = '00',
    minute = '00',
    second = '00',
    sign,
    zoneHour,
    zoneMinute = '00',
  ] = match;
  const zone = sign === undefined ? 'Z' : `${sign}${zoneHour}:${zoneMinute}`;
  return isoDate(`${year}-${month}-${day}T${hour}:${minute}:${second}${zone}`);
}

function isoDate(value: string | null): string | null {
  const time = value === null ? NaN : Date.parse(value);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
