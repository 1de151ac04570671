/**
 * Small fetches beside the pages: robots.txt, sitemaps, feeds. They use an express place of the host, and never run
 * while the host is under penalty. The engine checks the address of every hop. Failures are reported to the host's
 * actor.
 */
import { Inject, Injectable } from '@nestjs/common';
import { isTroupeError, TroupeError, type TraceParent } from '@troupe/contracts';
import { hostKey } from '@troupe/frontier';
import { faultOf } from '../http/engine-errors.js';
import { ENGINE_TOKENS, PLAIN_VIEW, type EngineResponse, type FetchEngine } from '../http/engine.js';
import { checkPause, HopGuard } from './hop-guard.js';
import { blameOf, busyKind, isBusy } from './transport-error.js';
import { PENALTIES, type Penalties, type RobotsLookup } from '../cluster/ports.js';
import { ExpressSlots } from './express-slots.js';
import { HostReports, type SeenTrouble } from './host-reports.js';

export interface ExpressRequest {
  url: string;
  headers: Record<string, string>;
  /** Limit of the whole fetch, with the wait for a place. */
  timeoutMs: number;
  maxBytes: number;
  skipTlsVerification: boolean;
  signal: AbortSignal;
  /** Rules for the URL and every hop; null: none are consulted. */
  robots: { agent: string; rules: RobotsLookup } | null;
  /** Trace of the call it is fetched for, when that is recorded. */
  trace?: TraceParent;
}

@Injectable()
export class ExpressFetchParts {
  @Inject(ENGINE_TOKENS.http) readonly engine!: Pick<FetchEngine, 'fetch'>;
  @Inject(ExpressSlots) readonly express!: Pick<ExpressSlots, 'acquire'>;
  @Inject(PENALTIES) readonly penalties!: Pick<Penalties, 'pauseMs' | 'stateOf'>;
  @Inject(HostReports) readonly reports!: Pick<HostReports, 'trouble'>;
}

const NO_ROBOTS: RobotsLookup = {
  rulesFor: () => Promise.reject(new TroupeError('UNKNOWN_ERROR', 'robots are not consulted here')),
};

@Injectable()
export class ExpressFetch {
  constructor(private readonly parts: ExpressFetchParts) {}

  /** @throws TroupeError of the engine; CONCURRENCY_QUEUE_TIMEOUT; HostPausedError; RequestRefusedError (robots) */
  async get(request: ExpressRequest): Promise<EngineResponse> {
    const startedAt = performance.now();
    const host = hostKey(request.url);
    checkPause(host, this.parts.penalties);
    const guard = this.guardFor(host, request);
    await guard.checkStart(request.url);
    const place = await this.parts.express.acquire(host, request.timeoutMs, request.signal);
    try {
      checkPause(host, this.parts.penalties);
      const response = await this.askTwice(request, guard, startedAt);
      const { statusCode: status, retryAfterMs: retryMs } = response;
      if (isBusy(status)) this.report(guard, { kind: busyKind(status), status, retryMs });
      return response;
    } catch (error) {
      const kind = isTroupeError(error) && guard.refusal === null && !request.signal.aborted ? blameOf(error) : null;
      if (kind !== null) this.report(guard, { kind, status: 0, retryMs: null });
      throw error;
    } finally {
      place.release();
      guard.release();
    }
  }

  private askTwice(request: ExpressRequest, guard: HopGuard, startedAt: number): Promise<EngineResponse> {
    const ask = () => this.ask(request, guard, startedAt);
    return ask().catch((error: unknown) => {
      if (!wasCut(error) || request.signal.aborted) throw error;
      return ask();
    });
  }

  private report({ host, url }: HopGuard, seen: Pick<SeenTrouble, 'kind' | 'status' | 'retryMs'>): void {
    this.parts.reports.trouble(host, { ...seen, url, team: null, isSecret: false });
  }

  private ask(request: ExpressRequest, guard: HopGuard, startedAt: number): Promise<EngineResponse> {
    return this.parts.engine.fetch(
      {
        ...request,
        timeoutMs: Math.max(1, request.timeoutMs - (performance.now() - startedAt)),
        waitForMs: 0,
        view: PLAIN_VIEW,
        proxy: 'basic',
        team: null,
        contextKey: null,
        onRedirect: (url) => guard.checkHop(url),
      },
      request.signal,
    );
  }

  private guardFor(host: string, request: ExpressRequest): HopGuard {
    return new HopGuard({
      host,
      robotsAgent: request.robots?.agent ?? null,
      robots: request.robots?.rules ?? NO_ROBOTS,
      scope: null,
      penalties: this.parts.penalties,
      express: this.parts.express,
      placeWaitMs: request.timeoutMs,
      onOwnHost: () => Promise.resolve(),
      signal: request.signal,
    });
  }
}

/** A server may close an idle connection at the very moment at which it is used again: that says nothing about the file. */
function wasCut(error: unknown): boolean {
  const fault = isTroupeError(error) ? faultOf(error) : null;
  return fault === 'ECONNRESET' || fault === 'UND_ERR_SOCKET';
}
