/** Differences of texts, found in a thread of their own: one at a time, each within bounds. */
import { Worker } from 'node:worker_threads';
import type { DiffReply, DiffTask } from './diff.worker.js';
import type { TextDiff } from './text-diff.js';

const TIMEOUT_MS = 2_000;
/** The thread is ended when it does not keep to its time. */
const KILL_MS = 5_000;
/** Size of both texts together, in characters. */
const MAX_CHARS = 2_000_000;
const MAX_WAITING = 100;
const MAX_HEAP_MB = 256;

/** Runs comparisons. */
export interface Differ {
  /** Null when the texts are too long or too different to be compared in time. */
  compare(before: string, after: string): Promise<TextDiff | null>;
}

export class DiffThread implements Differ {
  private worker: Worker | null = null;
  private settle: ((reply: DiffReply) => void) | null = null;
  private tail: Promise<unknown> = Promise.resolve();
  private waiting = 0;

  async compare(before: string, after: string): Promise<TextDiff | null> {
    if (before.length + after.length > MAX_CHARS || this.waiting >= MAX_WAITING) return null;
    this.waiting++;
    const turn = this.tail.then(() => this.run({ before, after, timeoutMs: TIMEOUT_MS }));
    this.tail = turn;
    return turn.finally(() => this.waiting--);
  }

  async stop(): Promise<void> {
    await this.worker?.terminate();
  }

  /** Null as well when the thread dies of it. */
  private async run(task: DiffTask): Promise<DiffReply> {
    const worker = (this.worker ??= this.start());
    const timer = setTimeout(() => void worker.terminate(), KILL_MS);
    worker.ref();
    try {
      return await new Promise<DiffReply>((settle) => {
        this.settle = settle;
        worker.postMessage(task);
      });
    } finally {
      clearTimeout(timer);
      worker.unref();
    }
  }

  private start(): Worker {
    const worker = new Worker(new URL('./diff.worker.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    worker.on('message', (reply: DiffReply) => this.settle?.(reply));
    // The `exit` event follows every error.
    worker.on('error', () => undefined);
    worker.on('exit', () => {
      this.worker = null;
      this.settle?.(null);
    });
    return worker;
  }
}
