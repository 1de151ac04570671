/**
 * Places on hosts. A compare-and-set at the moment of use decides which run may connect (docs/design/politeness.md, "Slots",
 * "Express places").
 *
 * A lane's slot carries the fencing pair (gen, lane), which only grows. After a loss of the whole bucket keys are
 * simply created again: at most one lane too many per slot.
 */
import type { KV } from '@nats-io/kv';
import { BUCKETS, TroupeError } from '@troupe/contracts';
import { decideSlotClaim } from '@troupe/politeness';
import { LRUCache } from 'lru-cache';
import { ExpressQueues } from './express-queues.js';
import { hostToken } from './host-token.js';
import { isRevisionConflict } from './kv-errors.js';
import type { SlotHold, StoredSlot } from './slot-hold.js';
import type { MemberBoard } from './member-board.js';
import type { NatsLink } from './nats-link.js';

export interface SlotClaim {
  i: number;
  gen: number;
  lane: number;
  /** This attempt at the lane: tells our own write, whose answer was lost, from another delivery. */
  run: string;
  fetcher: string;
}

export interface SlotTaken {
  held: SlotHold;
  /** The holder before; null: none, or we ourselves. */
  previousFetcher: string | null;
  /** The lane has run before, in a process that died, and the bus delivers it again. */
  isRerun: boolean;
}
/** `moved`: another run of the same lane has the slot now and tells the job. `lost`: a later lane has it, or none answers. */
export type SlotRenewal = 'kept' | 'moved' | 'lost';
export type SlotVerdict = SlotTaken | 'stale' | 'duplicate';

interface KnownSlot {
  value: StoredSlot | null;
  revision: number;
}

const MAX_TRIES = 8;
const CAS_TIMEOUT_MS = 3_000;
const REMEMBERED_SLOTS = 20_000;
/** A place is new to this process most often because it is unused: writing it is tried before reading it. */
const NEVER_USED: KnownSlot = { value: null, revision: 0 };

export class SlotBoard {
  private readonly known = new LRUCache<string, KnownSlot>({ max: REMEMBERED_SLOTS });
  private readonly express: ExpressQueues;

  constructor(
    private readonly link: NatsLink,
    private readonly members: Pick<MemberBoard, 'isAlive'>,
  ) {
    this.express = new ExpressQueues({
      claim: (host, i, fetcher) => this.claimExpressSlot(host, i, fetcher),
      release: (hold) => this.free(hold),
    });
    link.onRestored(() => this.known.clear());
  }

  /**
   * Takes the slot for a lane. `stale`: a later lane has had it, or this one has ended. `duplicate`: this lane is run by a fetcher that is
   * alive. Rejects when NATS does not answer; the claim may be repeated with the same `run`.
   */
  async claim(host: string, claim: SlotClaim): Promise<SlotVerdict> {
    const key = `${hostToken(host)}.${claim.i}`;
    for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
      const cached = attempt === 0 ? (this.known.get(key) ?? NEVER_USED) : undefined;
      const stored = cached ?? (await this.read(key));
      if (cached === undefined && stored.value !== null && isOwnWrite(stored.value, claim))
        return this.own(host, key, stored);
      const verdict = decideSlotClaim(stored.value, claim, this.holderAlive(stored.value));
      if (verdict !== 'take') {
        if (cached === undefined) return verdict;
        this.known.delete(key);
        continue;
      }
      const hold = await this.take({ key, host, isExpress: false, stored, value: { ...pick(claim), st: 'held' } });
      if (hold !== null) {
        const before = stored.value;
        return { held: hold, previousFetcher: before?.fetcher ?? null, isRerun: isHeldByLane(before, claim) };
      }
    }
    throw new TroupeError('UNKNOWN_ERROR', `Slot ${claim.i} of ${host} changes too fast to be claimed`, {
      retryable: true,
    });
  }

  /** Anything but `kept`: the lane must end. */
  async renew(hold: SlotHold): Promise<SlotRenewal> {
    try {
      hold.revision = await this.put(hold.key, hold.value, hold.revision);
      return 'kept';
    } catch (error) {
      this.known.delete(hold.key);
      if (isRevisionConflict(error)) return this.successorOf(hold);
      this.link.problem('slot not renewed', error);
      return 'lost';
    }
  }

  /** An earlier renewal may have been written although its answer was lost. */
  private async successorOf(hold: SlotHold): Promise<SlotRenewal> {
    try {
      const { value, revision } = await this.read(hold.key);
      if (value === null || value.gen !== hold.value.gen || value.lane !== hold.value.lane) return 'lost';
      if (value.run !== hold.value.run) return 'moved';
      hold.revision = revision;
      return 'kept';
    } catch (error) {
      this.link.problem('slot not read', error);
      return 'lost';
    }
  }

  /** Gives the place back; an express place goes to the next waiter of this process first. */
  async release(hold: SlotHold): Promise<void> {
    if (hold.isExpress) await this.express.release(hold);
    else await this.free(hold);
  }

  /**
   * Claims one of `count` express places of the host, first come first served inside this process. Waits until one is free;
   * null when `signal` aborts first.
   */
  claimExpress(host: string, count: number, fetcher: string, signal: AbortSignal): Promise<SlotHold | null> {
    return this.express.acquire({ host, count, fetcher, signal });
  }

  /** Hands unused places back. */
  async stop(): Promise<void> {
    await this.express.stop();
  }

  /** @param isFirst true: the remembered value may be tried, which is nothing for a place that is new here */
  private async claimExpressSlot(host: string, i: number, fetcher: string, isFirst = true): Promise<SlotHold | null> {
    const key = `${hostToken(host)}.x${i}`;
    const known = this.known.get(key) ?? NEVER_USED;
    const remembered = isFirst && known.value?.st !== 'held' ? known : null;
    const stored = remembered ?? (await this.read(key));
    if (stored.value !== null && stored.value.st === 'held' && this.isTaken(key, stored.value, fetcher)) return null;
    const gen = (stored.value?.gen ?? 0) + 1;
    const value: StoredSlot = { gen, lane: 0, fetcher, run: '', st: 'held' };
    const hold = await this.take({ key, host, isExpress: true, stored, value });
    // The remembered value may have been out of date, and is forgotten now.
    return hold === null && remembered !== null ? this.claimExpressSlot(host, i, fetcher, false) : hold;
  }

  /** A place in our own name that we do not hold is the remains of a write whose answer was lost. */
  private isTaken(key: string, value: StoredSlot, fetcher: string): boolean {
    if (value.fetcher === fetcher) return this.express.holds(key);
    return this.members.isAlive(value.fetcher);
  }

  private holderAlive(value: StoredSlot | null): boolean {
    return value !== null && this.members.isAlive(value.fetcher);
  }

  private own(host: string, key: string, stored: KnownSlot): SlotVerdict {
    const held: SlotHold = { key, host, isExpress: false, value: stored.value!, revision: stored.revision };
    return { held, previousFetcher: null, isRerun: false };
  }

  /** One compare-and-set; null when another process was faster. */
  private async take(target: {
    key: string;
    host: string;
    isExpress: boolean;
    stored: KnownSlot;
    value: StoredSlot;
  }): Promise<SlotHold | null> {
    const { key, host, isExpress, stored, value } = target;
    try {
      return { key, host, isExpress, value, revision: await this.put(key, value, stored.revision) };
    } catch (error) {
      this.known.delete(key);
      if (isRevisionConflict(error)) return null;
      throw error;
    }
  }

  private async free(hold: SlotHold): Promise<void> {
    try {
      await this.put(hold.key, { ...hold.value, st: 'free' }, hold.revision);
    } catch (error) {
      this.known.delete(hold.key);
      if (!isRevisionConflict(error)) throw error;
    }
  }

  private async read(key: string): Promise<KnownSlot> {
    const entry = await (await this.bucket()).get(key);
    if (entry === null) return { value: null, revision: 0 };
    const value = entry.operation === 'PUT' ? entry.json<StoredSlot>() : null;
    const known = { value, revision: entry.revision };
    this.known.set(key, known);
    return known;
  }

  private async put(key: string, value: StoredSlot, previousSeq: number): Promise<number> {
    const bucket = await this.bucket();
    const revision = await bucket.put(key, JSON.stringify(value), { previousSeq, timeout: CAS_TIMEOUT_MS });
    this.known.set(key, { value, revision });
    return revision;
  }

  private bucket(): Promise<KV> {
    return this.link.kv(BUCKETS.slot);
  }
}

function pick({ gen, lane, run, fetcher }: SlotClaim): Omit<StoredSlot, 'st'> {
  return { gen, lane, run, fetcher };
}

function isHeldByLane(value: StoredSlot | null, claim: SlotClaim): boolean {
  return value?.gen === claim.gen && value.lane === claim.lane && value.st === 'held';
}

function isOwnWrite(value: StoredSlot, claim: SlotClaim): boolean {
  return (
    value.st === 'held' &&
    value.fetcher === claim.fetcher &&
    value.run === claim.run &&
    value.lane === claim.lane &&
    value.gen === claim.gen
  );
}
