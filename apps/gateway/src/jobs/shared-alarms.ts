/**
 * Time-outs of many waiting requests that fire together. A process that is woken a hundred times a second for one
 * answer each spends more on waking than on the answers.
 */
export class SharedAlarms {
  private readonly due = new Map<number, Set<() => void>>();

  /** @param grainMs time-outs within the same interval of this length fire at its end */
  constructor(private readonly grainMs: number) {}

  /** Calls `ring` once, up to `grainMs` after `ms` have passed. @returns a function that cancels it */
  set(ms: number, ring: () => void): () => void {
    const now = performance.now();
    const moment = Math.ceil((now + ms) / this.grainMs);
    const rung = this.due.get(moment) ?? this.open(moment, moment * this.grainMs - now);
    rung.add(ring);
    return () => rung.delete(ring);
  }

  private open(moment: number, ms: number): Set<() => void> {
    const rung = new Set<() => void>();
    this.due.set(moment, rung);
    setTimeout(() => {
      this.due.delete(moment);
      for (const ring of rung) ring();
    }, ms).unref();
    return rung;
  }
}
