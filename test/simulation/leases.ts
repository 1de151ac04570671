/** The bucket of leases that all replicas of a world see. */
import type { LeaseBoard } from '@troupe/actors';
import { PARTITIONS } from '@troupe/contracts';
import { StoreAwayError } from './store-troubles.js';
import type { Stage } from './stage.js';

interface Lease {
  owner: string;
  changedAt: number;
}

/** A lease that was not renewed, or a member that was not seen for so long, is gone. */
export const LEASE_MS = 3_000;

export class Leases {
  private readonly leases = new Map<number, Lease>();
  private readonly takenAt = new Map<number, number>();
  private readonly seenAt = new Map<string, number>();
  /** Replicas that want no share for the moment. */
  private readonly aside = new Set<string>();
  /** Until when renewals get no answer. */
  private deafUntil = 0;

  constructor(private readonly stage: Stage) {}

  board(id: string): LeaseBoard {
    return {
      start: () => Promise.resolve(void this.seenAt.set(id, this.now)),
      liveMembers: () => this.members(id),
      free: () => Array.from({ length: PARTITIONS }, (_, part) => part).filter((part) => this.isFree(part)),
      acquire: (part) => Promise.resolve(this.acquire(id, part)),
      renew: (part) => this.renew(id, part),
      release: (part) => Promise.resolve(this.release(id, part)),
      stepAside: () => Promise.resolve(this.stepAside(id)),
      stepIn: () => Promise.resolve(void this.aside.delete(id)),
      stop: () => Promise.resolve(void this.seenAt.delete(id)),
    };
  }

  /** Somebody takes a lease although its owner lives. */
  steal(): void {
    const held = [...this.leases.keys()];
    if (held.length > 0) this.leases.delete(this.stage.random.pick(held));
  }

  fallSilent(ms: number): void {
    this.deafUntil = this.now + ms;
  }

  ownerOf(part: number): string | null {
    return this.leases.get(part)?.owner ?? null;
  }

  /** When somebody took it last, however soon that one died. */
  lastTaken(part: number): number {
    return this.takenAt.get(part) ?? -Infinity;
  }

  private get now(): number {
    return this.stage.time.now();
  }

  private stepAside(id: string): void {
    this.aside.add(id);
    this.seenAt.delete(id);
  }

  /** Whoever looks is alive. */
  private members(id: string): string[] {
    if (!this.aside.has(id)) this.seenAt.set(id, this.now);
    return [...this.seenAt].filter(([, at]) => this.now - at < LEASE_MS).map(([member]) => member);
  }

  private isFree(part: number): boolean {
    const lease = this.leases.get(part);
    if (lease === undefined) return true;
    return this.stage.mutation.keepsDead !== true && this.now - lease.changedAt >= LEASE_MS;
  }

  private acquire(owner: string, part: number): boolean {
    if (!this.isFree(part)) return false;
    this.leases.set(part, { owner, changedAt: this.now });
    this.takenAt.set(part, this.now);
    return true;
  }

  private renew(id: string, part: number): Promise<boolean> {
    if (this.stage.isFaulty && this.now < this.deafUntil)
      return Promise.reject(new StoreAwayError('of leases is away'));
    const lease = this.leases.get(part);
    if (lease?.owner !== id) return Promise.resolve(this.stage.mutation.keepsLeases === true);
    lease.changedAt = this.now;
    return Promise.resolve(true);
  }

  private release(id: string, part: number): void {
    if (this.leases.get(part)?.owner === id) this.leases.delete(part);
  }
}
