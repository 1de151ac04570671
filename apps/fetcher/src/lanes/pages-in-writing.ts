/** Fetched pages of a lane that still wait for a language model, while the lane fetches its next ones. */
import type { LaneItem } from '@troupe/contracts';

/** Each holds a document; a lane that is faster than the model waits here. */
const MAX_PAGES = 4;

export class PagesInWriting {
  private readonly work = new Set<Promise<void>>();
  private dropped: LaneItem[] = [];

  /** @param settle resolves to false when the lane was interrupted before the page had its result; never rejects */
  add(item: LaneItem, settle: () => Promise<boolean>): void {
    const work = settle().then((isSettled) => {
      if (!isSettled) this.dropped.push(item);
      this.work.delete(work);
    });
    this.work.add(work);
  }

  /** Resolves when another page may be fetched. */
  async room(): Promise<void> {
    while (this.work.size >= MAX_PAGES) await Promise.race(this.work);
  }

  /** Resolves when nothing is written any more, to the items that were left without a result. */
  async ended(): Promise<LaneItem[]> {
    await Promise.all(this.work);
    return this.dropped;
  }
}
