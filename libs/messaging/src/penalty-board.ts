/**
 * How hosts are to be treated, as their actors decided it and told every fetcher at once (KV `pen`). Only read here.
 * Durations count from the moment a verdict is received; no clock is shared. A verdict that is in force is told again
 * each 30 s: one that is not repeated is no longer believed.
 */
import { BUCKETS, type HostState, type HostVerdict } from '@troupe/contracts';
import { LRUCache } from 'lru-cache';
import { BucketWatch, type BucketChange } from './bucket-watch.js';
import { hostToken } from './host-token.js';
import type { NatsLink } from './nats-link.js';

/** A host at this moment. */
export interface HostView {
  state: HostState;
  /** The rest of its pause in ms, 0 = none. */
  restMs: number;
  /** Least ms between starts on a slot, 0 = none. */
  gapMs: number;
  /** Share of its usual rate, 0 … 1. */
  share: number;
}

interface Heard extends Omit<HostView, 'restMs'> {
  v: number;
  revision: number;
  restUntil: number;
  believedUntil: number;
}

const OPEN: HostView = { state: 'open', restMs: 0, gapMs: 0, share: 1 };
/** A verdict counts for this long after its rest, unless it is told again. */
const SILENCE_MS = 90_000;
const REMEMBERED_HOSTS = 20_000;

export class PenaltyBoard {
  private readonly heard = new LRUCache<string, Heard>({ max: REMEMBERED_HOSTS });
  private readonly watch: BucketWatch;

  constructor(
    link: NatsLink,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.watch = new BucketWatch(link, BUCKETS.penalty, {
      onReset: () => undefined,
      onChange: (change) => this.receive(change),
      onSynced: () => undefined,
    });
  }

  start(): Promise<void> {
    return this.watch.start();
  }

  stop(): Promise<void> {
    return this.watch.stop();
  }

  of(host: string): HostView {
    const heard = this.heard.get(hostToken(host));
    const now = this.now();
    if (heard === undefined || heard.believedUntil < now) return OPEN;
    const { state, gapMs, share, restUntil } = heard;
    return { state, gapMs, share, restMs: Math.max(0, restUntil - now) };
  }

  /** A new watcher repeats what is in the bucket: the same revision is no news. An earlier version's entry has no `v`. */
  private receive({ key, value, revision }: BucketChange): void {
    if (value === null) return;
    const known = this.heard.peek(key);
    const verdict = JSON.parse(Buffer.from(value).toString()) as Partial<HostVerdict>;
    const { v, state = 'open', restMs = 0, gapMs = 0, share = 1 } = verdict;
    if (v === undefined || (known !== undefined && (v < known.v || isRepeat(known, v, revision)))) return;
    const restUntil = this.now() + restMs;
    this.heard.set(key, { v, revision, state, gapMs, share, restUntil, believedUntil: restUntil + SILENCE_MS });
  }
}

function isRepeat(known: Heard, v: number, revision: number): boolean {
  return known.v === v && known.revision === revision;
}
