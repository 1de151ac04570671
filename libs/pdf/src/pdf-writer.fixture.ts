/** Writes small PDFs by hand: texts, lines and images at places, and broken files. */
import { deflateSync } from 'node:zlib';

export interface PutText {
  x: number;
  /** From the top, in points. */
  y: number;
  text: string;
  size?: number;
  font?: keyof typeof FONTS;
}

export interface PageContent {
  texts?: PutText[];
  /** [x0, y0, x1, y1], from the top. */
  lines?: [number, number, number, number][];
  /** A gray image over the whole page. */
  scan?: { width: number; height: number; gray: (x: number, y: number) => number };
  link?: { box: [number, number, number, number]; url: string };
}

const FONTS = {
  roman: 'Times-Roman',
  bold: 'Times-Bold',
  italic: 'Times-Italic',
  mono: 'Courier',
} as const;

export const WIDTH = 600;
export const HEIGHT = 800;

/** Objects of a file: texts, or a stream behind a dictionary. */
export type PdfObject = string | { dictionary: string; data: Buffer };

export function writeObjects(objects: readonly PdfObject[], trailer = ''): Buffer {
  const chunks: Buffer[] = [Buffer.from('%PDF-1.7\n')];
  const offsets: number[] = [];
  let length = chunks[0]!.length;
  const put = (chunk: Buffer | string) => {
    const bytes = Buffer.from(chunk as string, 'latin1');
    chunks.push(bytes);
    length += bytes.length;
  };
  for (const [i, object] of objects.entries()) {
    offsets.push(length);
    put(`${i + 1} 0 obj\n`);
    if (typeof object === 'string') put(object);
    else {
      put(`<< /Length ${object.data.length} ${object.dictionary} >>\nstream\n`);
      put(object.data);
      put('\nendstream');
    }
    put('\nendobj\n');
  }
  const start = length;
  put(`xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`);
  for (const offset of offsets) put(`${String(offset).padStart(10, '0')} 00000 n \n`);
  put(`trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${start}\n%%EOF\n`);
  return Buffer.concat(chunks);
}

export function deflated(data: Buffer | string, dictionary = ''): PdfObject {
  return { dictionary: `/Filter /FlateDecode ${dictionary}`, data: deflateSync(Buffer.from(data as string, 'latin1')) };
}

/** @param info entries of the Info dictionary, such as `/Title (A)` */
export function writePdf(pages: readonly PageContent[], info = ''): Buffer {
  const fontNames = Object.values(FONTS);
  const firstPage = 4 + fontNames.length;
  const objects: PdfObject[] = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((_, i) => `${firstPage + i * 4} 0 R`).join(' ')}] >>`,
    `<< ${info} >>`,
    ...fontNames.map((name) => `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`),
  ];
  const fonts = Object.keys(FONTS).map((key, i) => `/${key} ${4 + i} 0 R`);
  for (const [i, page] of pages.entries()) {
    const id = firstPage + i * 4;
    const annots = page.link === undefined ? '' : `/Annots [${id + 3} 0 R]`;
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${WIDTH} ${HEIGHT}] /Contents ${id + 1} 0 R ${annots} ` +
        `/Resources << /Font << ${fonts.join(' ')} >> /XObject << /Scan ${id + 2} 0 R >> >> >>`,
      deflated(contentOf(page)),
      imageOf(page.scan),
      linkOf(page.link),
    );
  }
  return writeObjects(objects, '/Info 3 0 R');
}

function contentOf({ texts = [], lines = [], scan }: PageContent): string {
  const image = scan === undefined ? '' : `q ${WIDTH} 0 0 ${HEIGHT} 0 0 cm /Scan Do Q\n`;
  const drawn = lines.map(([x0, y0, x1, y1]) => `${x0} ${HEIGHT - y0} m ${x1} ${HEIGHT - y1} l S`);
  const written = texts.map(({ x, y, text, size = 10, font = 'roman' }) => {
    const escaped = text.replace(/[\\()]/g, '\\$&');
    return `BT /${font} ${size} Tf 1 0 0 1 ${x} ${HEIGHT - y} Tm (${escaped}) Tj ET`;
  });
  return `${image}0.5 w\n${drawn.join('\n')}\n${written.join('\n')}\n`;
}

function imageOf(scan: PageContent['scan']): PdfObject {
  if (scan === undefined) return 'null';
  const { width, height, gray } = scan;
  const data = Buffer.alloc(width * height);
  for (let i = 0; i < data.length; i++) data[i] = gray(i % width, Math.floor(i / width));
  return deflated(
    data,
    `/Type /XObject /Subtype /Image /Width ${width} /Height ${height} /ColorSpace /DeviceGray /BitsPerComponent 8`,
  );
}

function linkOf(link: PageContent['link']): PdfObject {
  if (link === undefined) return 'null';
  const [x0, y0, x1, y1] = link.box;
  const rect = `[${x0} ${HEIGHT - y1} ${x1} ${HEIGHT - y0}]`;
  return `<< /Type /Annot /Subtype /Link /Rect ${rect} /A << /S /URI /URI (${link.url}) >> >>`;
}

/** Lines of one paragraph, 12 points apart. */
export function paragraph(x: number, y: number, lines: readonly string[]): PutText[] {
  return lines.map((text, i) => ({ x, y: y + i * 12, text }));
}
