/**
 * A PDF as HTML, a part for each page.
 *
 * Two passes. First the contents of pages are read from the file one by one, and the file is let go. With the whole document, running heads
 * are known, and so are the size of its text and which words it writes with a hyphen, and each page is laid out.
 */
import { type DocumentContent, type Ocr, type PdfSpec, TroupeError, unreadable } from '@troupe/contracts';
import { headingScale, pageHtml } from './emit.js';
import { layOut } from './layout.js';
import { readPage, type RawPage } from './page-reader.js';
import { describePdf } from './pdf-metadata.js';
import { loadPdfJs, startOpening, type PdfFile, type PdfJs } from './pdf-js.js';
import { ReadingClock } from './reading-clock.js';
import { coverage } from './rules.js';
import { pagePicture, recognisedHtml } from './scans.js';
import { refuseBombs } from './survey.js';

export interface PdfLimits {
  /** Time from now on, for the whole file. */
  timeoutMs: number;
  /** null: no engine is configured. */
  ocr: Ocr | null;
}

/** Characters of a document beyond which no further page is read. */
const MAX_CHARACTERS = 20_000_000;
const HEADER_BYTES = 1024;

/**
 * In the mode `ocr`, text is recognised on every page with an image on a good part of it; pages without one have nothing but their text.
 * @throws TroupeError SCRAPE_UNSUPPORTED_FILE_ERROR (locked, damaged), SCRAPE_PDF_INSUFFICIENT_TIME_ERROR (names the needed ms),
 * SCRAPE_PDF_OCR_REQUIRED (nothing but scanned pages, and no engine)
 */
export async function readPdf(body: Uint8Array, spec: PdfSpec, limits: PdfLimits): Promise<DocumentContent> {
  const clock = new ReadingClock(limits.timeoutMs);
  if (!hasHeader(body)) throw unreadable('The file is no PDF: it does not begin as one');
  await refuseBombs(body);
  const pdfJs = await loadPdfJs();
  return opening(pdfJs, { body, withImages: false, clock }, (file) =>
    new PdfReading(pdfJs, file, { body, spec, ocr: limits.ocr, clock }).read(),
  );
}

function hasHeader(body: Uint8Array): boolean {
  return Buffer.from(body.buffer, body.byteOffset, Math.min(HEADER_BYTES, body.byteLength)).includes('%PDF-');
}

interface Opening {
  body: Uint8Array;
  withImages: boolean;
  clock: ReadingClock;
}

/** Opens the file for `use` and closes it in any case. */
async function opening<R>(
  pdfJs: PdfJs,
  { body, withImages, clock }: Opening,
  use: (file: PdfFile) => Promise<R>,
): Promise<R> {
  const task = startOpening(pdfJs, body, withImages);
  const stop = () => void task.destroy().catch(() => undefined);
  try {
    return await clock.bound(task.promise.then(use), stop);
  } catch (error) {
    throw error instanceof TroupeError ? error : asUnreadable(error);
  } finally {
    await task.destroy().catch(() => undefined);
  }
}

function asUnreadable(error: unknown): TroupeError {
  if (error instanceof Error && error.name === 'PasswordException') {
    return unreadable('The PDF is encrypted and opens with its password only', error);
  }
  const reason = error instanceof Error ? error.message.slice(0, 200) : 'unknown reason';
  return unreadable(`The PDF is damaged and cannot be read: ${reason}`, error);
}

interface Order {
  body: Uint8Array;
  spec: PdfSpec;
  ocr: Ocr | null;
  clock: ReadingClock;
}

/** Pages that are read at most, whatever is asked for. */
const MAX_PAGES = 10_000;

class PdfReading {
  private readonly pages: RawPage[] = [];
  private readonly scanned: number[] = [];
  private readonly damaged: number[] = [];
  private readonly total: number;
  private readonly wanted: number;

  constructor(
    private readonly pdfJs: PdfJs,
    private readonly file: PdfFile,
    private readonly order: Order,
  ) {
    this.total = file.numPages;
    this.wanted = Math.min(this.total, order.spec.maxPages ?? this.total, MAX_PAGES);
  }

  async read(): Promise<DocumentContent> {
    const { clock } = this.order;
    clock.opened(this.wanted);
    const { title, metadata } = await describePdf(this.file);
    await this.readPages();
    const recognised = await this.recognise();
    const laidOut = layOut(this.pages, () => clock.check());
    const scale = headingScale(laidOut);
    const parts = laidOut.map((blocks, i) => recognised.get(this.pages[i]!.number) ?? pageHtml(blocks, scale));
    const heading = laidOut
      .slice(0, 2)
      .flat()
      .find((block) => block.type === 'heading');
    return {
      parts,
      title: title ?? (heading?.type === 'heading' ? heading.text : null),
      metadata,
      pages: { read: parts.length, total: this.total },
      warning: this.warning(recognised),
    };
  }

  private async readPages(): Promise<void> {
    let characters = 0;
    for (let number = 1; number <= this.wanted && characters < MAX_CHARACTERS; number++) {
      const page = await this.readOne(number);
      this.pages.push(page);
      const letters = lettersOf(page);
      characters += letters;
      if (isScanned(page, letters, this.order.spec.mode)) this.scanned.push(number);
      this.order.clock.pageRead();
    }
    if (this.damaged.length === this.wanted) throw unreadable('The PDF is damaged: none of its pages can be read');
  }

  private async readOne(number: number): Promise<RawPage> {
    try {
      const page = await this.file.getPage(number);
      const read = await readPage(this.pdfJs, page);
      page.cleanup();
      return read;
    } catch (error) {
      this.order.clock.check();
      if (error instanceof TroupeError) throw error;
      this.damaged.push(number);
      const painted = { dots: [], horizontal: [], vertical: [], images: [] };
      return { number, width: 1, height: 1, spans: [], turned: [], painted, structure: null };
    }
  }

  /** HTML of scanned pages, by number. */
  private async recognise(): Promise<Map<number, string>> {
    const { ocr, spec, body, clock } = this.order;
    const found = new Map<number, string>();
    if (this.scanned.length === 0 || spec.mode === 'fast') return found;
    if (ocr === null) {
      if (this.scanned.length === this.pages.length && this.pages.every((page) => lettersOf(page) < FEW_LETTERS)) {
        throw new TroupeError(
          'SCRAPE_PDF_OCR_REQUIRED',
          'The PDF holds images of pages without text, and no OCR engine is configured',
        );
      }
      return found;
    }
    await opening(this.pdfJs, { body, withImages: true, clock }, async (file) => {
      for (const number of this.scanned) {
        clock.check();
        const page = await file.getPage(number);
        const picture = await pagePicture(this.pdfJs, page);
        page.cleanup();
        if (picture !== null) found.set(number, recognisedHtml(await ocr.recognise(picture)));
      }
    });
    return found;
  }

  private warning(recognised: ReadonlyMap<number, string>): string | null {
    const { spec, ocr } = this.order;
    const empty = this.scanned.filter(
      (number) => !recognised.has(number) && lettersOf(this.pages[number - 1]!) < FEW_LETTERS,
    );
    const why =
      spec.mode === 'fast'
        ? 'the mode fast reads embedded text only'
        : ocr === null
          ? 'no OCR engine is configured'
          : 'no picture of them could be had';
    const said = [
      empty.length === 0 ? null : `${pagesText(empty)} scanned and left empty: ${why}.`,
      this.damaged.length === 0 ? null : `${pagesText(this.damaged)} damaged and left empty.`,
      this.wanted === MAX_PAGES && this.total > MAX_PAGES && (spec.maxPages ?? Infinity) > MAX_PAGES
        ? `Only the first ${MAX_PAGES} of ${this.total} pages were read.`
        : null,
      this.pages.length < this.wanted ? `Reading ended after page ${this.pages.length}: the text is too long.` : null,
    ].filter((sentence) => sentence !== null);
    return said.length === 0 ? null : said.join(' ');
  }
}

function lettersOf({ spans, turned }: RawPage): number {
  return [spans, ...turned].flat().reduce((sum, span) => sum + span.text.trim().length, 0);
}

/** Less than this is a stamp or a number on a scanned page. */
const FEW_LETTERS = 20;

function isScanned({ painted, width, height }: RawPage, letters: number, mode: PdfSpec['mode']): boolean {
  const covered = coverage(painted.images, { x0: 0, y0: 0, x1: width, y1: height });
  if (mode === 'ocr') return covered > 0.3;
  return letters < FEW_LETTERS && covered > 0.4;
}

/** "Pages 3-5, 9 are", "Page 2 is". */
function pagesText(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  const shown = ranges.slice(0, 20).map(([from, to]) => (from === to ? String(from) : `${from}-${to}`));
  const list = shown.join(', ') + (ranges.length > shown.length ? ' and more' : '');
  return numbers.length === 1 ? `Page ${list} is` : `Pages ${list} are`;
}
