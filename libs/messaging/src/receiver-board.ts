/**
 * State of receivers of webhooks, known to all dispatchers. One that did not answer several times in a row rests, and one post
 * at a time tries whether it is back.
 *
 * The record's deadline is by the writer's clock: clocks that differ make a rest longer or shorter by as much, and never
 * longer than a rest.
 */
import type { KV } from '@nats-io/kv';
import { BUCKETS } from '@troupe/contracts';
import { LRUCache } from 'lru-cache';
import { hostToken } from './host-token.js';
import { isRevisionConflict } from './kv-errors.js';
import type { NatsLink } from './nats-link.js';

export interface ReceiverBoardOptions {
  /** Posts without an answer in a row after which a receiver rests. @default 5 */
  maxFailures?: number;
  /** From one trial post to the next. @default 60_000 */
  restMs?: number;
  /** @default Date.now */
  wallMs?: () => number;
}

interface Health {
  /** Posts without an answer since the last one with. */
  failures: number;
  /** No post before this time, once `failures` have reached the limit. */
  restUntilMs: number;
}

const MAX_FAILURES = 5;
const REST_MS = 60_000;
/** How long a receiver that was well is taken to be so. */
const WELL_MS = 1_000;
const REMEMBERED = 10_000;
const MAX_TRIES = 5;
const CAS_TIMEOUT_MS = 3_000;

export class ReceiverBoard {
  private readonly well = new LRUCache<string, true>({ max: REMEMBERED, ttl: WELL_MS });
  /** Receivers whose record may count failures. */
  private readonly failing = new LRUCache<string, true>({ max: REMEMBERED });
  private readonly maxFailures: number;
  private readonly restPeriodMs: number;
  private readonly wallMs: () => number;

  constructor(
    private readonly link: NatsLink,
    { maxFailures = MAX_FAILURES, restMs = REST_MS, wallMs = Date.now }: ReceiverBoardOptions = {},
  ) {
    this.maxFailures = maxFailures;
    this.restPeriodMs = restMs;
    this.wallMs = wallMs;
  }

  /** 0: post now, and `tell` the outcome; else how long the receiver rests. Rejects when NATS does not answer. */
  async restMs(receiver: string): Promise<number> {
    const key = hostToken(receiver);
    if (this.well.has(key)) return 0;
    const { health, revision } = await this.read(key);
    if (health.failures === 0) {
      this.well.set(key, true);
      return 0;
    }
    this.failing.set(key, true);
    if (health.failures < this.maxFailures) return 0;
    const leftMs = health.restUntilMs - this.wallMs();
    if (leftMs > 0) return Math.min(leftMs, this.restPeriodMs);
    const isOurs = await this.write(key, { ...health, restUntilMs: this.wallMs() + this.restPeriodMs }, revision);
    return isOurs ? 0 : this.restPeriodMs;
  }

  /** @param answered with whatever status */
  async tell(receiver: string, answered: boolean): Promise<void> {
    const key = hostToken(receiver);
    if (answered && !this.failing.has(key)) return;
    this.well.delete(key);
    this.failing.set(key, true);
    for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
      const { health, revision } = await this.read(key);
      if (answered && health.failures === 0) break;
      const next = answered ? { failures: 0, restUntilMs: 0 } : this.afterFailure(health);
      if (await this.write(key, next, revision)) break;
    }
    if (answered) this.failing.delete(key);
  }

  /** A trial that fails does not make the rest longer: it began with the trial. */
  private afterFailure({ failures, restUntilMs }: Health): Health {
    const begins = failures + 1 === this.maxFailures;
    return { failures: failures + 1, restUntilMs: begins ? this.wallMs() + this.restPeriodMs : restUntilMs };
  }

  private async read(key: string): Promise<{ health: Health; revision: number }> {
    const entry = await (await this.bucket()).get(key);
    if (entry === null) return { health: { failures: 0, restUntilMs: 0 }, revision: 0 };
    return { health: entry.json<Health>(), revision: entry.revision };
  }

  /** False when another process was faster. */
  private async write(key: string, health: Health, previousSeq: number): Promise<boolean> {
    try {
      await (await this.bucket()).put(key, JSON.stringify(health), { previousSeq, timeout: CAS_TIMEOUT_MS });
      return true;
    } catch (error) {
      if (isRevisionConflict(error)) return false;
      throw error;
    }
  }

  private bucket(): Promise<KV> {
    return this.link.kv(BUCKETS.receiver);
  }
}
