import { LRUCache } from 'lru-cache';

const REMEMBERED_SLOTS = 10_000;

/**
 * When this process last started a request on each host slot: the gap counts from start to start, also across the
 * lanes that one fetcher runs on a slot one after another.
 */
export class SlotClock {
  readonly #starts = new LRUCache<string, number>({ max: REMEMBERED_SLOTS });

  constructor(private readonly now: () => number = () => performance.now()) {}

  mark(host: string, slot: number): void {
    this.#starts.set(`${host} ${slot}`, this.now());
  }

  /** Milliseconds until the next request may start. */
  dueInMs(host: string, slot: number, gapMs: number): number {
    const last = this.#starts.get(`${host} ${slot}`);
    return last === undefined ? 0 : Math.max(0, last + gapMs - this.now());
  }
}
