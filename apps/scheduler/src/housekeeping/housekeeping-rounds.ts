/** Hourly care of tables and blobs. */
import type { ActorRuntime } from '@troupe/actors';
import type { BlobStore } from '@troupe/blob-store';
import type { Logger } from '@troupe/observability';
import type { Housekeeping } from '@troupe/persistence';
import { LEADER_PARTITION, type Chore } from './rounds.js';

export class HousekeepingRounds implements Chore {
  readonly everyMs = 3_600_000;

  constructor(
    private readonly tables: Pick<Housekeeping, 'ensurePartitions' | 'dropExpired'>,
    private readonly blobs: Pick<BlobStore, 'listHours' | 'dropHour'>,
    private readonly runtime: Pick<ActorRuntime, 'partitions'>,
    private readonly log: Pick<Logger, 'info' | 'warn'>,
  ) {}

  /** Partitions for the days ahead, expired days and blob hours dropped. */
  async round(now = new Date()): Promise<void> {
    if (!this.runtime.partitions.includes(LEADER_PARTITION)) return;
    try {
      await this.tables.ensurePartitions();
      const tables = await this.tables.dropExpired();
      const hours = await this.dropBlobs(now);
      if (tables.length + hours > 0) this.log.info({ tables, hours }, 'expired results dropped');
    } catch (error) {
      this.log.warn({ err: error }, 'housekeeping failed; the next round tries again');
    }
  }

  /** A blob's hour is the latest at which anything may read it. */
  private async dropBlobs(now: Date): Promise<number> {
    const current = now.toISOString().slice(0, 13).replace(/[-T]/g, '');
    const expired = (await this.blobs.listHours()).filter((hour) => hour < current);
    for (const hour of expired) await this.blobs.dropHour(hour);
    return expired.length;
  }
}
