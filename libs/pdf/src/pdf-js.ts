/**
 * The library pdf.js, set up for a thread that reads hostile files: no code from strings, no network, no drawing.
 *
 * Without a canvas the library wants three classes of browsers to exist. It only draws with them, which is never asked of it here.
 */
import { createRequire } from 'node:module';
import path from 'node:path';
import type * as PdfJsModule from 'pdfjs-dist/legacy/build/pdf.mjs';
import type { PDFDocumentLoadingTask, PDFDocumentProxy, PDFPageProxy } from 'pdfjs-dist/types/src/display/api.js';

export type PdfFile = PDFDocumentProxy;
export type PdfPage = PDFPageProxy;
export type PdfJs = typeof PdfJsModule;

const FOLDER = path.dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json'));
const CANVAS_CLASSES = ['DOMMatrix', 'ImageData', 'Path2D'];

let loaded: Promise<PdfJs> | undefined;

export function loadPdfJs(): Promise<PdfJs> {
  loaded ??= importPdfJs();
  return loaded;
}

async function importPdfJs(): Promise<PdfJs> {
  const world = globalThis as Record<string, unknown>;
  for (const name of CANVAS_CLASSES) world[name] ??= class {};
  // Found there by the library, which then works in this thread instead of starting one of its own.
  const workerModule = 'pdfjs-dist/legacy/build/pdf.worker.mjs';
  world.pdfjsWorker = await import(workerModule);
  return import('pdfjs-dist/legacy/build/pdf.mjs');
}

/** Pixels of the largest image that is decoded: A4 at 600 dpi. */
const MAX_IMAGE_PIXELS = 36_000_000;

/**
 * Begins to open a file.
 * @param body copied, the library keeps what it is given
 * @param withImages false: no image is decoded, which is most of the work on a page that has some
 */
export function startOpening(pdfJs: PdfJs, body: Uint8Array, withImages: boolean): PDFDocumentLoadingTask {
  return pdfJs.getDocument({
    data: new Uint8Array(body),
    isEvalSupported: false,
    verbosity: 0,
    disableFontFace: true,
    useSystemFonts: false,
    useWorkerFetch: false,
    isOffscreenCanvasSupported: false,
    isImageDecoderSupported: false,
    enableXfa: false,
    stopAtErrors: false,
    maxImageSize: withImages ? MAX_IMAGE_PIXELS : 1,
    cMapUrl: `${FOLDER}/cmaps/`,
    cMapPacked: true,
    standardFontDataUrl: `${FOLDER}/standard_fonts/`,
    wasmUrl: `${FOLDER}/wasm/`,
    iccUrl: `${FOLDER}/iccs/`,
  });
}
