/**
 * Scrapes of one page at one time, in the whole cluster: one of them fetches the page and the others share it. The page
 * is kept until every fetcher must have seen it in the index, so that a scrape finds what the one before it has
 * answered. While NATS is silent each scrape fetches for itself.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { flightSubject, isTroupeError, type ScrapeSpec, type Uuid } from '@troupe/contracts';
import type { FlightBoard, FlightClaim, FlightHold, FlightHolder, Rpc } from '@troupe/messaging';
import type { CachedPageMeta } from '@troupe/persistence';
import { LRUCache } from 'lru-cache';
import { flightKeyOf, isFresh, isPersonal, responseOf } from './cached-page.js';
import { FlightKey, LIFE_MS } from './flight-key.js';
import { Flight, type FlightNews, type Landed } from './flight.js';
import type { Remembered, Sharing } from './page-cache.js';

/** Bodies in memory. */
const MAX_BYTES = 64 * 1024 * 1024;
/** How long one question waits. The next one finds out that a fetcher is dead. */
const POLL_MS = 250;
const POLL_GRACE_MS = 250;
/** A fetcher that is connected and does not answer for this long is as good as gone. */
const SILENCE_MS = 3_000;
const MOVING_MS = 100;
/** Share of the time that is left which may be spent waiting for others. */
const PATIENCE_SHARE = 2 / 3;
/** After a failure NATS is not asked for this long. */
const AWAY_MS = 2_000;

export interface FlightsParts {
  /** null: there is no cache, and pages are not shared. */
  board: Pick<FlightBoard, 'fetcher' | 'claim' | 'seize' | 'find' | 'keep' | 'free'> | null;
  rpc: Pick<Rpc, 'call'>;
  /** Told of each page that came from another scrape. @default none */
  onShared?: () => void;
  log: { warn(context: object, message: string): void };
}

/** A scrape that begins. */
export interface FlightWish {
  team: Uuid;
  url: string;
  spec: ScrapeSpec;
  /** Time that is left for all of it. */
  leftMs: number;
  signal: AbortSignal;
  /** The fetcher whose key may be taken: it has handed the page over. */
  from?: string;
  /** True: the page in the index may be served, so nothing is waited for. */
  isServed(): Promise<boolean>;
}

/** Another scrape's page, or a fetch of its own that others may share. null: the page is for its caller alone. */
export type Found = { page: Remembered } | { flight: OwnFlight } | null;

/** A page that is fetched for all that want it, or that others may have once it is there. */
export interface OwnFlight extends Sharing {
  /** Fires when no waiter wants the page any more. */
  readonly signal: AbortSignal;
  /** Others wait for it. */
  readonly isAwaited: boolean;
  /** Called when another fetcher is asked to go on with it. */
  move(): void;
  /** Called when the other fetcher did not take it. */
  comeBack(): void;
  /** Nothing more comes: scrapes that still wait fetch the page themselves. May be called again. */
  end(): void;
}

export interface FlightQuestion {
  key: string;
  maxAgeMs: number;
  /** null: any, and what is not there yet is waited for. */
  minAgeMs: number | null;
  waitMs: number;
}

/** `gone`: there is no such page here. `wait`: not yet. The body of a landed page is that of the reply. */
export type FlightReply =
  { type: 'landed'; meta: CachedPageMeta; at: string } | { type: 'failed' | 'moved' | 'gone' | 'wait' };

type Board = NonNullable<FlightsParts['board']>;
type Answer = FlightNews | { type: 'gone' | 'wait' };

export class Flights {
  private readonly own = new Map<string, Flight>();
  private readonly landed = new LRUCache<string, Landed>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ body }) => Math.max(1, body.byteLength),
  });
  /** Questions that are on their way, by fetcher and page: waiters of this process ask together. */
  private readonly polls = new Map<string, Promise<Answer | null>>();
  private awayUntilMs = 0;

  constructor(private readonly parts: FlightsParts) {}

  /** Never rejects. */
  async find(wish: FlightWish): Promise<Found> {
    const { board } = this.parts;
    if (board === null || performance.now() < this.awayUntilMs) return null;
    const key = flightKeyOf(wish.team, wish.url, wish.spec);
    try {
      const found = mayJoin(wish) ? await this.search(board, key, wish) : null;
      if (found !== null && 'page' in found) this.parts.onShared?.();
      return found ?? (mayShare(wish) ? { flight: this.alone(board, key, wish) } : null);
    } catch (error) {
      this.failed(error);
      return null;
    }
  }

  /** Answers waiters of other fetchers. */
  async answer(question: FlightQuestion): Promise<{ head: FlightReply; body?: Uint8Array }> {
    const answer = await this.answerOwn({ ...question, waitMs: Math.min(question.waitMs, POLL_MS) }, null);
    if (answer.type !== 'landed') return { head: { type: answer.type } };
    const { meta, at, body } = answer.page;
    return { head: { type: 'landed', meta, at: at.toISOString() }, body };
  }

  /** Others do not wait for the page it fetches. Once the page is there it is newer than theirs, and takes the key. */
  private alone(board: Board, key: string, { signal }: FlightWish): OwnFlight {
    let stored = (): void => undefined;
    return {
      signal,
      isAwaited: false,
      land: (meta, body) => {
        const hold = board.seize(key, LIFE_MS).catch((error: unknown) => this.failed(error));
        stored = this.keep(key, { meta, body, at: new Date(), landedMs: performance.now() }, this.keyOf(board, hold));
      },
      stored: () => stored(),
      move: () => undefined,
      comeBack: () => undefined,
      end: () => undefined,
    };
  }

  private keyOf(board: Board, hold: Promise<FlightHold | undefined>): FlightKey {
    return new FlightKey({ board, hold, onError: (error) => this.failed(error) });
  }

  /**
   * Keeps the page unless a newer one has landed since this one was asked for.
   * @returns to be called when the page is in the index, or will not come there
   */
  private keep(key: string, page: Landed, flightKey: FlightKey, askedMs = page.landedMs): () => void {
    const known = this.landed.peek(key);
    if (known === undefined || known.landedMs <= askedMs) this.landed.set(key, page);
    return () => {
      const leftMs = flightKey.stored();
      setTimeout(() => this.landed.peek(key) === page && this.landed.delete(key), leftMs + POLL_MS).unref();
    };
  }

  private async search(board: Board, key: string, wish: FlightWish): Promise<Found> {
    const endsAtMs = performance.now() + PATIENCE_SHARE * wish.leftMs;
    const claim = async (from: FlightHolder | null): Promise<FlightClaim | null> => {
      if (mayShare(wish)) return board.claim(key, LIFE_MS, from);
      const holder = from === null ? await board.find(key) : null;
      return holder === null ? null : { holder };
    };
    for (let next = await claim(null); next !== null;) {
      if ('held' in next) return { flight: this.begin(board, key, next.held, wish.signal) };
      const { holder } = next;
      if (holder.fetcher === wish.from) {
        next = await claim(holder);
        continue;
      }
      const patienceMs = (await wish.isServed()) ? 0 : endsAtMs - performance.now();
      const answer = await this.ask(holder.fetcher, key, wish, patienceMs);
      if (answer.type === 'landed') return { page: rememberedOf(answer.page) };
      if (answer.type === 'wait' || wish.signal.aborted || performance.now() >= endsAtMs) return null;
      if (answer.type === 'moved') {
        await sleep(MOVING_MS);
        next = await claim(null);
        continue;
      }
      next = await claim(holder);
      // Another waiter of the failed page has the key now. A lasting failure is not waited for again.
      if (answer.type === 'failed' && next !== null && 'holder' in next) return null;
    }
    return null;
  }

  private begin(board: Board, key: string, held: FlightHold, caller: AbortSignal): OwnFlight {
    const flight = new Flight(caller);
    const flightKey = this.keyOf(board, Promise.resolve(held));
    this.own.set(key, flight);
    const forget = (): void => {
      if (this.own.get(key) === flight) this.own.delete(key);
    };
    let stored: (() => void) | null = null;
    let isOver = false;
    const startedMs = performance.now();
    return {
      signal: flight.signal,
      isAwaited: true,
      land: (meta, body) => {
        const page = { meta, body, at: new Date(), landedMs: performance.now() };
        stored = this.keep(key, page, flightKey, startedMs);
        forget();
        flight.tell({ type: 'landed', page });
      },
      stored: () => stored?.(),
      move: () => flight.tell({ type: 'moved' }),
      comeBack: () => flight.comeBack(),
      end: () => {
        if (stored !== null || isOver) return;
        isOver = true;
        forget();
        if (!flight.hasNews) flight.tell({ type: 'failed' });
        flightKey.free();
      },
    };
  }

  /** @param signal of a waiter in this process; null: one elsewhere */
  private async answerOwn(question: FlightQuestion, signal: AbortSignal | null): Promise<Answer> {
    const { key, minAgeMs, waitMs } = question;
    const page = this.landed.get(key);
    if (page !== undefined && isFresh(performance.now() - page.landedMs, question)) return { type: 'landed', page };
    const flight = this.own.get(key);
    if (flight === undefined || minAgeMs !== null) return { type: 'gone' };
    return (await flight.wait(waitMs, signal)) ?? { type: 'wait' };
  }

  /** `wait`: the page is still not there when the time is over. */
  private async ask(
    fetcher: string,
    key: string,
    { spec, signal, from }: FlightWish,
    patienceMs: number,
  ): Promise<Answer> {
    // The fetcher that has handed the page over has looked into the index and found nothing new enough.
    const maxAgeMs = from === undefined ? spec.cache.maxAgeMs : Number.MAX_SAFE_INTEGER;
    const { minAgeMs } = spec.cache;
    if (fetcher === this.parts.board?.fetcher)
      return this.answerOwn({ key, maxAgeMs, minAgeMs, waitMs: Math.max(0, patienceMs) }, signal);
    const endsAtMs = performance.now() + patienceMs;
    let heardAtMs = performance.now();
    for (;;) {
      const waitMs = Math.max(0, Math.min(POLL_MS, Math.round(endsAtMs - performance.now())));
      const answer = await this.poll(fetcher, { key, maxAgeMs, minAgeMs, waitMs });
      if (answer !== null && answer.type !== 'wait') return answer;
      if (answer !== null) heardAtMs = performance.now();
      else if (performance.now() - heardAtMs > SILENCE_MS) return { type: 'gone' };
      if (performance.now() >= endsAtMs || signal.aborted) return { type: 'wait' };
    }
  }

  private poll(fetcher: string, question: FlightQuestion): Promise<Answer | null> {
    const { key, maxAgeMs, minAgeMs, waitMs } = question;
    const id = [fetcher, key, maxAgeMs, minAgeMs, waitMs === 0].join(' ');
    let poll = this.polls.get(id);
    if (poll === undefined) {
      poll = this.question(fetcher, question).finally(() => this.polls.delete(id));
      this.polls.set(id, poll);
    }
    return poll;
  }

  /** null: it did not answer in time. */
  private async question(fetcher: string, question: FlightQuestion): Promise<Answer | null> {
    const timeoutMs = question.waitMs + POLL_GRACE_MS;
    try {
      const options = { timeoutMs, isServed: () => false };
      const { head, body } = await this.parts.rpc.call<FlightReply>(flightSubject(fetcher), question, null, options);
      if (head.type !== 'landed') return { type: head.type };
      return { type: 'landed', page: { meta: head.meta, body, at: new Date(head.at), landedMs: performance.now() } };
    } catch (error) {
      if (!isTroupeError(error)) return { type: 'failed' };
      if (error.code === 'SCRAPE_TIMEOUT') return null;
      // No process listens there any more: it has ended.
      return { type: error.code === 'CONCURRENCY_QUEUE_TIMEOUT' ? 'gone' : 'failed' };
    }
  }

  private failed(error: unknown): undefined {
    if (performance.now() >= this.awayUntilMs)
      this.parts.log.warn({ err: error }, 'pages under way are not known; scrapes of the same page are not shared');
    this.awayUntilMs = performance.now() + AWAY_MS;
  }
}

/** Another scrape's page may stand for it. */
function mayJoin({ spec, from }: FlightWish): boolean {
  return !isPersonal(spec) && (spec.cache.maxAgeMs > 0 || from !== undefined);
}

/** Its page may stand for others. */
function mayShare({ spec }: FlightWish): boolean {
  return !isPersonal(spec) && spec.cache.store && spec.cache.minAgeMs === null;
}

function rememberedOf({ meta, body, at }: Landed): Remembered {
  // The converter takes the bytes away.
  const response = responseOf(meta, new Uint8Array(body));
  return { response, metadata: { cacheState: 'hit', cachedAt: at.toISOString() } };
}
