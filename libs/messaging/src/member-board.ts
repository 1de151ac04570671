/**
 * The living members: every process beats once a second into one bucket and watches it. Aliveness is judged on this process's
 * own clock, from the moment a beat arrives; no clock is compared between machines. While this process is cut off, or stands
 * still, it hears no beat, which says nothing about the others: they count as alive until `ttlMs` after it is back.
 *
 * A member that misses a beat is asked for: when NATS says several times that it is not connected it is dead before `ttlMs`
 * (docs/adr/0043).
 */
import type { Subscription } from '@nats-io/nats-core';
import { BUCKETS } from '@troupe/contracts';
import { BucketWatch, type BucketChange } from './bucket-watch.js';
import type { NatsLink } from './nats-link.js';
import { ABSENCES, announcePresence, isAbsent } from './presence.js';

export interface Member {
  id: string;
  /** Name of the service. */
  kind: string;
}

export interface MemberBoardOptions {
  /** Silence after which a member is taken for dead. @default 5000 */
  ttlMs?: number;
  /** @default 1000 */
  beatMs?: number;
  /** Monotonic, in ms. @default performance.now */
  now?: () => number;
}

interface Seen {
  kind: string;
  at: number;
  /** False: all of its beats were in the bucket before this process came, and may be minutes old. */
  isHeard: boolean;
  /** How often in a row NATS has not found it since. */
  absences: number;
}

/** Beats. A member that is silent for this long is asked for. */
const DOUBT = 1.5;
/** Beats. A process that has not looked around for this long cannot say who is silent. */
const STANDSTILL = 2;
/** Beats. A process whose beat was stored so lately is not taken for dead: doubt and absences last longer. */
const SURE = 2;

export class MemberBoard {
  private readonly seen = new Map<string, Seen>();
  private readonly watch: BucketWatch;
  private readonly ttlMs: number;
  private readonly beatMs: number;
  private readonly now: () => number;
  private self: Member | null = null;
  private isAside = false;
  private timers: NodeJS.Timeout[] = [];
  private presence: Subscription | null = null;
  private lookedAt = 0;
  /** When the newest beat that was stored was sent. */
  private beatAt = -Infinity;
  private unlisten: (() => void) | null = null;
  /** Since when beats are heard without a break; null while they are not. */
  private hearingSince: number | null = null;

  constructor(
    private readonly link: NatsLink,
    options: MemberBoardOptions = {},
  ) {
    this.ttlMs = options.ttlMs ?? 5_000;
    this.beatMs = options.beatMs ?? 1_000;
    this.now = options.now ?? (() => performance.now());
    this.watch = new BucketWatch(link, BUCKETS.members, {
      onReset: () => (this.hearingSince = null),
      onChange: (change) => this.note(change),
      onSynced: () => (this.hearingSince = this.now()),
    });
  }

  /** Joins under this id and resolves when the other members are known. */
  async start(member: Member): Promise<void> {
    this.self = member;
    this.presence = announcePresence(this.link, member.id);
    await this.beat();
    await this.watch.start();
    this.unlisten = this.link.onRestored(() => void this.beat());
    this.lookedAt = this.now();
    this.timers = [setInterval(() => void this.beat(), this.beatMs), setInterval(() => this.look(), this.beatMs / 2)];
  }

  /** False when this process may have stood still, or been cut off, for so long that others take it for dead. */
  isSurelySeen(): boolean {
    return this.now() - this.beatAt < SURE * this.beatMs;
  }

  /** True for ourselves, and for all others while no beat can be heard. */
  isAlive(id: string): boolean {
    if (id === this.self?.id) return true;
    if (!this.isHearing()) return true;
    const seen = this.seen.get(id);
    return seen !== undefined && this.isFresh(seen);
  }

  list(): Member[] {
    const members = [...this.seen].filter(([id, seen]) => id !== this.self?.id && this.isFresh(seen));
    const others = members.map(([id, { kind }]) => ({ id, kind }));
    return this.self === null ? others : [this.self, ...others];
  }

  /** For the others this process is gone until it steps in again; it goes on watching. */
  async stepAside(): Promise<void> {
    this.isAside = true;
    await this.signOff();
  }

  stepIn(): Promise<void> {
    this.isAside = false;
    return this.beat();
  }

  /** Leaves; the others know at once. */
  async stop(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    this.unlisten?.();
    if (!this.link.nc.isClosed()) this.presence?.unsubscribe();
    await this.watch.stop();
    await this.signOff();
    this.self = null;
  }

  private async signOff(): Promise<void> {
    if (this.self === null || !this.link.isUp()) return;
    const { id } = this.self;
    try {
      await (await this.link.kv(BUCKETS.members)).purge(id);
    } catch (error) {
      this.link.problem('member not signed off', error);
    }
  }

  private isFresh(seen: Seen): boolean {
    if (!this.isHearing()) return true;
    return seen.absences < ABSENCES && this.silenceMs(seen) < this.ttlMs;
  }

  private silenceMs({ at }: Seen): number {
    return this.now() - Math.max(at, this.hearingSince ?? Infinity);
  }

  private isHearing(): boolean {
    return this.hearingSince !== null && this.link.isUp() && !this.stoodStill();
  }

  private stoodStill(): boolean {
    return this.now() - this.lookedAt > STANDSTILL * this.beatMs;
  }

  private look(): void {
    // Until the watch is made anew after a break, nothing that was missed has been heard.
    if (!this.link.isUp()) this.hearingSince = null;
    else if (this.hearingSince !== null && this.stoodStill()) this.hearingSince = this.now();
    this.lookedAt = this.now();
    if (!this.isHearing()) return;
    for (const [id, seen] of this.seen) {
      const silenceMs = this.silenceMs(seen);
      const isDoubtful = !seen.isHeard || silenceMs > DOUBT * this.beatMs;
      if (isDoubtful && silenceMs < this.ttlMs) void this.askFor(id, seen);
    }
  }

  private async askFor(id: string, seen: Seen): Promise<void> {
    const { at } = seen;
    const isGone = await isAbsent(this.link, id, this.beatMs / 2);
    if (seen.at === at) seen.absences = isGone ? seen.absences + 1 : 0;
  }

  private note({ key, value, isUpdate }: BucketChange): void {
    if (value === null) this.seen.delete(key);
    else this.seen.set(key, { kind: Buffer.from(value).toString(), at: this.now(), isHeard: isUpdate, absences: 0 });
  }

  private async beat(): Promise<void> {
    const { id, kind } = this.self!;
    if (this.isAside || !this.link.isUp()) return;
    const sentAt = this.now();
    try {
      await (await this.link.kv(BUCKETS.members)).put(id, kind, { timeout: this.beatMs });
      this.beatAt = Math.max(this.beatAt, sentAt);
    } catch (error) {
      this.link.problem('heartbeat not written', error);
    }
  }
}
