import { setImmediate as nextTurn } from 'node:timers/promises';

const SLICE_MS = 5;

/** Long works side by side take turns of the event loop one after another: their slices must not add up to one. */
let queue: Promise<void> = Promise.resolve();

/**
 * Keeps long work on the main thread from holding up all other work:
 *
 * `for (const item of items) { work(item); if (slice.isOver) await slice.next(); }`
 */
export class TimeSlice {
  private startedAt = performance.now();

  /** @default 5 ms */
  constructor(private readonly ms: number = SLICE_MS) {}

  get isOver(): boolean {
    return performance.now() - this.startedAt >= this.ms;
  }

  /** Lets the event loop do its other work. */
  async next(): Promise<void> {
    const turn = queue.then(() => nextTurn());
    queue = turn;
    await turn;
    this.startedAt = performance.now();
  }
}
