/**
 * Leases on partitions, one key each in bucket `part`.
 *
 * At most one holder is *believed*. Safety comes from the epoch that Postgres mints for a new owner and that every
 * commit compares: a paused holder loses its write, not our data.
 */
import type { KV } from '@nats-io/kv';
import type { LeaseBoard } from '@troupe/actors';
import { BUCKETS, PARTITIONS } from '@troupe/contracts';
import { BucketWatch, type BucketChange } from './bucket-watch.js';
import { isRevisionConflict } from './kv-errors.js';
import { MemberBoard } from './member-board.js';
import type { NatsLink } from './nats-link.js';

export interface KvLeaseBoardOptions {
  /** Unique for this process: a restarted service must come with a new one. */
  id: string;
  /** Kind of member that counts as a replica. @default 'scheduler' */
  kind?: string;
  /** A lease that has not moved for this long is free. @default 3000 */
  ttlMs?: number;
  /** Longest wait for one compare-and-set. @default 1500 */
  timeoutMs?: number;
  /** Monotonic, in ms. @default performance.now */
  now?: () => number;
}

interface LeaseView {
  revision: number;
  owner: string;
  changedAt: number;
}

export class KvLeaseBoard implements LeaseBoard {
  private readonly members: MemberBoard;
  private readonly watch: BucketWatch;
  private readonly leases = new Map<number, LeaseView>();
  private readonly held = new Map<number, number>();
  private readonly kind: string;
  private readonly ttlMs: number;
  private readonly timeoutMs: number;
  private readonly now: () => number;
  private isSynced = false;

  constructor(
    private readonly link: NatsLink,
    private readonly options: KvLeaseBoardOptions,
  ) {
    this.kind = options.kind ?? 'scheduler';
    this.ttlMs = options.ttlMs ?? 3_000;
    this.timeoutMs = options.timeoutMs ?? 1_500;
    this.now = options.now ?? (() => performance.now());
    this.members = new MemberBoard(link, { ttlMs: this.ttlMs, now: this.now });
    this.watch = new BucketWatch(link, BUCKETS.partition, {
      onReset: () => this.forget(),
      onChange: (change) => this.note(change),
      onSynced: () => (this.isSynced = true),
    });
  }

  async start(): Promise<void> {
    await this.members.start({ id: this.options.id, kind: this.kind });
    await this.watch.start();
  }

  liveMembers(): string[] {
    const replicas = this.members.list().filter(({ kind }) => kind === this.kind);
    return replicas.map(({ id }) => id);
  }

  /** Its own leases count like those of others: one that was given up without a release is free once it has not moved. */
  free(): number[] {
    if (!this.isSynced || !this.link.isUp()) return [];
    const now = this.now();
    const partitions = Array.from({ length: PARTITIONS }, (_, part) => part);
    return partitions.filter((part) => this.isFree(part, now));
  }

  async acquire(part: number): Promise<boolean> {
    const known = this.leases.get(part)?.revision ?? 0;
    const revision = await this.compareAndSet(part, this.options.id, known);
    if (revision === null) return false;
    this.held.set(part, revision);
    return true;
  }

  async renew(part: number): Promise<boolean> {
    const held = this.held.get(part);
    if (held === undefined) return false;
    const revision = (await this.compareAndSet(part, this.options.id, held)) ?? (await this.renewUnseen(part));
    if (revision === null) this.held.delete(part);
    else if (this.held.has(part)) this.held.set(part, revision);
    return revision !== null;
  }

  async release(part: number): Promise<void> {
    const held = this.held.get(part);
    this.held.delete(part);
    if (held !== undefined) await this.compareAndSet(part, '', held);
  }

  stepAside(): Promise<void> {
    return this.members.stepAside();
  }

  stepIn(): Promise<void> {
    return this.members.stepIn();
  }

  async stop(): Promise<void> {
    await this.watch.stop();
    await this.members.stop();
  }

  /** An earlier renewal may have been written although its answer was lost. */
  private async renewUnseen(part: number): Promise<number | null> {
    const entry = await (await this.bucket()).get(String(part));
    if (entry === null || entry.operation !== 'PUT' || entry.string() !== this.options.id) return null;
    return this.compareAndSet(part, this.options.id, entry.revision);
  }

  /** The new revision, or null when the key has moved on. Rejects when the server does not answer in time. */
  private async compareAndSet(part: number, value: string, previousSeq: number): Promise<number | null> {
    try {
      return await (await this.bucket()).put(String(part), value, { previousSeq, timeout: this.timeoutMs });
    } catch (error) {
      if (isRevisionConflict(error)) return null;
      throw error;
    }
  }

  private bucket(): Promise<KV> {
    return this.link.kv(BUCKETS.partition);
  }

  private isFree(part: number, now: number): boolean {
    const lease = this.leases.get(part);
    return lease === undefined || lease.owner === '' || now - lease.changedAt >= this.ttlMs;
  }

  private forget(): void {
    this.isSynced = false;
    this.leases.clear();
  }

  private note({ key, value, revision }: BucketChange): void {
    const owner = value === null ? '' : Buffer.from(value).toString();
    this.leases.set(Number(key), { revision, owner, changedAt: this.now() });
  }
}
