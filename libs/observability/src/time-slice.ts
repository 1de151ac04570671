import { setImmediate as nextTurn } from 'node:timers/promises';

const SLICE_MS = 8;

/**
 * Keeps long work on the main thread from holding up everybody else:
 *
 * `for (const item of items) { work(item); if (slice.isOver) await slice.next(); }`
 */
export class TimeSlice {
  #startedAt = performance.now();

  /** @default 8 ms */
  constructor(private readonly ms: number = SLICE_MS) {}

  get isOver(): boolean {
    return performance.now() - this.#startedAt >= this.ms;
  }

  /** Lets the event loop do what else there is. */
  async next(): Promise<void> {
    await nextTurn();
    this.#startedAt = performance.now();
  }
}
