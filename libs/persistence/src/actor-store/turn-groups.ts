/**
 * Turns of several partitions in one transaction. Those that wait while one is under way are the next; nobody waits for
 * company that is not there yet. Turns fail alone: when a transaction of several is refused, each is tried by itself.
 */
import { sqlState } from '../pool.js';

/** Turns of one transaction. */
const MAX_TOGETHER = 64;

/** Data, integrity, rollback, lock: the server has answered that it took nothing back from a transaction like this. */
const REFUSALS = /^(?:22|23|40|55)/;

interface Waiting<Turn> {
  turn: Turn;
  resolve(): void;
  reject(error: unknown): void;
}

export class TurnGroups<Turn> {
  private waiting: Waiting<Turn>[] = [];
  private isBusy = false;

  /** @param write one transaction; rejects when nothing of it is written, or when nobody knows */
  constructor(private readonly write: (turns: readonly Turn[]) => Promise<void>) {}

  /** Resolves when the turn is committed; rejects with what `write` says of it. */
  commit(turn: Turn): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ turn, resolve, reject });
      if (this.isBusy) return;
      this.isBusy = true;
      // One cause often moves several partitions in the same round of the event loop.
      setImmediate(() => void this.work());
    });
  }

  private async work(): Promise<void> {
    while (this.waiting.length > 0) await this.commitAll(this.waiting.splice(0, MAX_TOGETHER));
    this.isBusy = false;
  }

  private async commitAll(group: readonly Waiting<Turn>[]): Promise<void> {
    try {
      await this.write(group.map(({ turn }) => turn));
      for (const { resolve } of group) resolve();
    } catch (error) {
      if (group.length > 1 && REFUSALS.test(sqlState(error) ?? '')) {
        for (const alone of group) await this.commitAll([alone]);
      } else for (const { reject } of group) reject(error);
    }
  }
}
