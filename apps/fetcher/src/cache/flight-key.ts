/**
 * The key of a page that is fetched here, kept alive until the page is in the index and every fetcher can find it
 * there.
 */
import type { FlightBoard, FlightHold } from '@troupe/messaging';

/**
 * A key lives so long without renewal. A shorter scrape needs no second write; a dead fetcher blocks the key no longer.
 */
export const LIFE_MS = 10_000;
/** How long a page can be had after it has come into the index: longer than a look into the index takes. */
export const KEPT_MS = 5_000;
const RENEW_MS = 4_000;

export interface FlightKeyParts {
  board: Pick<FlightBoard, 'keep' | 'free'>;
  /** undefined: it could not be taken. */
  hold: Promise<FlightHold | undefined>;
  onError(error: unknown): void;
}

export class FlightKey {
  private readonly renewal: NodeJS.Timeout;
  private writtenMs = performance.now();

  constructor(private readonly parts: FlightKeyParts) {
    this.renewal = setInterval(() => this.keep(LIFE_MS), RENEW_MS).unref();
  }

  /** The page is in the index, or will not come there. @returns how long the key lives, in ms */
  stored(): number {
    clearInterval(this.renewal);
    const leftMs = LIFE_MS - (performance.now() - this.writtenMs);
    if (leftMs >= KEPT_MS) return leftMs;
    this.keep(KEPT_MS);
    return KEPT_MS;
  }

  /** There is no page to be had. The key is freed in the background. */
  free(): void {
    clearInterval(this.renewal);
    setImmediate(() => this.write((hold) => this.parts.board.free(hold)));
  }

  private keep(lifeMs: number): void {
    this.writtenMs = performance.now();
    this.write((hold) => this.parts.board.keep(hold, lifeMs));
  }

  private write(work: (hold: FlightHold) => Promise<void>): void {
    this.parts.hold
      .then((hold) => (hold === undefined ? undefined : work(hold)))
      .catch((error: unknown) => this.parts.onError(error));
  }
}
