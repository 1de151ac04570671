/**
 * Who is alive: every process beats once a second into one bucket and watches it. Aliveness is judged on this process's
 * own clock, from the moment a beat arrives; no clock is compared between machines. While this process is cut off it
 * hears nobody, which says nothing about the others: they count as alive until `ttlMs` after it is back.
 */
import { BUCKETS } from '@troupe/contracts';
import { BucketWatch } from './bucket-watch.js';
import type { NatsLink } from './nats-link.js';

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
}

export class MemberBoard {
  readonly #seen = new Map<string, Seen>();
  readonly #watch: BucketWatch;
  readonly #ttlMs: number;
  readonly #beatMs: number;
  readonly #now: () => number;
  #self: Member | null = null;
  #timer: NodeJS.Timeout | null = null;
  /** Since when beats are heard without a break; null while they are not. */
  #hearingSince: number | null = null;

  constructor(
    private readonly link: NatsLink,
    options: MemberBoardOptions = {},
  ) {
    this.#ttlMs = options.ttlMs ?? 5_000;
    this.#beatMs = options.beatMs ?? 1_000;
    this.#now = options.now ?? (() => performance.now());
    this.#watch = new BucketWatch(link, BUCKETS.members, {
      onReset: () => (this.#hearingSince = null),
      onChange: ({ key, value }) => this.#note(key, value),
      onSynced: () => (this.#hearingSince = this.#now()),
    });
  }

  /** Joins under this id and resolves when the other members are known. */
  async start(member: Member): Promise<void> {
    this.#self = member;
    await this.#beat();
    await this.#watch.start();
    this.#timer = setInterval(() => void this.#beat(), this.#beatMs);
  }

  /** True for ourselves, and for everybody while nobody can be heard. */
  isAlive(id: string): boolean {
    if (id === this.#self?.id) return true;
    if (this.#hearingSince === null || !this.link.isUp()) return true;
    const seen = this.#seen.get(id);
    return seen !== undefined && this.#isFresh(seen);
  }

  list(): Member[] {
    const members = [...this.#seen].filter(([id, seen]) => id !== this.#self?.id && this.#isFresh(seen));
    const others = members.map(([id, { kind }]) => ({ id, kind }));
    return this.#self === null ? others : [this.#self, ...others];
  }

  /** Leaves; the others know at once. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#watch.stop();
    if (this.#self === null || !this.link.isUp()) return;
    const bucket = await this.link.kv(BUCKETS.members);
    await bucket.purge(this.#self.id).catch((error: unknown) => this.link.problem('member not signed off', error));
    this.#self = null;
  }

  #isFresh(seen: Seen): boolean {
    const now = this.#now();
    if (this.#hearingSince === null || !this.link.isUp()) return true;
    return now - Math.max(seen.at, this.#hearingSince) < this.#ttlMs;
  }

  #note(id: string, value: Uint8Array | null): void {
    if (value === null) this.#seen.delete(id);
    else this.#seen.set(id, { kind: Buffer.from(value).toString(), at: this.#now() });
  }

  async #beat(): Promise<void> {
    const { id, kind } = this.#self!;
    if (!this.link.isUp()) return;
    try {
      await (await this.link.kv(BUCKETS.members)).put(id, kind, { timeout: this.#beatMs });
    } catch (error) {
      this.link.problem('heartbeat not written', error);
    }
  }
}
