/** One signal for "time is up" and "the caller gave up"; its reason is always a `TroupeError`. */
import { isTroupeError, TroupeError } from '@troupe/contracts';

export class Deadline {
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private readonly endsAt: number;

  constructor(
    timeoutMs: number,
    private readonly caller: AbortSignal,
  ) {
    this.endsAt = performance.now() + timeoutMs;
    this.timer = setTimeout(() => this.controller.abort(timeUp(timeoutMs)), timeoutMs);
    caller.addEventListener('abort', this.onCallerAbort, { once: true });
    if (caller.aborted) this.onCallerAbort();
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  remainingMs(): number {
    return Math.max(0, this.endsAt - performance.now());
  }

  /** Rejects with the signal's reason as soon as it fires, whatever `work` does then. */
  async race<T>(work: Promise<T>): Promise<T> {
    work.catch(() => undefined);
    this.signal.throwIfAborted();
    let onAbort: () => void = () => undefined;
    const aborted = new Promise<never>((_, reject) => {
      onAbort = () => reject(this.signal.reason as Error);
      this.signal.addEventListener('abort', onAbort, { once: true });
    });
    return Promise.race([work, aborted]).finally(() => this.signal.removeEventListener('abort', onAbort));
  }

  /** Releases the timer and the listener; always call it. */
  end(): void {
    clearTimeout(this.timer);
    this.caller.removeEventListener('abort', this.onCallerAbort);
  }

  private readonly onCallerAbort = (): void => {
    const reason: unknown = this.caller.reason;
    this.controller.abort(
      isTroupeError(reason) ? reason : new TroupeError('SCRAPE_JOB_CANCELLED', 'the request was cancelled'),
    );
  };
}

function timeUp(timeoutMs: number): TroupeError {
  return new TroupeError('SCRAPE_TIMEOUT', `the page did not arrive within ${Math.round(timeoutMs)} ms`, {
    retryable: true,
  });
}
