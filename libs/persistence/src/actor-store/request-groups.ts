/**
 * One piece of work for requests of several partitions. Requests that wait while one is under way are the next. Failures
 * stay alone: a group that is refused is halved until the refused requests are found.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isRefused } from './store-errors.js';

const MAX_TOGETHER = 64;
/** Groups after a rest that keep no pace, since a new job waits for them. */
const UNPACED = 4;

interface Waiting<Ask, Answer> {
  ask: Ask;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

export class RequestGroups<Ask, Answer> {
  private waiting: Waiting<Ask, Answer>[] = [];
  private isBusy = false;
  private nextAt = 0;

  /**
   * @param work an answer to each, in their order, from one transaction; rejects when nothing is kept, or when it is unknown
   * @param paceMs from one group to the next, when many follow each other
   */
  constructor(
    private readonly work: (asks: readonly Ask[]) => Promise<readonly Answer[]>,
    private readonly paceMs = 0,
  ) {}

  /** Rejects with what `work` says of it. */
  join(ask: Ask): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ ask, resolve, reject });
      if (this.isBusy) return;
      this.isBusy = true;
      // One cause often moves several partitions in the same round of the event loop.
      setImmediate(() => void this.run());
    });
  }

  private async run(): Promise<void> {
    while (this.waiting.length > 0) {
      await this.keepPace();
      await this.serve(this.waiting.splice(0, MAX_TOGETHER));
    }
    this.isBusy = false;
  }

  private async keepPace(): Promise<void> {
    const now = performance.now();
    const restMs = this.nextAt - now;
    this.nextAt = Math.max(this.nextAt, now - UNPACED * this.paceMs) + this.paceMs;
    if (restMs > 0 && this.waiting.length < MAX_TOGETHER) await sleep(restMs);
  }

  private async serve(group: readonly Waiting<Ask, Answer>[]): Promise<void> {
    try {
      const answers = await this.work(group.map(({ ask }) => ask));
      for (const [i, { resolve }] of group.entries()) resolve(answers[i]!);
    } catch (error) {
      if (group.length > 1 && isRefused(error)) {
        const middle = group.length >> 1;
        await this.serve(group.slice(0, middle));
        await this.serve(group.slice(middle));
      } else for (const { reject } of group) reject(error);
    }
  }
}
