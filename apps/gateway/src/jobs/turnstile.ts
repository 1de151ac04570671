/** Lets a few in at a time; the others wait in the order they came. */
export class Turnstile {
  private readonly queue: (() => void)[] = [];

  constructor(private places: number) {}

  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (this.places > 0) this.places--;
    else await new Promise<void>((enter) => this.queue.push(enter));
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  /** A place is handed over rather than given back: nobody can slip in between. */
  private leave(): void {
    const next = this.queue.shift();
    if (next === undefined) this.places++;
    else next();
  }
}
