/**
 * Admits calls to one provider: so many at once, teams in turn, and none while the provider asks for a pause. When it
 * is down, one call at a time tries it. Once several in a row have failed, all waiting calls are told so at once.
 */
import type { Uuid } from '@troupe/contracts';

export interface GateOptions {
  /** Calls at once. */
  concurrency: number;
  /** @default `performance.now` */
  now?: () => number;
  /** In [0, 1), for the spread of pauses. @default `Math.random` */
  random?: () => number;
}

/** Thrown to waiting calls when the provider is down. */
export class GateClosedError extends Error {
  constructor(readonly reason: string) {
    super(reason);
    this.name = 'GateClosedError';
  }
}

interface Waiter {
  team: Uuid;
  enter: () => void;
  refuse: (error: Error) => void;
}

/** Failures in a row after which a provider counts as down. */
const FAILURES_TO_CLOSE = 4;
const CLOSED_MS = 5_000;
const MAX_CLOSED_MS = 30_000;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 8_000;
const SPREAD = 0.3;
/** First pause of a busy provider that names no time. */
const BUSY_PAUSE_MS = 1_000;
const MAX_WAITING = 10_000;

export class ProviderGate {
  private under = 0;
  private failures = 0;
  private busyInARow = 0;
  private pausedUntilMs = 0;
  private closedUntilMs = 0;
  private closedFor = 0;
  private reason = '';
  private timer: NodeJS.Timeout | null = null;
  /** Waiting calls of each team, teams in the order of their turn. */
  private readonly waiting = new Map<Uuid, Waiter[]>();
  private waitingCount = 0;
  private readonly now: () => number;
  private readonly random: () => number;

  constructor(private readonly options: GateOptions) {
    this.now = options.now ?? (() => performance.now());
    this.random = options.random ?? Math.random;
  }

  /**
   * Resolves when a call may begin; the caller ends it with `leave`.
   * @throws GateClosedError; the signal's reason
   */
  enter(team: Uuid, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    if (this.now() < this.closedUntilMs) return Promise.reject(new GateClosedError(this.reason));
    if (this.waitingCount >= MAX_WAITING)
      return Promise.reject(new GateClosedError('too many calls are waiting for it'));
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        team,
        enter: () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
        refuse: (error) => {
          signal.removeEventListener('abort', onAbort);
          reject(error);
        },
      };
      const onAbort = (): void => {
        this.forget(waiter);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.queue(waiter);
      this.admit();
    });
  }

  /** Ends a call that entered. Its outcome is reported before. */
  leave(): void {
    this.under--;
    this.admit();
  }

  succeeded(): void {
    this.failures = this.busyInARow = this.closedFor = 0;
  }

  /** All calls wait as long as the provider asks, or longer each time when it does not say. */
  busy(waitMs: number | null): void {
    const own = Math.min(BUSY_PAUSE_MS * 2 ** this.busyInARow++, MAX_CLOSED_MS) * (1 + SPREAD * this.random());
    this.pause(waitMs ?? own);
  }

  failed(reason: string): void {
    this.reason = reason;
    this.failures++;
    if (this.failures < FAILURES_TO_CLOSE) {
      const pauseMs = Math.min(FIRST_PAUSE_MS * 3 ** (this.failures - 1), MAX_PAUSE_MS);
      return this.pause(pauseMs * (1 + SPREAD * this.random()));
    }
    this.closedUntilMs = this.now() + Math.min(CLOSED_MS * 2 ** this.closedFor++, MAX_CLOSED_MS);
    // The next call may try once.
    this.failures = FAILURES_TO_CLOSE - 1;
    this.refuseAll(new GateClosedError(reason));
  }

  /** Whether callers are turned away right now. */
  get isClosed(): boolean {
    return this.now() < this.closedUntilMs;
  }

  private pause(ms: number): void {
    this.pausedUntilMs = Math.max(this.pausedUntilMs, this.now() + ms);
  }

  private admit(): void {
    const pauseMs = this.pausedUntilMs - this.now();
    if (pauseMs > 0) return this.wakeIn(pauseMs);
    const places = this.failures > 0 ? 1 : this.options.concurrency;
    while (this.under < places) {
      const next = this.takeNext();
      if (next === null) return;
      this.under++;
      next.enter();
    }
  }

  private wakeIn(ms: number): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = null;
      this.admit();
    }, Math.ceil(ms));
    this.timer.unref();
  }

  private queue(waiter: Waiter): void {
    const line = this.waiting.get(waiter.team);
    if (line === undefined) this.waiting.set(waiter.team, [waiter]);
    else line.push(waiter);
    this.waitingCount++;
  }

  /** The first of the team whose turn it is; the team goes to the end. */
  private takeNext(): Waiter | null {
    const first = this.waiting.entries().next();
    if (first.done === true) return null;
    const [team, line] = first.value;
    const waiter = line.shift()!;
    this.waiting.delete(team);
    if (line.length > 0) this.waiting.set(team, line);
    this.waitingCount--;
    return waiter;
  }

  private forget(waiter: Waiter): void {
    const line = this.waiting.get(waiter.team);
    const place = line?.indexOf(waiter) ?? -1;
    if (line === undefined || place === -1) return;
    line.splice(place, 1);
    this.waitingCount--;
    if (line.length === 0) this.waiting.delete(waiter.team);
  }

  private refuseAll(error: Error): void {
    const all = [...this.waiting.values()].flat();
    this.waiting.clear();
    this.waitingCount = 0;
    for (const waiter of all) waiter.refuse(error);
  }
}
