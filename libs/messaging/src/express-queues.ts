/**
 * Waiters of this process for express places, one queue per host, first in first out. A place that is given back goes
 * to the next waiter without a word to NATS, and is kept for a moment when no request waits. After a second it goes
 * back all the same, so that no process keeps a host to itself.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SlotHold } from './slot-hold.js';

export interface ExpressRequest {
  host: string;
  /** Express places per host in the whole cluster. */
  count: number;
  fetcher: string;
  signal: AbortSignal;
}

export interface ExpressPort {
  /** One try at one place; null when it is taken. */
  claim(host: string, i: number, fetcher: string): Promise<SlotHold | null>;
  release(hold: SlotHold): Promise<void>;
}

interface Waiter {
  request: ExpressRequest;
  settle(result: SlotHold | null): void;
  fail(error: unknown): void;
}

interface HostQueue {
  waiters: Waiter[];
  isClaiming: boolean;
}

/** A place that is not in use, kept for the next waiter. */
interface Spare {
  hold: SlotHold;
  timer: NodeJS.Timeout;
}

/** Other processes free places without telling us. */
const RETRY_MS = 20;
/** How long an unused place is kept. */
const SPARE_MS = 50;
/** How long one claim serves this process while others may be waiting. */
const TENURE_MS = 1_000;

export class ExpressQueues {
  private readonly queues = new Map<string, HostQueue>();
  private readonly spares = new Map<string, Spare[]>();
  /** Keys of the places that are ours, and when each was claimed. */
  private readonly held = new Map<string, number>();

  constructor(private readonly port: ExpressPort) {}

  holds(key: string): boolean {
    return this.held.has(key);
  }

  acquire(request: ExpressRequest): Promise<SlotHold | null> {
    if (request.signal.aborted) return Promise.resolve(null);
    const spare = this.takeSpare(request.host);
    if (spare !== null) return Promise.resolve(spare);
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.leave(request.host, waiter);
        resolve(null);
      };
      const waiter: Waiter = {
        request,
        settle: (result) => {
          request.signal.removeEventListener('abort', onAbort);
          resolve(result);
        },
        fail: (error) => {
          request.signal.removeEventListener('abort', onAbort);
          reject(error instanceof Error ? error : new Error(String(error)));
        },
      };
      request.signal.addEventListener('abort', onAbort, { once: true });
      this.enter(request.host, waiter);
    });
  }

  async release(hold: SlotHold): Promise<void> {
    if (this.isDue(hold)) return this.handBack(hold);
    const next = this.queues.get(hold.host)?.waiters.shift();
    if (next !== undefined) next.settle({ ...hold });
    else this.keepSpare({ ...hold });
  }

  /** Hands every unused place back. */
  async stop(): Promise<void> {
    const spares = [...this.spares.values()].flat();
    this.spares.clear();
    for (const { timer } of spares) clearTimeout(timer);
    await Promise.all(spares.map(({ hold }) => this.handBack(hold)));
  }

  private isDue({ key }: SlotHold): boolean {
    return performance.now() - (this.held.get(key) ?? 0) > TENURE_MS;
  }

  private keepSpare(hold: SlotHold): void {
    const spare: Spare = { hold, timer: setTimeout(() => this.dropSpare(spare), SPARE_MS) };
    const spares = this.spares.get(hold.host);
    if (spares === undefined) this.spares.set(hold.host, [spare]);
    else spares.push(spare);
  }

  private takeSpare(host: string): SlotHold | null {
    const spare = this.spares.get(host)?.[0];
    if (spare === undefined) return null;
    this.forgetSpare(spare);
    return spare.hold;
  }

  private forgetSpare(spare: Spare): void {
    clearTimeout(spare.timer);
    const left = this.spares.get(spare.hold.host)!.filter((other) => other !== spare);
    if (left.length > 0) this.spares.set(spare.hold.host, left);
    else this.spares.delete(spare.hold.host);
  }

  private dropSpare(spare: Spare): void {
    this.forgetSpare(spare);
    // A place that cannot be given back is found again under our name.
    this.handBack(spare.hold).catch(() => undefined);
  }

  private async handBack(hold: SlotHold): Promise<void> {
    this.held.delete(hold.key);
    await this.port.release(hold);
  }

  private enter(host: string, waiter: Waiter): void {
    let queue = this.queues.get(host);
    if (queue === undefined) this.queues.set(host, (queue = { waiters: [], isClaiming: false }));
    queue.waiters.push(waiter);
    if (!queue.isClaiming) void this.serve(host, queue);
  }

  private leave(host: string, waiter: Waiter): void {
    const queue = this.queues.get(host);
    if (queue !== undefined) queue.waiters = queue.waiters.filter((other) => other !== waiter);
  }

  /** Claims places for the first waiter, one after another, while there is one. */
  private async serve(host: string, queue: HostQueue): Promise<void> {
    queue.isClaiming = true;
    while (queue.waiters.length > 0) {
      const hold = await this.claimAny(queue);
      const next = hold === null ? undefined : queue.waiters.shift();
      if (next !== undefined) next.settle(hold);
      else if (hold !== null) this.keepSpare(hold);
      else await sleep(RETRY_MS + Math.random() * RETRY_MS);
    }
    queue.isClaiming = false;
    this.queues.delete(host);
  }

  /** Null when all are taken. When NATS does not answer the first waiter hears of it. */
  private async claimAny(queue: HostQueue): Promise<SlotHold | null> {
    const { host, count, fetcher } = queue.waiters[0]!.request;
    const first = Math.floor(Math.random() * count);
    try {
      for (let n = 0; n < count; n++) {
        const hold = await this.port.claim(host, (first + n) % count, fetcher);
        if (hold === null) continue;
        this.held.set(hold.key, performance.now());
        return hold;
      }
    } catch (error) {
      queue.waiters.shift()?.fail(error);
    }
    return null;
  }
}
