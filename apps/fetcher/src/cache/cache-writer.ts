/**
 * Pages on their way into the cache: gathered, compressed and stored together, off the path of the scrapes and lanes
 * that fetched them.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { hourOf, putMany, type BlobStore } from '@troupe/blob-store';
import { brotliAside } from '@troupe/packing';
import { siteOf } from '@troupe/frontier';
import type { CachedPageMeta, PageCacheKey, PageCacheRepository } from '@troupe/persistence';

const GATHER_MS = 250;
/** The most pages stored with one blob and one statement. */
const MAX_PAGES = 64;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
/** Pages beyond it are not kept: the store is slower than the web. */
const MAX_WAITING_BYTES = 48 * 1024 * 1024;
/** A full cache is looked at again after this time. */
const FULL_MS = 30_000;
/** Longest life of an entry; its blob lives an hour longer. */
const KEPT_HOURS = 7 * 24;
const HOUR_MS = 3_600_000;

export interface CacheWriterParts {
  index: Pick<PageCacheRepository, 'store' | 'renew'>;
  blobs: Pick<BlobStore, 'put'>;
  /** Compressed size of the whole cluster's cache. */
  maxBytes: number;
  log: { warn(context: object, message: string): void };
  /** @default Date.now */
  wallMs?: () => number;
}

export interface FetchedBody {
  key: PageCacheKey;
  url: string;
  meta: CachedPageMeta;
  body: Uint8Array;
}

/** Called when the page is in the index, or will not come there. */
type OnSettled = () => void;
type Kept = FetchedBody & { onSettled: OnSettled };
interface Renewal {
  key: PageCacheKey;
  onSettled: OnSettled;
}

export class CacheWriter {
  private pages: Kept[] = [];
  private renewals: Renewal[] = [];
  private waitingBytes = 0;
  private fullUntil = 0;
  private timer: NodeJS.Timeout | null = null;
  private writing: Promise<void> | null = null;
  private isFailing = false;

  constructor(private readonly parts: CacheWriterParts) {}

  /** False: a page of that size would not be kept now. */
  hasRoom(bytes: number): boolean {
    return this.waitingBytes + bytes <= MAX_WAITING_BYTES && this.nowMs() >= this.fullUntil;
  }

  /** Forgets the page when there is no room. `body` stays as it is from now on. */
  keep(page: FetchedBody, onSettled: OnSettled = () => undefined): void {
    if (!this.hasRoom(page.body.byteLength)) return onSettled();
    this.pages.push({ ...page, onSettled });
    this.waitingBytes += page.body.byteLength;
    this.schedule();
  }

  renew(key: PageCacheKey, onSettled: OnSettled = () => undefined): void {
    this.renewals.push({ key, onSettled });
    this.schedule();
  }

  /** Resolves when everything that was kept is stored, or has failed. */
  async drain(): Promise<void> {
    while (this.isWaiting() || this.writing !== null) {
      this.write();
      await this.writing;
    }
  }

  private isWaiting(): boolean {
    return this.pages.length + this.renewals.length > 0;
  }

  private nowMs(): number {
    return (this.parts.wallMs ?? Date.now)();
  }

  private schedule(): void {
    if (this.writing !== null) return;
    if (this.pages.length >= MAX_PAGES || this.waitingBytes >= MAX_BATCH_BYTES) this.write();
    else this.timer ??= setTimeout(() => this.write(), GATHER_MS);
  }

  private write(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.writing ??= this.writeSome().finally(() => {
      this.writing = null;
      if (this.isWaiting()) this.schedule();
    });
  }

  private async writeSome(): Promise<void> {
    const pages = this.takePages();
    const renewals = this.renewals;
    this.renewals = [];
    try {
      if (pages.length > 0) await this.store(pages);
      if (renewals.length > 0) await this.parts.index.renew(renewals.map(({ key }) => key));
      this.isFailing = false;
    } catch (error) {
      this.report(error);
    }
    for (const { body } of pages) this.waitingBytes -= body.byteLength;
    for (const { onSettled } of [...pages, ...renewals]) onSettled();
  }

  private takePages(): Kept[] {
    let bytes = 0;
    const count = this.pages.findIndex(
      ({ body }, index) => index >= MAX_PAGES || (bytes += body.byteLength) > MAX_BATCH_BYTES,
    );
    return this.pages.splice(0, count === -1 ? this.pages.length : Math.max(1, count));
  }

  private async store(pages: readonly FetchedBody[]): Promise<void> {
    const { index, blobs, maxBytes } = this.parts;
    const packed = await pack(pages);
    const hour = hourOf(this.nowMs() + (KEPT_HOURS + 1) * HOUR_MS);
    const keys = await putMany(blobs, packed, hour);
    const rows = pages.map(({ key, url, meta }, i) => ({ ...key, url, siteH: siteOf(url), meta, blob: keys[i]! }));
    const bytes = packed.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const total = await index.store(rows, { hour, bytes });
    if (total > maxBytes) this.fullUntil = this.nowMs() + FULL_MS;
  }

  /** Logged once per outage: pages that are not kept are only fetched again. */
  private report(error: unknown): void {
    if (!this.isFailing) this.parts.log.warn({ err: error }, 'pages are not kept in the cache');
    this.isFailing = true;
  }
}

/** Packs one page after the other and lets other work run in between: no caller waits for the cache. */
async function pack(pages: readonly FetchedBody[]): Promise<Buffer[]> {
  const packed: Buffer[] = [];
  for (const { body } of pages) {
    await nextTurn();
    packed.push(await brotliAside(body));
  }
  return packed;
}
