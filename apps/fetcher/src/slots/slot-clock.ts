import { LRUCache } from 'lru-cache';

const REMEMBERED_SLOTS = 10_000;
/** Timers fire, and clocks are read, this much too early. */
const SLACK_MS = 2;

/** Told of waits and of requests that come too early. */
export interface PaceObserver {
  /** A request waits so long, 0 = not at all. */
  waited(ms: number): void;
  /** A request starts before its time. */
  early(): void;
}

const NO_OBSERVER: PaceObserver = { waited: () => undefined, early: () => undefined };

/**
 * When this process last started a request on each host slot: the gap counts from start to start, also across the
 * lanes that one fetcher runs on a slot one after another.
 */
export class SlotClock {
  private readonly starts = new LRUCache<string, number>({ max: REMEMBERED_SLOTS });

  constructor(
    private readonly now: () => number = () => performance.now(),
    private readonly observer: PaceObserver = NO_OBSERVER,
  ) {}

  /** A request starts. */
  begin(host: string, slot: number, gapMs: number): void {
    if (this.isEarly(host, slot, gapMs)) this.observer.early();
    this.mark(host, slot);
  }

  /** Lets the gap count from now on, whenever the request started. */
  mark(host: string, slot: number): void {
    this.starts.set(`${host} ${slot}`, this.now());
  }

  /** Milliseconds that the next request, which is about to wait for them, has to wait. */
  waitMs(host: string, slot: number, gapMs: number): number {
    const dueMs = this.dueInMs(host, slot, gapMs);
    this.observer.waited(dueMs);
    return dueMs;
  }

  /** A request must not start yet. */
  isEarly(host: string, slot: number, gapMs: number): boolean {
    return this.dueInMs(host, slot, gapMs) > SLACK_MS;
  }

  /** Milliseconds until the next request may start. */
  dueInMs(host: string, slot: number, gapMs: number): number {
    const last = this.starts.get(`${host} ${slot}`);
    return last === undefined ? 0 : Math.max(0, last + gapMs - this.now());
  }
}
