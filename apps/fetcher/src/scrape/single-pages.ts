/**
 * Pages that a caller waits for. They are fetched on an express place of the host, without a lane and without robots.
 * The place is held while a request is in flight and given on while its answer is converted. No page waits for a host
 * that rests.
 */
import { Inject, Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { inSpan, isTroupeError, NO_TRACES, type Tracer } from '@troupe/contracts';
import { hostKey } from '@troupe/frontier';
import { TRACER } from '@troupe/service';
import { LRUCache } from 'lru-cache';
import { checkPause, HopGuard } from '../slots/hop-guard.js';
import { PageFetcher, type FetchedPage, type PageRequest } from '../pages/page-fetcher.js';
import { TransportError } from '../slots/transport-error.js';
import { PENALTIES, ROBOTS_LOOKUP, type Penalties, type RobotsLookup } from '../cluster/ports.js';
import { ExpressSlots, type ExpressPlace } from '../slots/express-slots.js';
import { HostReports, type SeenTrouble } from '../slots/host-reports.js';

@Injectable()
export class SinglePageParts {
  @Inject(PageFetcher) readonly pages!: Pick<PageFetcher, 'fetch'>;
  @Inject(ExpressSlots) readonly express!: Pick<ExpressSlots, 'acquire'>;
  @Inject(PENALTIES) readonly penalties!: Pick<Penalties, 'pauseMs' | 'stateOf'>;
  @Inject(HostReports) readonly reports!: Pick<HostReports, 'clean' | 'trouble' | 'probed'>;
  @Inject(ROBOTS_LOOKUP) readonly robots!: RobotsLookup;
  /** @default nothing is recorded */
  @Inject(TRACER) readonly tracer?: Tracer;
}

export interface SinglePageRequest extends Omit<PageRequest, 'onHop' | 'onAnswer' | 'onClimb' | 'keepsBusyAnswers'> {
  /** null: robots are not consulted. */
  robotsAgent: string | null;
  /** See `FetchRequest`. */
  onlyHosts?: readonly string[];
}

interface Try {
  /** By `performance.now()`. */
  endsAt: number;
  /** The page was busy a moment ago. */
  isRepeat: boolean;
}

/** Share of the budget that may pass before the first byte is asked for. */
const QUEUE_SHARE = 2 / 3;
/**
 * A 429 or 503 becomes the document after this many tries, or when the host wants a longer pause than a caller waits.
 */
const MAX_TRIES = 3;
const MAX_BUSY_WAIT_MS = 5000;
/** One scrape in this time, or until the next probe is due, asks whether a host that is down still is. */
const PROBE_MS = 2000;
const REMEMBERED_PROBES = 1000;

@Injectable()
export class SinglePages {
  /** Times at which the next scrape may ask a host that is down. */
  private readonly probes = new LRUCache<string, number>({ max: REMEMBERED_PROBES });

  constructor(private readonly parts: SinglePageParts) {}

  /**
   * @throws TroupeError, CONCURRENCY_QUEUE_TIMEOUT naming the host when it had no place in time, HostPausedError at
   * once while nothing may be asked of it
   */
  async fetch(request: SinglePageRequest): Promise<FetchedPage> {
    const endsAt = performance.now() + request.budgetMs;
    for (let tries = 1; ; tries++) {
      const page = await this.fetchOnce(request, { endsAt, isRepeat: tries > 1 });
      const isPaused = () => this.parts.penalties.pauseMs(hostKey(page.finalUrl)) > 0;
      if (page.busy === null || tries >= MAX_TRIES || isPaused()) return page;
      const waitMs = page.busy.retryMs ?? 1000;
      if (waitMs > Math.min(MAX_BUSY_WAIT_MS, QUEUE_SHARE * (endsAt - performance.now()))) return page;
      await sleep(waitMs, undefined, { signal: request.signal });
      if (isPaused()) return page;
    }
  }

  private async fetchOnce(request: SinglePageRequest, { endsAt, isRepeat }: Try): Promise<FetchedPage> {
    const host = hostKey(request.url);
    const isProbe = this.mayProbe(host);
    const checkHost = () => isProbe || checkPause(host, this.parts.penalties);
    checkHost();
    const patienceMs = QUEUE_SHARE * (endsAt - performance.now());
    const place = new HeldPlace(async () => {
      const taken = await this.parts.express.acquire(host, patienceMs, request.signal);
      return checked(taken, checkHost);
    });
    await inSpan(this.parts.tracer ?? NO_TRACES, ['wait for host', request.trace], () => place.take());
    const onOwnHost = async () => {
      checkHost();
      await place.take();
    };
    const guard = this.guardFor(host, request, patienceMs, onOwnHost);
    const report = isProbe ? this.probeReport(guard, request) : this.reportOf(guard, request, isRepeat);
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
      report.answered(page);
      return page;
    } catch (error) {
      report.failed(error);
      throw guard.paused ?? error;
    } finally {
      place.give();
      guard.release();
    }
  }

  private mayProbe(host: string): boolean {
    const { penalties } = this.parts;
    const now = performance.now();
    if (penalties.stateOf(host) !== 'down' || (this.probes.get(host) ?? 0) > now) return false;
    this.probes.set(host, now + Math.max(PROBE_MS, penalties.pauseMs(host)));
    return true;
  }

  private guardFor(
    host: string,
    request: SinglePageRequest,
    placeWaitMs: number,
    onOwnHost: () => Promise<void>,
  ): HopGuard {
    const { robots, penalties, express } = this.parts;
    const { robotsAgent, onlyHosts, signal } = request;
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

  /** That a page is busy still, a moment later, is no news of its host. */
  private reportOf(guard: HopGuard, { team, spec }: SinglePageRequest, isRepeat: boolean): SingleReport {
    const { reports } = this.parts;
    const trouble = (seen: Pick<SeenTrouble, 'kind' | 'status' | 'retryMs'>) =>
      reports.trouble(guard.host, { ...seen, url: guard.url, team, isSecret: spec.zeroRetention });
    return {
      answered: ({ busy, statusCode, fetchMs, finalUrl }) => {
        if (busy !== null && isRepeat) return;
        if (busy !== null) trouble({ ...busy, status: statusCode });
        else reports.clean(guard.host, { ms: fetchMs, url: spec.zeroRetention ? null : finalUrl });
      },
      failed: (error) => {
        if (guard.refusal !== null || guard.paused !== null || !(error instanceof TransportError)) return;
        // How long a caller is willing to wait says nothing about the host.
        if (error.trouble === null || error.trouble === 'timeout') return;
        trouble({ kind: error.trouble, status: 0, retryMs: null });
      },
    };
  }

  private probeReport(guard: HopGuard, { url, spec }: SinglePageRequest): SingleReport {
    const { host } = guard;
    const shown = spec.zeroRetention ? null : url;
    const tell = (clean: boolean) => void this.parts.reports.probed(host, { clean, url: shown });
    return {
      answered: ({ busy }) => tell(busy === null),
      failed: (error) => {
        if (guard.refusal !== null) return;
        // The page came, although something else is wrong with it.
        tell(isTroupeError(error) && !(error instanceof TransportError) && !error.retryable);
      },
    };
  }
}

/** The report on a page to the host's actor. */
interface SingleReport {
  answered(page: FetchedPage): void;
  failed(error: unknown): void;
}

/** The page's express place on its host, taken again before each of its requests. */
class HeldPlace {
  private place: ExpressPlace | null = null;

  constructor(private readonly acquire: () => Promise<ExpressPlace>) {}

  /** @throws TroupeError CONCURRENCY_QUEUE_TIMEOUT */
  async take(): Promise<void> {
    this.place ??= await this.acquire();
  }

  give(): void {
    this.place?.release();
    this.place = null;
  }
}

/** Checks again that the host has no penalty after the wait for its place. */
function checked(place: ExpressPlace, check: () => void): ExpressPlace {
  try {
    check();
    return place;
  } catch (error) {
    place.release();
    throw error;
  }
}
