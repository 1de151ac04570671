/** How long the reading of a file takes, and whether the time suffices for the rest of it. */
import { TroupeError } from '@troupe/contracts';

/** Before this many pages the time a page takes is not known. */
const MIN_PAGES = 5;
/** Share of the time that there is. Before so much has passed a guess tells more of the moment than of the file. */
const MIN_SHARE = 0.05;
/** The layout comes after the reading. */
const RESERVE = 1.15;

export class ReadingClock {
  private readonly startedAt = performance.now();
  private openedAt = this.startedAt;
  private pages = 0;
  private readPages = 0;

  constructor(private readonly timeoutMs: number) {}

  opened(pages: number): void {
    this.openedAt = performance.now();
    this.pages = pages;
  }

  /** @throws TroupeError SCRAPE_PDF_INSUFFICIENT_TIME_ERROR: what is left cannot be read in time */
  pageRead(): void {
    this.readPages++;
    const left = this.pages - this.readPages;
    const neededMs = this.neededMs();
    if (left > 0 && this.isKnown() && neededMs > this.timeoutMs) throw insufficient(neededMs, this.timeoutMs);
    this.check();
  }

  /** @throws TroupeError SCRAPE_PDF_INSUFFICIENT_TIME_ERROR: the time is over */
  check(): void {
    if (performance.now() - this.startedAt > this.timeoutMs) throw this.timeIsOver();
  }

  /** Gives `work` the time there is; when it is over, `stop` ends what the work waits for. */
  async bound<R>(work: Promise<R>, stop: () => void): Promise<R> {
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<never>((_, reject) => {
      const leftMs = Math.max(0, this.timeoutMs - (performance.now() - this.startedAt));
      timer = setTimeout(() => {
        reject(this.timeIsOver());
        stop();
      }, leftMs);
    });
    try {
      return await Promise.race([work, over]);
    } finally {
      clearTimeout(timer);
      work.catch(() => undefined);
    }
  }

  private isKnown(): boolean {
    return this.readPages >= MIN_PAGES && performance.now() - this.openedAt >= MIN_SHARE * this.timeoutMs;
  }

  private neededMs(): number {
    const now = performance.now();
    const perPage = (now - this.openedAt) / Math.max(1, this.readPages);
    return Math.ceil((this.openedAt - this.startedAt + perPage * this.pages) * RESERVE);
  }

  private timeIsOver(): TroupeError {
    const isKnown = this.readPages > 0;
    return insufficient(Math.max(isKnown ? this.neededMs() : 0, this.timeoutMs * 2), this.timeoutMs);
  }
}

function insufficient(neededMs: number, timeoutMs: number): TroupeError {
  return new TroupeError(
    'SCRAPE_PDF_INSUFFICIENT_TIME_ERROR',
    `Reading the PDF takes about ${neededMs} ms, and ${Math.round(timeoutMs)} ms were left: allow more time, or fewer pages`,
    { retryable: false, details: { neededMs } },
  );
}
