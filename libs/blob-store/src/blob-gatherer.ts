import { putMany, type BlobStore } from './blob-store.js';

/** Least time from one blob to the next: documents that come meanwhile share one. A document after a rest does not wait. */
const PACE_MS = 50;
const MAX_BYTES = 1024 * 1024;

interface Waiting {
  bytes: Uint8Array;
  settle(key: string): void;
  fail(error: unknown): void;
}

/** Stores documents of a whole process that come at about the same time together. For bytes that may share a blob. */
export class BlobGatherer implements Pick<BlobStore, 'put'> {
  private waiting: Waiting[] = [];
  private bytes = 0;
  private hour = '';
  private timer: NodeJS.Timeout | null = null;
  private nextAt = 0;

  constructor(private readonly store: Pick<BlobStore, 'put'>) {}

  /** As `BlobStore.put`, a little later. When it fails, it fails for all that were gathered. */
  put(bytes: Uint8Array, hour: string): Promise<string> {
    if (hour !== this.hour) void this.flush();
    this.hour = hour;
    return new Promise((settle, fail) => {
      this.waiting.push({ bytes, settle, fail });
      this.bytes += bytes.byteLength;
      if (this.bytes >= MAX_BYTES) void this.flush();
      else this.timer ??= setTimeout(() => void this.flush(), Math.max(0, this.nextAt - performance.now()));
    });
  }

  private async flush(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const waiting = this.waiting;
    if (waiting.length === 0) return;
    this.waiting = [];
    this.bytes = 0;
    this.nextAt = performance.now() + PACE_MS;
    try {
      const pieces = waiting.map(({ bytes }) => bytes);
      const keys = await putMany(this.store, pieces, this.hour);
      for (const [index, { settle }] of waiting.entries()) settle(keys[index]!);
    } catch (error) {
      for (const { fail } of waiting) fail(error);
    }
  }
}
