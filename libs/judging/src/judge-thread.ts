/** A bounded thread that many callers share: it takes one question of each in turn. */
import { BoundedThread, type BoundedThreadOptions } from './bounded-thread.js';

interface Asked<Q, A> {
  question: Q;
  resolve(answer: A): void;
  reject(error: unknown): void;
}

export class JudgeThread<Q, A> {
  /** By asker, in the order of their turns; no list is empty. */
  private readonly waiting = new Map<string, Asked<Q, A>[]>();
  private isAsking = false;
  private readonly thread: BoundedThread<Q, A>;

  constructor(options: BoundedThreadOptions) {
    this.thread = new BoundedThread(options, {
      onReady: () => this.next(),
      onDeath: (error) => {
        for (const { reject } of [...this.waiting.values()].flat()) reject(error);
        this.waiting.clear();
      },
    });
  }

  /**
   * @param asker one question of each is answered in turn
   * @throws as `BoundedThread.ask`
   */
  ask(question: Q, asker = ''): Promise<A> {
    return new Promise((resolve, reject) => {
      this.waiting.set(asker, [...(this.waiting.get(asker) ?? []), { question, resolve, reject }]);
      this.next();
    });
  }

  private next(): void {
    if (this.isAsking || this.waiting.size === 0 || !this.thread.isReady()) return;
    const { question, resolve, reject } = this.take();
    this.isAsking = true;
    this.thread
      .ask(question)
      .finally(() => (this.isAsking = false))
      .then(resolve, reject)
      .finally(() => this.next());
  }

  /** The next question; its asker goes behind all others. */
  private take(): Asked<Q, A> {
    const [asker, [asked, ...others]] = this.waiting.entries().next().value!;
    this.waiting.delete(asker);
    if (others.length > 0) this.waiting.set(asker, others);
    return asked!;
  }
}
