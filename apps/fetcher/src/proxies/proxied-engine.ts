/** An engine whose requests go through the proxies that are chosen for them; another one takes over from one that fails. */
import { isTroupeError, TroupeError } from '@troupe/contracts';
import type { EngineRequest, EngineResponse, FetchEngine } from '../engines/engine.js';
import { noProxyLeft } from './proxy-fault.js';
import type { ProxyPools } from './proxy-pools.js';
import type { Upstream } from './upstream.js';

/** Proxies that one request tries. */
const MAX_PROXIES = 3;
/** With less time left no other proxy is tried. */
const MIN_TRY_MS = 1_000;
/** Ends of a request that a failing proxy can bring about. */
const BY_PROXY = new Set(['SCRAPE_PROXY_SELECTION_ERROR', 'SCRAPE_SITE_ERROR', 'SCRAPE_SSL_ERROR', 'SCRAPE_TIMEOUT']);

export class ProxiedEngine implements FetchEngine {
  constructor(
    private readonly engine: FetchEngine,
    private readonly pools: Pick<ProxyPools, 'choose'>,
  ) {}

  async fetch(request: EngineRequest, signal: AbortSignal): Promise<EngineResponse> {
    const endsAt = performance.now() + request.timeoutMs;
    const tried = new Set<Upstream>();
    for (let left = request.timeoutMs; ; left = endsAt - performance.now()) {
      const upstream = this.pools.choose(request, tried);
      if (upstream === null) return this.engine.fetch(request, signal);
      tried.add(upstream);
      const outcome = await this.fetchThrough(upstream, { ...request, timeoutMs: left }, signal);
      if (!(outcome instanceof TroupeError)) return outcome;
      if (endsAt - performance.now() < MIN_TRY_MS) throw outcome;
      if (tried.size >= MAX_PROXIES) throw noProxyLeft(tried.size);
    }
  }

  close(): Promise<void> {
    return this.engine.close();
  }

  /** An error that the proxy is to blame for is a result; others are thrown. */
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
      return await this.engine.fetch({ ...request, upstream, onRedirect }, signal);
    } catch (error) {
      const isItsFault = upstream.faults > faults && isTroupeError(error) && BY_PROXY.has(error.code);
      if (isRefused || signal.aborted || !isItsFault) throw error;
      return error;
    }
  }
}
