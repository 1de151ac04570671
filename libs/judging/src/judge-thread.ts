/** One thread for work whose cost a stranger decides: question by question, askers in turn, each within its time. */
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
  /** By asker, in the order of their turns; no list is empty. */
  private readonly waiting = new Map<string, Asked<Q, A>[]>();
  private running: { asked: Asked<Q, A>; deadline: NodeJS.Timeout } | null = null;
  private worker: Worker | null = null;
  private isReady = false;

  constructor(private readonly options: JudgeThreadOptions) {}

  /**
   * Starts the thread when there is none.
   * @param asker one question of each is answered in turn
   * @throws JudgeOverrunError, or an error with the text of the worker's
   */
  ask(question: Q, asker = ''): Promise<A> {
    return new Promise((resolve, reject) => {
      this.waiting.set(asker, [...(this.waiting.get(asker) ?? []), { question, resolve, reject }]);
      this.next();
    });
  }

  private next(): void {
    if (this.running !== null || this.waiting.size === 0) return;
    this.worker ??= this.start();
    if (!this.isReady) return;
    const asked = this.take();
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

  /** The next question; its asker goes behind all others. */
  private take(): Asked<Q, A> {
    const [asker, [asked, ...others]] = this.waiting.entries().next().value!;
    this.waiting.delete(asker);
    if (others.length > 0) this.waiting.set(asker, others);
    return asked!;
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
    for (const { reject } of [...this.waiting.values()].flat()) reject(error);
    this.waiting.clear();
  }
}
