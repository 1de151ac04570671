/**
 * Waiters of this process for express places, one queue per host, first in first out. A place that is given back goes
 * to the next waiter without a word to NATS.
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

/** Other processes free places without telling us. */
const RETRY_MS = 20;

export class ExpressQueues {
  readonly #queues = new Map<string, HostQueue>();
  readonly #held = new Set<string>();

  constructor(private readonly port: ExpressPort) {}

  holds(key: string): boolean {
    return this.#held.has(key);
  }

  acquire(request: ExpressRequest): Promise<SlotHold | null> {
    if (request.signal.aborted) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#leave(request.host, waiter);
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
      this.#enter(request.host, waiter);
    });
  }

  async release(hold: SlotHold): Promise<void> {
    const next = this.#queues.get(hold.host)?.waiters.shift();
    if (next !== undefined) return next.settle({ ...hold });
    this.#held.delete(hold.key);
    await this.port.release(hold);
  }

  #enter(host: string, waiter: Waiter): void {
    let queue = this.#queues.get(host);
    if (queue === undefined) this.#queues.set(host, (queue = { waiters: [], isClaiming: false }));
    queue.waiters.push(waiter);
    if (!queue.isClaiming) void this.#serve(host, queue);
  }

  #leave(host: string, waiter: Waiter): void {
    const queue = this.#queues.get(host);
    if (queue !== undefined) queue.waiters = queue.waiters.filter((other) => other !== waiter);
  }

  /** Claims places for the first waiter, one after another, while somebody waits. */
  async #serve(host: string, queue: HostQueue): Promise<void> {
    queue.isClaiming = true;
    while (queue.waiters.length > 0) {
      const hold = await this.#claimAny(queue);
      const next = hold === null ? undefined : queue.waiters.shift();
      if (next !== undefined) next.settle(hold);
      else if (hold !== null) await this.#giveBack(hold);
      else await sleep(RETRY_MS + Math.random() * RETRY_MS);
    }
    queue.isClaiming = false;
    this.#queues.delete(host);
  }

  /** Null when all are taken. When NATS does not answer the first waiter hears of it. */
  async #claimAny(queue: HostQueue): Promise<SlotHold | null> {
    const { host, count, fetcher } = queue.waiters[0]!.request;
    const first = Math.floor(Math.random() * count);
    try {
      for (let n = 0; n < count; n++) {
        const hold = await this.port.claim(host, (first + n) % count, fetcher);
        if (hold === null) continue;
        this.#held.add(hold.key);
        return hold;
      }
    } catch (error) {
      queue.waiters.shift()?.fail(error);
    }
    return null;
  }

  /** Nobody waits any more; a place that cannot be given back is found again under our name. */
  async #giveBack(hold: SlotHold): Promise<void> {
    this.#held.delete(hold.key);
    await this.port.release(hold).catch(() => undefined);
  }
}
