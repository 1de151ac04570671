/**
 * An answer of undici taken from its dispatcher, chunk by chunk. A stream for each body, as `request` makes one, costs more
 * than everything else that the client does for a small page.
 */
import type { Dispatcher } from 'undici';

/** A body that is not read yet is taken up to this size; then its connection waits. */
const MAX_UNREAD_BYTES = 256 * 1024;

export interface Arrived {
  statusCode: number;
  statusText: string;
  headers: Record<string, string | string[] | undefined>;
  body: ArrivingBody;
}

/** Asks, and resolves with the head of the answer. Rejects with undici's error, or the signal's reason. */
export function arrivalOf(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  signal: AbortSignal,
): Promise<Arrived> {
  return new Promise((resolve, reject) => {
    const body = new ArrivingBody(signal, reject);
    dispatcher.dispatch(request, {
      onRequestStart: (controller) => body.begin(controller),
      onResponseStart: (_controller, statusCode, headers, statusText = '') => {
        // A status below 200 announces an answer to come.
        if (statusCode >= 200) resolve({ statusCode, statusText, headers, body });
      },
      onResponseData: (_controller, chunk) => body.push(chunk),
      onResponseEnd: () => body.end(null),
      onResponseError: (_controller, error) => {
        body.end(error);
        reject(error);
      },
    });
  });
}

/** To be read once, by one reader; the connection is given up when the reader stops before the end. */
export class ArrivingBody implements AsyncIterable<Buffer> {
  private controller: Dispatcher.DispatchController | null = null;
  private chunks: Buffer[] = [];
  private bytes = 0;
  private isOver = false;
  private error: Error | null = null;
  private wake: (() => void) | null = null;
  /** Bytes that may still come before the connection is given up; null: the body is wanted. */
  private unwanted: number | null = null;
  private readonly abort = () => this.destroy(this.signal.reason as Error);

  /** `onEnded` is told why, when the end comes from here: undici says nothing of a request that waits for its connection. */
  constructor(
    private readonly signal: AbortSignal,
    private readonly onEnded: (reason: Error) => void,
  ) {
    if (signal.aborted) this.abort();
    else signal.addEventListener('abort', this.abort, { once: true });
  }

  begin(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.error !== null) controller.abort(this.error);
  }

  push(chunk: Buffer): void {
    if (this.unwanted !== null) return this.drop(chunk);
    this.chunks.push(chunk);
    this.bytes += chunk.length;
    if (this.bytes > MAX_UNREAD_BYTES) this.controller?.pause();
    this.wake?.();
  }

  end(error: Error | null): void {
    if (this.isOver) return;
    this.isOver = true;
    this.error ??= error;
    this.signal.removeEventListener('abort', this.abort);
    this.wake?.();
  }

  /** Gives up the rest of the body. A short rest is let come, so that the connection stays usable. */
  dump(maxBytes: number): Promise<void> {
    this.unwanted = maxBytes;
    for (const chunk of this.chunks.splice(0)) this.drop(chunk);
    this.controller?.resume();
    return this.untilOver();
  }

  destroy(cause?: Error): void {
    if (this.isOver) return;
    const reason = cause ?? new Error('The body is not wanted');
    this.end(reason);
    this.controller?.abort(reason);
    this.onEnded(reason);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        for (let chunk = this.chunks.shift(); chunk !== undefined; chunk = this.chunks.shift()) {
          this.bytes -= chunk.length;
          yield chunk;
        }
        if (this.isOver) break;
        this.controller?.resume();
        await this.news();
      }
      if (this.error !== null) throw this.error;
    } finally {
      this.destroy();
    }
  }

  private drop(chunk: Buffer): void {
    this.unwanted = (this.unwanted ?? 0) - chunk.length;
    if (this.unwanted < 0) this.destroy();
  }

  private async untilOver(): Promise<void> {
    while (!this.isOver) await this.news();
  }

  private news(): Promise<void> {
    return new Promise((resolve) => (this.wake = resolve));
  }
}
