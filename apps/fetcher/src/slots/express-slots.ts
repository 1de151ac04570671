/**
 * Express places of hosts: the few connections beyond a host's lanes, for sync scrapes, kickoff work and redirect hops
 * into another host (docs/design/politeness.md, "Express places"). A host that is slowed has fewer, and a gap between their requests.
 */
import { Inject, Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { TroupeError } from '@troupe/contracts';
import type { SlotHold } from '@troupe/messaging';
import { INSTANCE, LOG } from '@troupe/service';
import { LRUCache } from 'lru-cache';
import { EXPRESS_BOARD, PENALTIES, type ExpressBoard, type Penalties } from '../cluster/ports.js';

export interface ExpressPlace {
  /** Gives the place on, in the background. Calling it twice does nothing. */
  release(): void;
}

@Injectable()
export class ExpressSlotsParts {
  @Inject(EXPRESS_BOARD) readonly board!: ExpressBoard;
  @Inject(PENALTIES) readonly penalties!: Pick<Penalties, 'expressPlaces' | 'gapMs'>;
  @Inject(INSTANCE) readonly instance!: string;
  @Inject(LOG) readonly log!: { warn(context: object, message: string): void };
}

const REMEMBERED_HOSTS = 10_000;

@Injectable()
export class ExpressSlots {
  /** When this process last used a place of a host that is slowed. */
  private readonly starts = new LRUCache<string, number>({ max: REMEMBERED_HOSTS });

  constructor(private readonly options: ExpressSlotsParts) {}

  /** @throws TroupeError CONCURRENCY_QUEUE_TIMEOUT naming the host when no place is free within `waitMs` */
  async acquire(host: string, waitMs: number, signal: AbortSignal): Promise<ExpressPlace> {
    signal.throwIfAborted();
    const patience = new AbortController();
    const stop = () => patience.abort();
    const timer = setTimeout(stop, waitMs);
    signal.addEventListener('abort', stop, { once: true });
    try {
      const { board, penalties, instance } = this.options;
      const hold = await board.claimExpress(host, penalties.expressPlaces(host), instance, patience.signal);
      const place = hold === null ? null : this.place(host, hold);
      if (place !== null && (await this.keepPace(host, patience.signal))) return place;
      place?.release();
      signal.throwIfAborted();
      throw noPlace(host, waitMs);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    }
  }

  /** A slowed host has its gap between the single requests of this process, too. False: it lasts too long. */
  private async keepPace(host: string, signal: AbortSignal): Promise<boolean> {
    const gapMs = this.options.penalties.gapMs(host);
    if (gapMs === 0) return true;
    const now = performance.now();
    const last = this.starts.get(host) ?? -Infinity;
    const at = Math.max(now, last + gapMs);
    this.starts.set(host, at);
    try {
      await sleep(at - now, undefined, { signal });
      return true;
    } catch {
      if (this.starts.get(host) === at) this.starts.set(host, last);
      return false;
    }
  }

  private place(host: string, hold: SlotHold): ExpressPlace {
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
