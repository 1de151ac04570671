/**
 * One watcher of a KV bucket that outlives the server: made again after every reconnect (the bucket may be a new one
 * with smaller revisions) and, with a growing pause, whenever it ends.
 */
import type { KvWatchEntry } from '@nats-io/kv';
import type { QueuedIterator } from '@nats-io/nats-core';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsLink } from './nats-link.js';

export interface BucketChange {
  key: string;
  /** null: deleted. */
  value: Uint8Array | null;
  revision: number;
  /** False for what was in the bucket before the watcher. */
  isUpdate: boolean;
}

export interface BucketWatchHandlers {
  /** A new watcher: what follows is the whole bucket, then its changes. */
  onReset(): void;
  onChange(change: BucketChange): void;
  /** Everything that was in the bucket has been seen. */
  onSynced(): void;
}

const MIN_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 30_000;

export class BucketWatch {
  private iterator: QueuedIterator<KvWatchEntry> | null = null;
  private stopped = false;
  private wake = new AbortController();
  private loop: Promise<void> | null = null;
  private unlisten: (() => void) | null = null;

  constructor(
    private readonly link: NatsLink,
    private readonly bucket: string,
    private readonly handlers: BucketWatchHandlers,
  ) {}

  /** Resolves when the bucket has been read once. */
  start(): Promise<void> {
    this.unlisten = this.link.onRestored(() => this.renew());
    return new Promise((synced) => {
      this.loop = this.run(synced);
    });
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.unlisten?.();
    this.renew();
    await this.loop;
  }

  /** Ends the present watcher, or the pause before the next. */
  private renew(): void {
    this.wake.abort();
    this.iterator?.stop();
  }

  private async run(synced: () => void): Promise<void> {
    let backoffMs = MIN_BACKOFF_MS;
    while (!this.stopped) {
      this.wake = new AbortController();
      const openedAt = performance.now();
      try {
        await this.follow(synced);
      } catch (error) {
        this.link.problem(`watcher of bucket ${this.bucket} ended`, error);
      }
      this.iterator = null;
      if (performance.now() - openedAt > MAX_BACKOFF_MS) backoffMs = MIN_BACKOFF_MS;
      if (this.stopped || this.wake.signal.aborted) continue;
      await sleep(backoffMs, undefined, { signal: this.wake.signal }).catch(() => undefined);
      backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS);
    }
  }

  private async follow(synced: () => void): Promise<void> {
    const kv = await this.link.kv(this.bucket);
    const isEmpty = (await kv.status()).values === 0;
    const iterator = await kv.watch();
    this.iterator = iterator;
    if (this.stopped || this.wake.signal.aborted) return iterator.stop();
    this.handlers.onReset();
    let isSynced = false;
    const sync = () => {
      if (isSynced) return;
      isSynced = true;
      this.handlers.onSynced();
      synced();
    };
    if (isEmpty) sync();
    for await (const entry of iterator) {
      if (entry.isUpdate && entry.delta !== 0) sync();
      this.handlers.onChange(changeOf(entry, isSynced));
      if (entry.delta === 0) sync();
    }
  }
}

function changeOf(entry: KvWatchEntry, isUpdate: boolean): BucketChange {
  const value = entry.operation === 'PUT' ? entry.value : null;
  return { key: entry.key, value, revision: entry.revision, isUpdate };
}
