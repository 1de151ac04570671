/**
 * Deletes data that is no longer wanted, every minute: jobs with zero data retention, cached pages beyond their time or
 * room, old histories, files that no result points to any more.
 */
import type { ActorRuntime } from '@troupe/actors';
import { hourOf, type BlobRoots, type BlobStore } from '@troupe/blob-store';
import type { Logger } from '@troupe/observability';
import type { Retention } from '@troupe/persistence';
import { LEADER_PARTITION, type Chore } from './rounds.js';

/** A cache beyond its room is brought down to this share, so that there is room until the next round. */
const FILL = 0.9;

export interface RetentionParts {
  rows: Pick<
    Retention,
    'eraseJobs' | 'unfinishedJobs' | 'cacheBuckets' | 'dropCachedPages' | 'dropCacheBucket' | 'dropHistories'
  >;
  blobs: Pick<BlobRoots, 'cache' | 'snapshots' | 'artifacts' | 'erasable'>;
  runtime: Pick<ActorRuntime, 'partitions'>;
  cacheMaxBytes: number;
  historyHours: number;
  log: Pick<Logger, 'info' | 'warn'>;
}

export class RetentionRounds implements Chore {
  readonly everyMs = 60_000;
  private isRunning = false;

  constructor(private readonly parts: RetentionParts) {}

  async round(now = new Date()): Promise<void> {
    if (this.isRunning || !this.parts.runtime.partitions.includes(LEADER_PARTITION)) return;
    this.isRunning = true;
    const hour = hourOf(now.getTime());
    await this.chore('jobs with zero data retention', () => this.eraseJobs());
    await this.chore('the cache of pages', () => this.sweepCache(hour));
    await this.chore('histories of pages', () => this.sweepHistories(hour));
    await this.chore('files that results point to', () =>
      dropHours(this.parts.blobs.artifacts, (stored) => stored < hour),
    );
    this.isRunning = false;
  }

  private async chore(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.parts.log.warn(
        { err: error },
        `${name}: expired data was not removed completely; the next round tries again`,
      );
    }
  }

  /** Erases rows first. Then folders that a crash or a late fetcher left behind belong to no waiting job. */
  private async eraseJobs(): Promise<void> {
    const { rows, blobs, log } = this.parts;
    const jobs = await rows.eraseJobs();
    const folders = await blobs.erasable.jobs();
    const unfinished = await rows.unfinishedJobs(folders);
    for (const job of folders) if (!unfinished.has(job)) await blobs.erasable.erase(job);
    if (jobs.length > 0) log.info({ jobs }, 'jobs with zero data retention erased');
  }

  private async sweepCache(hour: string): Promise<void> {
    const { rows, blobs, log } = this.parts;
    const buckets = await rows.cacheBuckets();
    const dropped = [...bucketsToDrop(buckets, hour, this.parts.cacheMaxBytes)];
    for (const bucket of dropped) {
      await rows.dropCachedPages(bucket);
      await blobs.cache.dropHour(bucket);
      await rows.dropCacheBucket(bucket);
    }
    const known = new Set(buckets.map((bucket) => bucket.hour));
    await dropHours(blobs.cache, (stored) => stored < hour || (buckets.length > 0 && isOrphan(stored, known)));
    if (dropped.length > 0) log.info({ hours: dropped }, 'cached pages dropped');
  }

  private async sweepHistories(hour: string): Promise<void> {
    await this.parts.rows.dropHistories(this.parts.historyHours);
    await dropHours(this.parts.blobs.snapshots, (stored) => stored < hour);
  }
}

/** Expired buckets, then the oldest until the rest fits. The newest stays, because it is being written. */
export function bucketsToDrop(
  buckets: readonly { hour: string; bytes: number }[],
  hour: string,
  maxBytes: number,
): Set<string> {
  const dropped = new Set<string>();
  let total = buckets.reduce((sum, { bytes }) => sum + bytes, 0);
  const goal = total > maxBytes ? FILL * maxBytes : maxBytes;
  for (const [index, bucket] of buckets.entries()) {
    const isOver = bucket.hour < hour;
    const isTooMuch = total > goal && (index < buckets.length - 1 || maxBytes === 0);
    if (!isOver && !isTooMuch) continue;
    dropped.add(bucket.hour);
    total -= bucket.bytes;
  }
  return dropped;
}

/**
 * True for bodies whose rows were lost with a crash of Postgres. Rows of the newest hour may still be on their way into
 * the table.
 */
function isOrphan(hour: string, known: ReadonlySet<string>): boolean {
  const newest = [...known].sort().at(-1) ?? '';
  return hour < newest && !known.has(hour);
}

async function dropHours(
  blobs: Pick<BlobStore, 'listHours' | 'dropHour'>,
  isOver: (hour: string) => boolean,
): Promise<void> {
  for (const hour of (await blobs.listHours()).filter(isOver)) await blobs.dropHour(hour);
}
