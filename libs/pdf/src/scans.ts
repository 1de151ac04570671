/** Scanned pages: the images that cover a page, put together as one picture for the recognition of text. */
import { escapeHtml } from '@troupe/html';
import type { Raster } from '@troupe/contracts';
import { boxThrough, invert, type Matrix } from './geometry.js';
import type { PdfJs, PdfPage } from './pdf-js.js';
import { readPainted, type PaintedImage } from './rules.js';

/** Pixels of the longer side of the picture: A4 at about 300 dpi. */
const MAX_SIDE = 3500;
const MIN_SCALE = 1;
const MAX_SCALE = 4.2;
/** Images of a page beyond this are not looked at. */
const MAX_IMAGES = 500;

interface Pixels {
  width: number;
  height: number;
  /** 1: one bit a pixel, rows padded to bytes; 2: three bytes; 3: four bytes; absent: a mask, one bit, 0 is ink. */
  kind?: number;
  data: Uint8Array | Uint8ClampedArray;
}

/** null: the page has no image whose pixels can be had. */
export async function pagePicture(pdfJs: PdfJs, page: PdfPage): Promise<Raster | null> {
  const viewport = page.getViewport({ scale: 1 });
  const list = await page.getOperatorList();
  const { images } = readPainted(pdfJs, list, viewport.transform as unknown as Matrix);
  const found: { matrix: Matrix; pixels: Pixels }[] = [];
  for (const { matrix, source } of images.slice(0, MAX_IMAGES)) {
    const pixels = await pixelsOf(page, source);
    if (pixels !== null) found.push({ matrix, pixels });
  }
  if (found.length === 0) return null;
  const scale = pictureScale(found, Math.max(viewport.width, viewport.height));
  const width = Math.max(1, Math.round(viewport.width * scale));
  const height = Math.max(1, Math.round(viewport.height * scale));
  const raster = { width, height, rgba: new Uint8Array(width * height * 4).fill(255) };
  for (const { matrix, pixels } of found) paint(raster, pixels, { matrix, scale });
  return raster;
}

async function pixelsOf(page: PdfPage, source: PaintedImage['source']): Promise<Pixels | null> {
  const object = typeof source === 'string' ? await namedObject(page, source) : source;
  const pixels = object as Partial<Pixels> | null;
  const isWhole = pixels?.data !== undefined && pixels.width !== undefined && pixels.height !== undefined;
  return isWhole ? (pixels as Pixels) : null;
}

/** Pixels arrive after the list that names them; null when they could not be decoded. */
async function namedObject(page: PdfPage, name: string): Promise<unknown> {
  const store = name.startsWith('g_') ? page.commonObjs : page.objs;
  return new Promise((resolve) => void store.get(name, resolve));
}

/** Pixels a point: as fine as the finest large image. */
function pictureScale(found: readonly { matrix: Matrix; pixels: Pixels }[], longSide: number): number {
  const finest = Math.max(
    ...found.map(({ matrix, pixels }) => pixels.width / Math.max(1, Math.hypot(matrix[0], matrix[1]))),
  );
  return Math.min(MAX_SCALE, MAX_SIDE / longSide, Math.max(MIN_SCALE, finest));
}

/** Each pixel of the picture takes the nearest one of the image. */
function paint(raster: Raster, pixels: Pixels, { matrix, scale }: { matrix: Matrix; scale: number }): void {
  const inverse = invert(matrix);
  if (inverse === null) return;
  const box = boxThrough(matrix, { x0: 0, y0: 0, x1: 1, y1: 1 });
  const x1 = Math.min(raster.width, Math.ceil(box.x1 * scale));
  const y1 = Math.min(raster.height, Math.ceil(box.y1 * scale));
  const read = pixelReader(pixels);
  for (let y = Math.max(0, Math.floor(box.y0 * scale)); y < y1; y++) {
    for (let x = Math.max(0, Math.floor(box.x0 * scale)); x < x1; x++) {
      const px = (x + 0.5) / scale;
      const py = (y + 0.5) / scale;
      const u = inverse[0] * px + inverse[2] * py + inverse[4];
      const v = inverse[1] * px + inverse[3] * py + inverse[5];
      if (u < 0 || u >= 1 || v < 0 || v >= 1) continue;
      // The image's first row lies at the top of the unit square, where v is 1.
      read(Math.floor(u * pixels.width), Math.floor((1 - v) * pixels.height), raster.rgba, (y * raster.width + x) * 4);
    }
  }
}

type ReadPixel = (x: number, y: number, out: Uint8Array, at: number) => void;

function pixelReader({ width, height, kind, data }: Pixels): ReadPixel {
  const row = (y: number) => Math.min(height - 1, y);
  if (kind === 2 || kind === 3) {
    const bytes = kind === 2 ? 3 : 4;
    return (x, y, out, at) => {
      const from = (row(y) * width + x) * bytes;
      for (let i = 0; i < 3; i++) out[at + i] = data[from + i] ?? 255;
    };
  }
  const rowBytes = (width + 7) >> 3;
  return (x, y, out, at) => {
    const bit = ((data[row(y) * rowBytes + (x >> 3)] ?? 255) >> (7 - (x & 7))) & 1;
    for (let i = 0; i < 3; i++) out[at + i] = bit === 1 ? 255 : 0;
  };
}

/** Recognised text, paragraphs parted by blank lines, as HTML. */
export function recognisedHtml(text: string): string {
  return text
    .split(/\n\s*\n/)
    .map((paragraph) =>
      paragraph
        .replace(/(\p{L})-\n(\p{Ll})/gu, '$1$2')
        .replace(/\s+/g, ' ')
        .trim(),
    )
    .filter((paragraph) => paragraph !== '')
    .map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`)
    .join('\n');
}
