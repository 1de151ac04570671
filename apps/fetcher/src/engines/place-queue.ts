/** A number of places; whoever finds none waits in line. */
export class PlaceQueue {
  private readonly waiting: (() => void)[] = [];
  #taken = 0;

  constructor(private readonly places: number) {}

  get taken(): number {
    return this.#taken;
  }

  /** Rejects with the signal's reason when that fires first. */
  async enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#taken < this.places) {
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
    const next = this.waiting.shift();
    if (next === undefined) this.#taken--;
    else next();
  }
}
