/**
 * Express places of hosts: the few connections beyond a host's lanes, for sync scrapes, kickoff work and redirect hops
 * into another host (design/politeness.md §7).
 */
import { TroupeError } from '@troupe/contracts';
import type { SlotHold } from '@troupe/messaging';
import type { ExpressBoard } from '../ports.js';

export interface ExpressPlace {
  /** Gives the place on, in the background. Calling it twice does nothing. */
  release(): void;
}

export interface ExpressOptions {
  board: ExpressBoard;
  /** Express places per host, over the whole cluster. */
  perHost: number;
  instance: string;
  log: { warn(context: object, message: string): void };
}

export class ExpressSlots {
  constructor(private readonly options: ExpressOptions) {}

  /** @throws TroupeError CONCURRENCY_QUEUE_TIMEOUT naming the host when no place is free within `waitMs` */
  async acquire(host: string, waitMs: number, signal: AbortSignal): Promise<ExpressPlace> {
    signal.throwIfAborted();
    const patience = new AbortController();
    const stop = () => patience.abort();
    const timer = setTimeout(stop, waitMs);
    signal.addEventListener('abort', stop, { once: true });
    try {
      const { board, perHost, instance } = this.options;
      const hold = await board.claimExpress(host, perHost, instance, patience.signal);
      if (hold !== null) return this.#place(host, hold);
      signal.throwIfAborted();
      throw noPlace(host, waitMs);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    }
  }

  #place(host: string, hold: SlotHold): ExpressPlace {
    let held: SlotHold | null = hold;
    return {
      release: () => {
        const mine = held;
        held = null;
        if (mine === null) return;
        this.options.board.release(mine).catch((error: unknown) => {
          this.options.log.warn({ host, err: error }, 'express place not given back; it is found again under our name');
        });
      },
    };
  }
}

function noPlace(host: string, waitMs: number): TroupeError {
  const text = `No connection to ${host} became free within ${Math.round(waitMs)} ms: all places for single requests are taken`;
  return new TroupeError('CONCURRENCY_QUEUE_TIMEOUT', text, { retryable: true });
}
