/** Places for pages; whoever finds none waits in line. */

/** How many places there are: one more as long as some wait while processors are idle, one less when these are all busy. */
export interface Places {
  /** Open in any case. */
  least: number;
  most: number;
  /** Share of the processors in use since it was asked last, 0 to 1. */
  readLoad: () => number;
}

const LOOK_EVERY_MS = 1_000;
const IDLE_BELOW = 0.75;
const BUSY_ABOVE = 0.93;

export class PlaceQueue {
  private readonly waiting: (() => void)[] = [];
  private open: number;
  private timer: NodeJS.Timeout | null = null;
  #taken = 0;

  constructor(private readonly places: Places) {
    this.open = places.least;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Rejects with the signal's reason when that fires first. */
  async enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.watch();
    if (this.#taken < this.open) {
      this.#taken++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        this.waiting.splice(this.waiting.indexOf(admit), 1);
        reject(signal.reason as Error);
      };
      const admit = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.waiting.push(admit);
    });
  }

  /** Hands the place to the next in line, or gives it up. */
  leave(): void {
    this.#taken--;
    this.admit();
  }

  private admit(): void {
    while (this.#taken < this.open && this.waiting.length > 0) {
      this.#taken++;
      this.waiting.shift()!();
    }
  }

  /** Looks at the load for as long as there is somebody in a place. */
  private watch(): void {
    const { least, most, readLoad } = this.places;
    if (this.timer !== null || least === most) return;
    readLoad();
    this.timer = setInterval(() => this.adjust(), LOOK_EVERY_MS).unref();
  }

  private adjust(): void {
    const { least, most, readLoad } = this.places;
    const load = readLoad();
    if (load < IDLE_BELOW && this.waiting.length > 0) this.open = Math.min(most, this.open + 1);
    else if (load > BUSY_ABOVE) this.open = Math.max(least, this.open - 1);
    this.admit();
    if (this.#taken > 0) return;
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    this.open = least;
  }
}
