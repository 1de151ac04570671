/** Files that are damaged, locked or made to harm. */
import { describe, expect, it } from '@jest/globals';
import { DEFAULT_PDF, type DocumentContent, type Ocr, type ParsersSpec, PLAIN_PAGE } from '@troupe/contracts';
import { zipSync } from 'fflate';
import { documentKindOf, type DocumentKind } from './document-kind.js';
import { readDocument } from './read-document.js';

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'latin1'));
const kindOf = (body: Uint8Array, contentType: string | null = null, url = 'http://site.test/x'): DocumentKind | null =>
  documentKindOf({ body, contentType, url });
const archive = (members: Record<string, string>): Uint8Array =>
  zipSync(Object.fromEntries(Object.entries(members).map(([name, text]) => [name, Buffer.from(text)])));

async function read(
  body: Uint8Array,
  options: { parsers?: Partial<ParsersSpec>; ocr?: Ocr } = {},
): Promise<DocumentContent | null> {
  const kind = kindOf(body);
  if (kind === null) throw new Error('not recognised');
  const parsers = { ...PLAIN_PAGE.parsers, ...options.parsers, pdf: DEFAULT_PDF };
  const text = (): string => Buffer.from(body).toString('utf8');
  return readDocument({ kind, body, text, parsers, timeoutMs: 30_000, ocr: options.ocr ?? null });
}

const WORKBOOK = {
  '[Content_Types].xml': '<Types/>',
  'xl/workbook.xml': '<workbook xmlns:r="r"><sheets><sheet name="S" r:id="r1"/></sheets></workbook>',
  'xl/_rels/workbook.xml.rels':
    '<Relationships><Relationship Id="r1" Type="x/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
};
const ENTITIES =
  '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><workbook><sheets>&b;</sheets></workbook>';
const WORD = { '[Content_Types].xml': '<Types/>', 'word/document.xml': '<a>' };
const utf16 = (text: string): string => Buffer.from(text, 'utf16le').toString('latin1');
const OLE = '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1';

describe('a hostile file', () => {
  it.each<[string, Uint8Array, RegExp]>([
    ['packed a thousandfold', zipSync({ 'word/document.xml': Buffer.alloc(20_000_000) }), /packs|256 MB/],
    ['cut off', archive(WORD).subarray(0, 60), /damaged/],
    ['whose XML does not end', archive(WORD), /damaged/],
    ['whose workbook defines entities', archive({ ...WORKBOOK, 'xl/workbook.xml': ENTITIES }), /entity/],
    [
      'nested a thousand deep',
      archive({ ...WORKBOOK, 'xl/workbook.xml': '<a>'.repeat(1000) + '</a>'.repeat(1000) }),
      /nested deeper/,
    ],
    ['of RTF groups a thousand deep', bytes(`{\\rtf1 ${'{'.repeat(1000)}`), /nested deeper/],
    ['with a binary workbook', archive({ '[Content_Types].xml': '<Types/>', 'xl/workbook.bin': 'x' }), /xlsb.*xlsx/],
    ['that is encrypted', bytes(OLE + utf16('EncryptedPackage')), /encrypted/],
    ['of old Word', bytes(OLE + utf16('WordDocument')), /\.doc\).*docx/],
    ['of old Excel', bytes(OLE + utf16('Workbook')), /\.xls\).*xlsx/],
    ['of old PowerPoint', bytes(OLE + utf16('PowerPoint Document')), /\.ppt\).*pptx/],
    [
      'of OpenDocument that is encrypted',
      archive({
        mimetype: 'application/vnd.oasis.opendocument.text',
        'META-INF/manifest.xml': '<manifest><file-entry><encryption-data/></file-entry></manifest>',
        'content.xml': 'noise',
      }),
      /encrypted/,
    ],
  ])('%s ends with a sentence', async (_what, body, says) => {
    await expect(read(body)).rejects.toMatchObject({
      code: 'SCRAPE_UNSUPPORTED_FILE_ERROR',
      message: expect.stringMatching(says) as unknown,
    });
  });

  it('with a million rows is cut, and says so', async () => {
    const rows = Array.from({ length: 60_000 }, (_, i) => `<row><c><v>${i}</v></c><c><v>2</v></c></row>`).join('');
    const sheet = `<worksheet><sheetData>${rows}</sheetData></worksheet>`;
    const content = await read(archive({ ...WORKBOOK, 'xl/worksheets/sheet1.xml': sheet }));
    expect(content?.warning).toMatch(/rows beyond 50000/);
    expect(content?.parts[0]?.match(/<tr>/g)).toHaveLength(50_000);
  });

  it('with one cell in the last corner and everything merged costs no more than its cells', async () => {
    const sheet =
      '<worksheet><sheetData><row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row></sheetData>' +
      '<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells></worksheet>';
    const content = await read(archive({ ...WORKBOOK, 'xl/worksheets/sheet1.xml': sheet }));
    expect(content?.parts[0]?.length).toBeLessThan(200);
  });

  it('that is an archive of something else is no document', async () => {
    await expect(read(archive({ 'photos/a.jpg': 'x' }))).resolves.toBeNull();
  });
});

describe('the kind of a file', () => {
  it.each<[string, string | null, string, DocumentKind | null]>([
    ['%PDF-1.7', 'text/html', 'http://a.test/', 'pdf'],
    ['junk\n%PDF-1.4', 'application/pdf', 'http://a.test/', 'pdf'],
    ['<html>about %PDF-1.4', 'text/html', 'http://a.test/x.pdf', null],
    ['{\\rtf1', 'application/msword', 'http://a.test/', 'rtf'],
    ['a;b\n1;2', 'text/csv', 'http://a.test/', 'csv'],
    ['a\tb', 'application/octet-stream', 'http://a.test/table.TSV?x=1', 'csv'],
    ['a,b', 'text/html', 'http://a.test/table.csv', null],
    ['<?xml version="1.0"?>\n<!-- c -->\n<rss version="2.0">', 'text/xml', 'http://a.test/', 'feed'],
    ['<feed xmlns="http://www.w3.org/2005/Atom">', 'application/octet-stream', 'http://a.test/', 'feed'],
    ['<?xml version="1.0"?><urlset>', 'application/xml', 'http://a.test/', null],
    ['<!doctype html><p>x', 'text/html', 'http://a.test/', null],
    ['\x89PNG\r\n\x1a\n', 'text/html', 'http://a.test/', 'image'],
    ['\x00\x01\x02', 'text/csv', 'http://a.test/a.csv', null],
  ])('of %j sent as %s from %s is %s', (head, contentType, url, kind) => {
    expect(kindOf(bytes(head), contentType, url)).toBe(kind);
  });
});

describe('a picture', () => {
  const png = bytes('\x89PNG\r\n\x1a\n');
  const ocr: Ocr = { recognise: () => Promise.resolve('First <line>\n\nSecond') };

  it('is read only when that is asked for and possible', async () => {
    const refusal = { code: 'SCRAPE_UNSUPPORTED_FILE_ERROR' };
    await expect(read(png, { ocr })).rejects.toMatchObject(refusal);
    await expect(read(png, { parsers: { image: true } })).rejects.toMatchObject(refusal);
    const content = await read(png, { parsers: { image: true }, ocr });
    expect(content).toMatchObject({
      parts: ['<p>First &lt;line&gt;</p>\n<p>Second</p>'],
      pages: { read: 1, total: 1 },
    });
  });
});

describe('a feed', () => {
  it('lists its entries with links, dates and texts, and is no document when it is not well-formed', async () => {
    const item =
      '<item><title>One &amp; two</title><link>http://a.test/1</link><pubDate>Mon</pubDate><description>&lt;p&gt;Hi&lt;/p&gt;</description></item>';
    const content = await read(bytes(`<rss><channel><title>News</title>${item}</channel></rss>`));
    expect(content?.title).toBe('News');
    expect(content?.parts[0]?.replaceAll('\n', '')).toBe(
      '<h1>News</h1><h2><a href="http://a.test/1">One &amp; two</a></h2><p><em>Mon</em></p><div><p>Hi</p></div>',
    );
    await expect(read(bytes('<rss><channel><item>'))).resolves.toBeNull();
  });
});
