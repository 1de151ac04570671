/**
 * An engine as the rest of the fetcher knows it. Its requests go through the proxies that are chosen for them, and
 * another proxy takes over from one that fails. Each request is counted, and traced when its page is.
 */
import type { FactoryProvider, InjectionToken } from '@nestjs/common';
import { inSpan, isTroupeError, NO_TRACES, TroupeError, type EngineName, type Tracer } from '@troupe/contracts';
import { TRACER } from '@troupe/service';
import { ENGINE_TOKENS, type EngineRequest, type EngineResponse, type FetchEngine } from '../http/engine.js';
import { FetchCounts } from './fetch-counts.js';
import { noProxyLeft } from './proxy-fault.js';
import { ProxyPools } from './proxy-pools.js';
import type { Upstream } from './upstream.js';

/** Proxies that one request tries. */
const MAX_PROXIES = 3;
/** With less time left no other proxy is tried. */
const MIN_TRY_MS = 1_000;
/** Ends of a request that a failing proxy can bring about. */
const BY_PROXY = new Set(['SCRAPE_PROXY_SELECTION_ERROR', 'SCRAPE_SITE_ERROR', 'SCRAPE_SSL_ERROR', 'SCRAPE_TIMEOUT']);

const NONE_TRIED: ReadonlySet<Upstream> = new Set();
/** Status codes that sites make up are counted as one value. */
const KNOWN_STATUS = /^[1-5]\d\d$/;

export interface ProxiedEngineParts {
  name: EngineName;
  engine: Pick<FetchEngine, 'fetch'>;
  pools: Pick<ProxyPools, 'choose'>;
  counts: FetchCounts;
  /** @default nothing is recorded */
  tracer?: Tracer;
}

/** Provides the engine by `ENGINE_TOKENS`. */
export function throughProxies(name: EngineName, bare: InjectionToken): FactoryProvider {
  return {
    provide: ENGINE_TOKENS[name],
    useFactory: (engine: FetchEngine, pools: ProxyPools, counts: FetchCounts, tracer: Tracer) =>
      new ProxiedEngine({ name, engine, pools, counts, tracer }),
    inject: [bare, ProxyPools, FetchCounts, TRACER],
  };
}

export class ProxiedEngine implements Pick<FetchEngine, 'fetch'> {
  constructor(private readonly parts: ProxiedEngineParts) {}

  /** The span has no address: what the page's own span tells of it depends on its job. */
  fetch(request: EngineRequest, signal: AbortSignal): Promise<EngineResponse> {
    const { name: engine, counts, tracer = NO_TRACES } = this.parts;
    const attributes = { 'troupe.engine': engine, 'troupe.proxy': request.proxy };
    return inSpan(tracer, [`fetch ${engine}`, request.trace, { kind: 'client', attributes }], async (span) => {
      const stop = counts.seconds.startTimer({ engine });
      counts.inflight.inc({ engine });
      try {
        const asked = { ...request, trace: span.context };
        const upstream = this.parts.pools.choose(request, NONE_TRIED);
        const response = await (upstream === null
          ? this.parts.engine.fetch(asked, signal)
          : this.fetchByProxies(upstream, asked, signal));
        const { statusCode, body, redirects } = response;
        const status = String(statusCode);
        counts.answers.inc({ engine, status: KNOWN_STATUS.test(status) ? status : 'other' });
        counts.bytes.inc({ engine }, body.byteLength);
        span.set({
          'http.response.status_code': statusCode,
          'http.response.body.size': body.byteLength,
          'troupe.redirects': redirects.length,
        });
        return response;
      } catch (error) {
        counts.failures.inc({ engine, code: isTroupeError(error) ? error.code : 'UNKNOWN_ERROR' });
        throw error;
      } finally {
        stop();
        counts.inflight.dec({ engine });
      }
    });
  }

  private async fetchByProxies(first: Upstream, request: EngineRequest, signal: AbortSignal): Promise<EngineResponse> {
    const endsAt = performance.now() + request.timeoutMs;
    const tried = new Set<Upstream>();
    let upstream: Upstream | null = first;
    for (let left = request.timeoutMs; upstream !== null; left = endsAt - performance.now()) {
      tried.add(upstream);
      const outcome = await this.fetchThrough(upstream, { ...request, timeoutMs: left }, signal);
      if (!(outcome instanceof TroupeError)) return outcome;
      if (endsAt - performance.now() < MIN_TRY_MS) throw outcome;
      if (tried.size >= MAX_PROXIES) throw noProxyLeft(tried.size);
      upstream = this.parts.pools.choose(request, tried);
    }
    // The team's last proxy was taken from its list meanwhile.
    return this.parts.engine.fetch(request, signal);
  }

  /** An error of the proxy is a result; others are thrown. */
  private async fetchThrough(
    upstream: Upstream,
    request: EngineRequest,
    signal: AbortSignal,
  ): Promise<EngineResponse | TroupeError> {
    const { faults } = upstream;
    let isRefused = false;
    const onRedirect = (url: string) =>
      request.onRedirect(url).catch((error: unknown) => {
        isRefused = true;
        throw error;
      });
    try {
      return await this.parts.engine.fetch({ ...request, upstream, onRedirect }, signal);
    } catch (error) {
      const isItsFault = upstream.faults > faults && isTroupeError(error) && BY_PROXY.has(error.code);
      if (isRefused || signal.aborted || !isItsFault) throw error;
      return error;
    }
  }
}
