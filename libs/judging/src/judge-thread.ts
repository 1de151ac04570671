/** One thread for work whose cost a stranger decides: question by question, each within its time. */
import { Worker } from 'node:worker_threads';

export interface JudgeThreadOptions {
  /** Of the worker: it says `ready`, then answers each question with a `JudgeReply`. */
  script: URL;
  /** Of one question, from the moment at which the thread begins with it. Then the thread is ended. */
  deadlineMs: number;
  maxHeapMb: number;
}

export type JudgeReply<A> = 'ready' | { answer: A } | { error: string };

/** Thrown when a question took too long, or too much memory. */
export class JudgeOverrunError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'JudgeOverrunError';
  }
}

interface Asked<Q, A> {
  question: Q;
  resolve(answer: A): void;
  reject(error: unknown): void;
}

export class JudgeThread<Q, A> {
  private readonly waiting: Asked<Q, A>[] = [];
  private running: { asked: Asked<Q, A>; deadline: NodeJS.Timeout } | null = null;
  private worker: Worker | null = null;
  private isReady = false;

  constructor(private readonly options: JudgeThreadOptions) {}

  /** Starts the thread when there is none. @throws JudgeOverrunError, or an error with the text of the worker's */
  ask(question: Q): Promise<A> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ question, resolve, reject });
      this.next();
    });
  }

  private next(): void {
    if (this.running !== null || this.waiting.length === 0) return;
    this.worker ??= this.start();
    if (!this.isReady) return;
    const asked = this.waiting.shift()!;
    const { deadlineMs } = this.options;
    const deadline = setTimeout(
      () => this.end(new JudgeOverrunError(`It took longer than ${deadlineMs} ms`)),
      deadlineMs,
    );
    this.running = { asked, deadline };
    this.worker.postMessage(asked.question);
    // It keeps no process alive but for those who wait.
    this.worker.ref();
  }

  private start(): Worker {
    const { script, maxHeapMb } = this.options;
    const worker = new Worker(script, { resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } });
    worker.on('message', (reply: JudgeReply<A>) => {
      if (worker === this.worker) this.hear(reply);
    });
    worker.on('error', (error) => {
      if (worker === this.worker) this.die(error);
    });
    return worker;
  }

  private hear(reply: JudgeReply<A>): void {
    if (reply === 'ready') {
      this.isReady = true;
      this.worker?.unref();
      return this.next();
    }
    const asked = this.settle();
    if ('answer' in reply) asked?.resolve(reply.answer);
    else asked?.reject(new Error(reply.error));
    this.next();
  }

  private settle(): Asked<Q, A> | null {
    const { running } = this;
    this.running = null;
    this.worker?.unref();
    clearTimeout(running?.deadline);
    return running?.asked ?? null;
  }

  private end(error: Error): void {
    const { worker } = this;
    const asked = this.settle();
    this.worker = null;
    this.isReady = false;
    void worker?.terminate();
    asked?.reject(error);
    this.next();
  }

  /** Before it was ready nothing can be asked of it: whoever waits is told why. */
  private die(error: unknown): void {
    if (this.running !== null) return this.end(new JudgeOverrunError('It takes too much memory'));
    this.end(error instanceof Error ? error : new Error(String(error)));
    for (const { reject } of this.waiting.splice(0)) reject(error);
  }
}
