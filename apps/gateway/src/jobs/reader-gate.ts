/**
 * Lets a few readers in at a time. A reader that goes on with a begun list is let in before one that begins, but only
 * every other time: begun lists are soon done, and no reader waits for ever.
 */
export class ReaderGate {
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

  /** A place is handed over rather than given back, so that no other reader can slip in between. */
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
