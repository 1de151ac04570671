/**
 * A page that this fetcher fetches for a caller, and all its waiters. It is fetched as long as one of them is there.
 */
import type { CachedPageMeta } from '@troupe/persistence';

/** A good answer, kept in memory until it is found in the index. */
export interface Landed {
  meta: CachedPageMeta;
  /** Shared: it is copied before it is given away. */
  body: Uint8Array;
  at: Date;
  /** By this process's monotonic clock. */
  landedMs: number;
}

/** `failed`: the page gave nothing that could be shared. `moved`: another fetcher goes on with it. */
export type FlightNews = { type: 'landed'; page: Landed } | { type: 'failed' } | { type: 'moved' };

/** Waiters elsewhere ask again and again, with moments in between. */
const RETURN_MS = 1_000;

export class Flight {
  private readonly abort = new AbortController();
  private readonly waiters = new Set<(news: FlightNews | null) => void>();
  private news: FlightNews | null = null;
  private expectsUntilMs = 0;

  constructor(private readonly caller: AbortSignal) {
    caller.addEventListener('abort', () => this.endUnwanted(), { once: true });
  }

  /** Fires when no waiter wants the page any more. */
  get signal(): AbortSignal {
    return this.abort.signal;
  }

  get hasNews(): boolean {
    return this.news !== null;
  }

  tell(news: FlightNews): void {
    this.news = news;
    for (const settle of [...this.waiters]) settle(news);
  }

  /** Another fetcher did not take it: it is still fetched here. */
  comeBack(): void {
    if (this.news?.type === 'moved') this.news = null;
  }

  /** null: nothing yet. @param signal of a waiter in this process; null: one elsewhere, which will ask again */
  async wait(waitMs: number, signal: AbortSignal | null): Promise<FlightNews | null> {
    if (this.news !== null || waitMs <= 0 || signal?.aborted) return this.news;
    const news = await this.hear(waitMs, signal);
    if (signal === null) this.expectsUntilMs = performance.now() + RETURN_MS;
    if (news === null) this.endUnwanted();
    return news;
  }

  private hear(waitMs: number, signal: AbortSignal | null): Promise<FlightNews | null> {
    return new Promise((resolve) => {
      const settle = (news: FlightNews | null): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', leave);
        this.waiters.delete(settle);
        resolve(news);
      };
      const leave = (): void => settle(null);
      const timer = setTimeout(leave, waitMs);
      signal?.addEventListener('abort', leave, { once: true });
      this.waiters.add(settle);
    });
  }

  private endUnwanted(): void {
    if (!this.caller.aborted || this.waiters.size > 0 || this.news !== null) return;
    const leftMs = this.expectsUntilMs - performance.now();
    if (leftMs > 0) setTimeout(() => this.endUnwanted(), leftMs + 1);
    else this.abort.abort(this.caller.reason);
  }
}
