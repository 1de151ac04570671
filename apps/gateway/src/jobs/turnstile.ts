/**
 * Lets a few in at a time. Who goes on with what was begun is let in before who begins, but only every other time: what
 * was begun is soon done, and nobody waits for ever.
 */
export class Turnstile {
  private readonly beginning: (() => void)[] = [];
  private readonly goingOn: (() => void)[] = [];
  private isTurnOfBeginning = false;

  constructor(private places: number) {}

  async pass<T>(work: () => Promise<T>, isGoingOn = false): Promise<T> {
    if (this.places > 0) this.places--;
    else await new Promise<void>((enter) => (isGoingOn ? this.goingOn : this.beginning).push(enter));
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  /** A place is handed over rather than given back: nobody can slip in between. */
  private leave(): void {
    const next = this.next();
    if (next === undefined) this.places++;
    else next();
  }

  private next(): (() => void) | undefined {
    const [preferred, other] = this.isTurnOfBeginning ? [this.beginning, this.goingOn] : [this.goingOn, this.beginning];
    this.isTurnOfBeginning = !this.isTurnOfBeginning;
    return preferred.shift() ?? other.shift();
  }
}
