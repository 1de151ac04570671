/** Sync scrapes over request/reply: one page, answered at once (design/messages.md §4). */
import {
  actionsLost,
  errorToWire,
  isRepeatable,
  NO_SPAN,
  NO_TRACES,
  RPC,
  type FetchReply,
  type FetchRequest,
  type TraceSpan,
  type TraceParent,
  type Tracer,
} from '@troupe/contracts';
import type { Rpc } from '@troupe/messaging';
import { spanUrl } from '@troupe/observability';
import type { CacheView, PageCache } from '../cache/index.js';
import { readingSpec } from '../models/model-wish.js';
import {
  NeedsBrowserError,
  type ConversionRequest,
  type FetchedPage,
  type PageFetcher,
} from '../pages/page-fetcher.js';
import type { PageFinisher } from '../pages/page-finisher.js';
import type { SinglePages } from './single-pages.js';

export interface ScrapeAnswer {
  head: FetchReply;
  body?: Uint8Array;
}

export interface ScrapeParts {
  single: Pick<SinglePages, 'fetch'>;
  pages: Pick<PageFetcher, 'recall'>;
  cache: Pick<PageCache, 'lookUp'>;
  finisher: Pick<PageFinisher, 'finish'>;
  rpc: Pick<Rpc, 'call'>;
  /** This process has a browser of its own. */
  hasBrowser: boolean;
  /** Some other fetcher of the cluster has one. */
  browserElsewhere(): boolean;
  /** @default nothing is recorded */
  tracer?: Tracer;
}

/** A scrape being made. */
interface Running {
  request: FetchRequest;
  startedAt: number;
  signal: AbortSignal;
  trace: TraceParent | undefined;
}

export class ScrapeRunner {
  constructor(private readonly parts: ScrapeParts) {}

  /** Answers `rpc.fetch.http`. Never rejects: failures are replies. */
  http(request: FetchRequest, signal: AbortSignal, cause?: TraceParent): Promise<ScrapeAnswer> {
    return this.#visit(request, cause, async (trace) => {
      const running: Running = { request, startedAt: performance.now(), signal, trace };
      const cached = await this.parts.cache.lookUp(request.team, [request.url], request.spec);
      const remembered = await this.#recall(running, cached);
      if (remembered !== null) return this.#answer(remembered, running);
      cached.checkMayFetch(request.url);
      return this.#http({ ...running, request: consulted(request, cached) }, cached);
    });
  }

  /** Answers `rpc.fetch.browser`: another fetcher found that the page needs a browser, or the caller asked for it. */
  browser(request: FetchRequest, signal: AbortSignal, cause?: TraceParent): Promise<ScrapeAnswer> {
    return this.#visit(request, cause, async (trace) => {
      const running: Running = { request, startedAt: performance.now(), signal, trace };
      const { team, url, spec } = request;
      const cached = await this.parts.cache.lookUp(team, [url], spec);
      const asked = { ...request, spec: { ...spec, engine: 'browser' as const } };
      return this.#answer(await this.#fetch({ ...running, request: asked }, cached), running);
    });
  }

  async #visit(
    { url, spec }: FetchRequest,
    cause: TraceParent | undefined,
    work: (trace: TraceParent | undefined) => Promise<ScrapeAnswer>,
  ): Promise<ScrapeAnswer> {
    const span = this.#pageSpan(cause, spec.zeroRetention ? null : url);
    try {
      const answer = await work(span.context);
      if (answer.head.ok) span.set({ 'http.response.status_code': answer.head.statusCode });
      span.end();
      return answer;
    } catch (error) {
      span.end(error);
      return failure(error);
    }
  }

  #pageSpan(cause: TraceParent | undefined, url: string | null): TraceSpan {
    if (cause === undefined) return NO_SPAN;
    const attributes = url === null ? undefined : { 'url.full': spanUrl(url) };
    return (this.parts.tracer ?? NO_TRACES).span('page', cause, { attributes });
  }

  async #http(running: Running, cached: CacheView): Promise<ScrapeAnswer> {
    const { request } = running;
    const forwarded = request.spec.engine === 'auto' ? null : await this.#forward(running);
    if (forwarded !== null) return forwarded;
    try {
      return await this.#answer(await this.#fetch(running, cached), running);
    } catch (error) {
      if (error instanceof NeedsBrowserError) return this.#shell(error, running);
      throw error;
    }
  }

  #forwards(): boolean {
    return !this.parts.hasBrowser && this.parts.browserElsewhere();
  }

  async #recall(running: Running, cached: CacheView): Promise<FetchedPage | null> {
    const remembered = await cached.recall(running.request.url);
    return remembered === null ? null : this.parts.pages.recall(remembered, conversionOf(running));
  }

  #fetch(running: Running, cached: CacheView): Promise<FetchedPage> {
    const { request } = running;
    return this.parts.single.fetch({
      ...conversionOf(running),
      url: request.url,
      budgetMs: request.deadlineMs,
      robotsAgent: null,
      ...(request.onlyHosts === undefined ? {} : { onlyHosts: request.onlyHosts }),
      reportsShells: true,
      handsOver: this.#forwards(),
      cache: cached.use(request.url),
      team: request.team,
      contextKey: null,
    });
  }

  async #answer(
    page: FetchedPage,
    { request, startedAt, signal, trace }: Running,
    warning?: string,
  ): Promise<ScrapeAnswer> {
    const { team, url, id, spec, deadlineMs } = request;
    const leftMs = deadlineMs - (performance.now() - startedAt);
    const scrape = { team, url, scrape: id, spec };
    const { statusCode, finalUrl, engine, credits, document } = await this.parts.finisher.finish(page, scrape, {
      leftMs,
      signal,
      trace,
    });
    const head: FetchReply = {
      ok: true,
      statusCode,
      finalUrl,
      engine,
      ms: Math.round(performance.now() - startedAt),
      credits,
      ...(warning === undefined ? {} : { warning }),
    };
    return { head, body: document };
  }

  async #shell(shell: NeedsBrowserError, running: Running): Promise<ScrapeAnswer> {
    try {
      const forwarded = await this.#forward(running);
      if (forwarded !== null) return forwarded;
      return await this.#answer(
        await shell.keep(),
        running,
        'The page is made by scripts, and no browser is available to run them',
      );
    } catch (error) {
      return failure(error);
    }
  }

  /** Null when no other fetcher has a browser, or the last one goes away before it takes the request. */
  async #forward({ request, startedAt, signal, trace }: Running): Promise<ScrapeAnswer | null> {
    if (!this.#forwards()) return null;
    const deadlineMs = Math.max(1, Math.round(request.deadlineMs - (performance.now() - startedAt)));
    try {
      return await this.parts.rpc.call<FetchReply>(RPC.fetchBrowser, { ...request, deadlineMs }, null, {
        timeoutMs: deadlineMs,
        signal,
        trace,
        isServed: () => this.#forwards(),
        ...(isRepeatable(request.spec) ? {} : { whenLost: actionsLost }),
      });
    } catch (error) {
      // A process that was killed stays on the board for some seconds: nobody was left to wait for.
      if (errorToWire(error).code === 'CONCURRENCY_QUEUE_TIMEOUT' && !this.#forwards()) return null;
      throw error;
    }
  }
}

function conversionOf({ request, signal, trace }: Running): ConversionRequest {
  const { sourceUrl, spec, metadata, id } = request;
  return {
    spec: readingSpec(spec),
    signal,
    discover: () => null,
    metadata: { sourceURL: sourceUrl, scrapeId: id, ...metadata },
    encoding: 'json',
    trace,
  };
}

/** Nobody asks the cache again, whoever fetches the page in the end. */
function consulted(request: FetchRequest, { metadata }: CacheView): FetchRequest {
  const cache = { ...request.spec.cache, maxAgeMs: 0, minAgeMs: null };
  return { ...request, spec: { ...request.spec, cache }, metadata: { ...request.metadata, ...metadata } };
}

function failure(error: unknown): ScrapeAnswer {
  return { head: { ok: false, error: errorToWire(error) } };
}
