/**
 * Cancelled jobs, known to every process within milliseconds (docs/design/frontier.md, "Cancel and pause"). A cancel is never taken back.
 */
import { BUCKETS, type Uuid } from '@troupe/contracts';
import { LRUCache } from 'lru-cache';
import { BucketWatch } from './bucket-watch.js';
import type { NatsLink } from './nats-link.js';

const REMEMBERED_JOBS = 100_000;

export class CancelBoard {
  private readonly cancelled = new LRUCache<Uuid, true>({ max: REMEMBERED_JOBS });
  private readonly listeners = new Set<(job: Uuid) => void>();
  private readonly watch: BucketWatch;

  constructor(private readonly link: NatsLink) {
    this.watch = new BucketWatch(link, BUCKETS.cancel, {
      onReset: () => undefined,
      onChange: ({ key, value }) => {
        if (value !== null) this.note(key);
      },
      onSynced: () => undefined,
    });
  }

  start(): Promise<void> {
    return this.watch.start();
  }

  stop(): Promise<void> {
    return this.watch.stop();
  }

  isCancelled(job: Uuid): boolean {
    return this.cancelled.has(job);
  }

  /** Called once per job. Returns the way out. */
  onCancel(listener: (job: Uuid) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  async cancel(job: Uuid): Promise<void> {
    this.note(job);
    await (await this.link.kv(BUCKETS.cancel)).put(job, '1');
  }

  private note(job: Uuid): void {
    if (this.cancelled.has(job)) return;
    this.cancelled.set(job, true);
    for (const listener of this.listeners) listener(job);
  }
}
