/** A worker thread for work of unknown cost: one question at a time, each within its time and its memory. */
import { Worker } from 'node:worker_threads';

export interface BoundedThreadOptions {
  /** Script of the worker: it says `ready`, then answers each question with a `ThreadReply`. */
  script: URL;
  /** Time for one question, from the moment at which the thread begins with it. Then the thread is ended. */
  deadlineMs: number;
  maxHeapMb: number;
  /** @default none */
  workerData?: unknown;
}

export type ThreadReply<A> = 'ready' | { answer: A } | { error: string };

/** Thrown when a question took too long, or too much memory. */
export class OverrunError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'OverrunError';
  }
}

/** A caller that waits for the thread. */
export interface ThreadWaiter {
  /** A question can be asked. */
  onReady(): void;
  /** The thread died before it was ready: nothing can be asked of it. */
  onDeath(error: unknown): void;
}

interface Running<A> {
  resolve(answer: A): void;
  reject(error: unknown): void;
  deadline: NodeJS.Timeout;
}

export class BoundedThread<Q, A> {
  private worker: Worker | null = null;
  private isUp = false;
  private running: Running<A> | null = null;

  constructor(
    private readonly options: BoundedThreadOptions,
    private readonly waiter: ThreadWaiter,
  ) {}

  /** Whether a question can be asked now. Starts the thread when there is none. */
  isReady(): boolean {
    this.worker ??= this.start();
    return this.isUp;
  }

  /** Asks when the thread is ready and has no other question. @throws OverrunError, or an error with the text of the worker's */
  ask(question: Q): Promise<A> {
    const { deadlineMs } = this.options;
    return new Promise((resolve, reject) => {
      const deadline = setTimeout(
        () => this.overrun(new OverrunError(`It took longer than ${deadlineMs} ms`)),
        deadlineMs,
      );
      this.running = { resolve, reject, deadline };
      this.worker!.postMessage(question);
      // The thread keeps no process alive except for callers that wait.
      this.worker!.ref();
    });
  }

  async stop(): Promise<void> {
    await this.worker?.terminate();
  }

  private start(): Worker {
    const { script, maxHeapMb, workerData } = this.options;
    const worker = new Worker(script, { resourceLimits: { maxOldGenerationSizeMb: maxHeapMb }, workerData });
    worker.on('message', (reply: ThreadReply<A>) => {
      if (worker === this.worker) this.hear(reply);
    });
    worker.on('error', (error) => {
      if (worker === this.worker) this.die(error);
    });
    return worker;
  }

  private hear(reply: ThreadReply<A>): void {
    if (reply === 'ready') {
      this.isUp = true;
      this.worker?.unref();
      return this.waiter.onReady();
    }
    const asked = this.settle();
    if ('answer' in reply) asked?.resolve(reply.answer);
    else asked?.reject(new Error(reply.error));
  }

  private settle(): Running<A> | null {
    const { running } = this;
    this.running = null;
    this.worker?.unref();
    clearTimeout(running?.deadline);
    return running;
  }

  private die(error: unknown): void {
    if (this.running !== null) return this.overrun(new OverrunError('It takes too much memory'));
    this.forget();
    this.waiter.onDeath(error);
  }

  /** The thread ends with the question that it works at; the next question gets another one. */
  private overrun(error: OverrunError): void {
    const asked = this.settle();
    this.forget();
    asked?.reject(error);
  }

  private forget(): void {
    const { worker } = this;
    this.worker = null;
    this.isUp = false;
    void worker?.terminate();
  }
}
