/**
 * Pages that somebody waits for: on an express place of the host, without a lane and without robots. The place is held
 * while a request is in flight and given on while its answer is converted.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { inSpan, isTroupeError, NO_TRACES, TroupeError, type Tracer } from '@troupe/contracts';
import { hostKey } from '@troupe/frontier';
import { HopGuard } from '../pages/hop-guard.js';
import type { FetchedPage, PageFetcher, PageRequest } from '../pages/page-fetcher.js';
import { TransportError } from '../pages/transport-error.js';
import type { Penalties, RobotsLookup } from '../ports.js';
import type { ExpressPlace, ExpressSlots } from '../slots/express-slots.js';
import type { HostReports } from '../slots/host-reports.js';

export interface SinglePageParts {
  pages: Pick<PageFetcher, 'fetch'>;
  express: Pick<ExpressSlots, 'acquire'>;
  penalties: Pick<Penalties, 'pauseMs' | 'gapMs'>;
  reports: Pick<HostReports, 'clean' | 'trouble'>;
  robots: RobotsLookup;
  /** @default nothing is recorded */
  tracer?: Tracer;
}

export interface SinglePageRequest extends Omit<PageRequest, 'onHop' | 'onAnswer' | 'onClimb' | 'keepsBusyAnswers'> {
  /** null: robots are not consulted. */
  robotsAgent: string | null;
  /** See `FetchRequest`. */
  onlyHosts?: readonly string[];
}

/** Share of the budget that may pass before the first byte is asked for. */
const QUEUE_SHARE = 2 / 3;
/** A 429 or 503 becomes the document after this many tries, or when the host wants a longer pause than anybody waits. */
const MAX_TRIES = 3;
const MAX_BUSY_WAIT_MS = 5000;

export class SinglePages {
  constructor(private readonly parts: SinglePageParts) {}

  /** @throws TroupeError, CONCURRENCY_QUEUE_TIMEOUT naming the host when it had no place in time */
  async fetch(request: SinglePageRequest): Promise<FetchedPage> {
    const endsAt = performance.now() + request.budgetMs;
    for (let tries = 1; ; tries++) {
      const page = await this.#fetchOnce(request, endsAt);
      if (page.busy === null || tries >= MAX_TRIES) return page;
      const host = hostKey(page.finalUrl);
      const waitMs = this.parts.penalties.pauseMs(host) || (page.busy.retryMs ?? 1000);
      if (waitMs > Math.min(MAX_BUSY_WAIT_MS, QUEUE_SHARE * (endsAt - performance.now()))) return page;
      await sleep(waitMs, undefined, { signal: request.signal });
    }
  }

  async #fetchOnce(request: SinglePageRequest, endsAt: number): Promise<FetchedPage> {
    const host = hostKey(request.url);
    const patienceMs = QUEUE_SHARE * (endsAt - performance.now());
    await this.#outlastPenalty(host, patienceMs, request.signal);
    const place = new HeldPlace(() => this.parts.express.acquire(host, patienceMs, request.signal));
    await inSpan(this.parts.tracer ?? NO_TRACES, ['wait for host', request.trace], () => place.take());
    const guard = this.#guardFor(host, request, patienceMs, place);
    try {
      await guard.checkStart(request.url);
      const page = await this.parts.pages.fetch({
        ...request,
        budgetMs: endsAt - performance.now(),
        keepsBusyAnswers: true,
        onHop: (target) => guard.checkHop(target),
        onAnswer: () => place.give(),
        onClimb: () => place.take(),
      });
      this.#report(guard.host, page);
      return page;
    } catch (error) {
      if (guard.refusal === null && guard.paused === null && error instanceof TransportError)
        this.#blame(guard.host, error);
      throw isTroupeError(guard.paused) ? queueTimeout(guard.host, guard.paused.pauseMs) : error;
    } finally {
      place.give();
      guard.release();
    }
  }

  async #outlastPenalty(host: string, patienceMs: number, signal: AbortSignal): Promise<void> {
    const pauseMs = this.parts.penalties.pauseMs(host);
    if (pauseMs <= 0) return;
    if (pauseMs > patienceMs) throw queueTimeout(host, pauseMs);
    await sleep(pauseMs, undefined, { signal });
  }

  #guardFor(host: string, request: SinglePageRequest, placeWaitMs: number, place: HeldPlace): HopGuard {
    const { robots, penalties, express } = this.parts;
    const { robotsAgent, onlyHosts, signal } = request;
    const onOwnHost = async () => {
      await this.#outlastPenalty(host, placeWaitMs, signal);
      await place.take();
    };
    return new HopGuard({
      host,
      robotsAgent,
      robots,
      scope: null,
      ...(onlyHosts === undefined ? {} : { onlyHosts }),
      penalties,
      express,
      placeWaitMs,
      onOwnHost,
      signal,
    });
  }

  #report(host: string, page: FetchedPage): void {
    if (page.busy === null) this.parts.reports.clean(host, page.fetchMs);
    else this.parts.reports.trouble(host, { ...page.busy, gapMs: this.parts.penalties.gapMs(host) });
  }

  #blame(host: string, { trouble }: TransportError): void {
    // How long a caller is willing to wait says nothing about the host.
    if (trouble === null || trouble === 'timeouts') return;
    this.parts.reports.trouble(host, { kind: trouble, retryMs: null, gapMs: this.parts.penalties.gapMs(host) });
  }
}

/** The page's express place on its host, taken again before each of its requests. */
class HeldPlace {
  #place: ExpressPlace | null = null;

  constructor(private readonly acquire: () => Promise<ExpressPlace>) {}

  /** @throws TroupeError CONCURRENCY_QUEUE_TIMEOUT */
  async take(): Promise<void> {
    this.#place ??= await this.acquire();
  }

  give(): void {
    this.#place?.release();
    this.#place = null;
  }
}

function queueTimeout(host: string, pauseMs: number): TroupeError {
  return new TroupeError(
    'CONCURRENCY_QUEUE_TIMEOUT',
    `${host} asked for a pause of ${Math.ceil(pauseMs / 1000)} s, longer than this request may wait`,
    {
      retryable: true,
    },
  );
}
