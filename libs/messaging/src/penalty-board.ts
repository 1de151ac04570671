/**
 * Hosts that asked us to slow down, told to every fetcher at once (design/politeness.md §5). Durations count from the
 * moment a penalty is received here; no clock is shared.
 */
import { BUCKETS } from '@troupe/contracts';
import { LRUCache } from 'lru-cache';
import { BucketWatch, type BucketChange } from './bucket-watch.js';
import { hostToken } from './host-token.js';
import type { NatsLink } from './nats-link.js';

export interface Penalty {
  /** No request before this many ms. */
  retryMs: number;
  /** Least time between requests afterwards. */
  gapMs: number;
}

export type PenaltyListener = (host: string, penalty: Penalty) => void;

interface Active {
  pauseUntil: number;
  gapMs: number;
  gapUntil: number;
  revision: number;
}

/** By then the host's actor has put the larger gap into its grants. */
const GAP_STAYS_MS = 60_000;
const REMEMBERED_HOSTS = 20_000;

export class PenaltyBoard {
  readonly #active = new LRUCache<string, Active>({ max: REMEMBERED_HOSTS });
  readonly #listeners = new Set<PenaltyListener>();
  readonly #watch: BucketWatch;

  constructor(
    private readonly link: NatsLink,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.#watch = new BucketWatch(link, BUCKETS.penalty, {
      onReset: () => undefined,
      onChange: (change) => this.#receive(change),
      onSynced: () => undefined,
    });
  }

  start(): Promise<void> {
    return this.#watch.start();
  }

  stop(): Promise<void> {
    return this.#watch.stop();
  }

  /** Milliseconds until the host may be asked again, 0 = now. */
  pauseMs(host: string): number {
    const active = this.#active.get(hostToken(host));
    return active === undefined ? 0 : Math.max(0, active.pauseUntil - this.now());
  }

  /** Least gap this penalty asks for, 0 = none. */
  gapMs(host: string): number {
    const active = this.#active.get(hostToken(host));
    return active === undefined || active.gapUntil < this.now() ? 0 : active.gapMs;
  }

  /** Holds here at once and everywhere as soon as the bucket has it. */
  async put(host: string, penalty: Penalty): Promise<void> {
    this.#apply(hostToken(host), penalty, 0);
    const value = JSON.stringify({ host, retryMs: penalty.retryMs, gapMs: penalty.gapMs });
    await (await this.link.kv(BUCKETS.penalty)).put(hostToken(host), value);
  }

  /** Called for every penalty that arrives, our own included. */
  onPenalty(listener: PenaltyListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A new watcher repeats what is in the bucket: the same revision is not a new penalty. */
  #receive({ key, value, revision }: BucketChange): void {
    if (value === null || this.#active.peek(key)?.revision === revision) return;
    const { host, retryMs, gapMs } = JSON.parse(Buffer.from(value).toString()) as Penalty & { host: string };
    this.#apply(key, { retryMs, gapMs }, revision);
    for (const listener of this.#listeners) listener(host, { retryMs, gapMs });
  }

  #apply(key: string, { retryMs, gapMs }: Penalty, revision: number): void {
    const now = this.now();
    const before = this.#active.peek(key);
    const pauseUntil = Math.max(before?.pauseUntil ?? 0, now + retryMs);
    this.#active.set(key, { pauseUntil, gapMs, gapUntil: pauseUntil + GAP_STAYS_MS, revision });
  }
}
