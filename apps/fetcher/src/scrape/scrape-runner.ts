/** Sync scrapes over request/reply: one page, answered at once (docs/design/messages.md, "Request and reply"). */
import { Inject, Injectable } from '@nestjs/common';
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
import { Rpc } from '@troupe/messaging';
import { spanUrl } from '@troupe/observability';
import { INSTANCE, TRACER } from '@troupe/service';
import { HAS_BROWSER } from '../cluster/process.js';
import { OtherBrowsers } from '../cluster/other-browsers.js';
import { Flights, PageCache, type CacheView, type OwnFlight, type Remembered } from '../cache/index.js';
import { readingSpec } from '../models/model-wish.js';
import { NeedsBrowserError, type ConversionRequest, type FetchedPage, PageFetcher } from '../pages/page-fetcher.js';
import { PageFinisher } from '../pages/page-finisher.js';
import { SinglePages } from './single-pages.js';

export interface ScrapeAnswer {
  head: FetchReply;
  body?: Uint8Array;
}

@Injectable()
export class ScrapeParts {
  @Inject(SinglePages) readonly single!: Pick<SinglePages, 'fetch'>;
  @Inject(PageFetcher) readonly pages!: Pick<PageFetcher, 'recall'>;
  @Inject(PageCache) readonly cache!: Pick<PageCache, 'lookUp'>;
  @Inject(Flights) readonly flights!: Pick<Flights, 'find'>;
  @Inject(INSTANCE) readonly instance!: string;
  @Inject(PageFinisher) readonly finisher!: Pick<PageFinisher, 'finish'>;
  @Inject(Rpc) readonly rpc!: Pick<Rpc, 'call'>;
  /** This process has a browser of its own. */
  @Inject(HAS_BROWSER) readonly hasBrowser!: boolean;
  /** Some other fetcher of the cluster has one. */
  @Inject(OtherBrowsers) readonly others!: Pick<OtherBrowsers, 'areThere'>;
  /** @default nothing is recorded */
  @Inject(TRACER) readonly tracer?: Tracer;
}

/** A scrape being made. */
interface Running {
  request: FetchRequest;
  startedAt: number;
  signal: AbortSignal;
  trace: TraceParent | undefined;
  /** The page that another scrape of it got. */
  shared: Remembered | null;
  /** The right to fetch the page for all that want it now; null: it is fetched for its caller alone. */
  flight: OwnFlight | null;
}

@Injectable()
export class ScrapeRunner {
  constructor(private readonly parts: ScrapeParts) {}

  /** Answers `rpc.fetch.http`. Never rejects: failures are replies. */
  http(request: FetchRequest, signal: AbortSignal, cause?: TraceParent): Promise<ScrapeAnswer> {
    return this.visit(request, cause, async (trace) => {
      const looking = this.parts.cache.lookUp(request.team, [request.url], request.spec);
      const alone = runningOf(request, signal, trace);
      const running = await this.join(alone, async () => (await looking).holds(request.url));
      try {
        const cached = await looking;
        const remembered = (await this.recallShared(running)) ?? (await this.recall(running, cached));
        if (remembered !== null) return await this.answer(remembered, running);
        cached.checkMayFetch(request.url);
        return await this.answerHttp({ ...running, request: consulted(request, cached) }, cached);
      } finally {
        running.flight?.end();
      }
    });
  }

  /** Answers `rpc.fetch.browser`: another fetcher found that the page needs a browser, or the caller asked for it. */
  browser(request: FetchRequest, signal: AbortSignal, cause?: TraceParent): Promise<ScrapeAnswer> {
    return this.visit(request, cause, async (trace) => {
      const running = await this.join(runningOf(request, signal, trace), () => Promise.resolve(false));
      try {
        const remembered = await this.recallShared(running);
        if (remembered !== null) return await this.answer(remembered, running);
        const { team, url, spec } = request;
        const cached = await this.parts.cache.lookUp(team, [url], spec);
        const asked = { ...request, spec: { ...spec, engine: 'browser' as const } };
        return await this.answer(await this.fetch({ ...running, request: asked }, cached), running);
      } finally {
        running.flight?.end();
      }
    });
  }

  /** Adds the page of another scrape, or the right to fetch the page for others. */
  private async join(running: Running, isServed: () => Promise<boolean>): Promise<Running> {
    const { request, signal } = running;
    const { team, url, spec, deadlineMs, onlyHosts, flight: from } = request;
    // The allowed hosts are this caller's own rule, so its page is not shared.
    if (onlyHosts !== undefined) return running;
    const found = await this.parts.flights.find({ team, url, spec, leftMs: deadlineMs, signal, from, isServed });
    if (found === null) return running;
    return 'page' in found ? { ...running, shared: found.page } : { ...running, flight: found.flight };
  }

  private async visit(
    { url, spec }: FetchRequest,
    cause: TraceParent | undefined,
    work: (trace: TraceParent | undefined) => Promise<ScrapeAnswer>,
  ): Promise<ScrapeAnswer> {
    const span = this.pageSpan(cause, spec.zeroRetention ? null : url);
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

  private pageSpan(cause: TraceParent | undefined, url: string | null): TraceSpan {
    if (cause === undefined) return NO_SPAN;
    const attributes = url === null ? undefined : { 'url.full': spanUrl(url) };
    return (this.parts.tracer ?? NO_TRACES).span('page', cause, { attributes });
  }

  private async answerHttp(running: Running, cached: CacheView): Promise<ScrapeAnswer> {
    const { request } = running;
    const forwarded = request.spec.engine === 'auto' ? null : await this.forward(running);
    if (forwarded !== null) return forwarded;
    try {
      return await this.answer(await this.fetch(running, cached), running);
    } catch (error) {
      if (error instanceof NeedsBrowserError) return this.shell(error, running);
      throw error;
    }
  }

  private forwards(): boolean {
    return !this.parts.hasBrowser && this.parts.others.areThere();
  }

  private async recall(running: Running, cached: CacheView): Promise<FetchedPage | null> {
    const remembered = await cached.recall(running.request.url);
    return remembered === null ? null : this.parts.pages.recall(remembered, conversionOf(running));
  }

  private async recallShared(running: Running): Promise<FetchedPage | null> {
    return running.shared === null ? null : this.parts.pages.recall(running.shared, conversionOf(running));
  }

  /** Goes on as long as a waiter wants the page. */
  private fetch(running: Running, cached: CacheView): Promise<FetchedPage> {
    const { request, flight } = running;
    return this.parts.single.fetch({
      ...conversionOf(running),
      signal: flight?.signal ?? running.signal,
      url: request.url,
      budgetMs: leftMsOf(running),
      robotsAgent: null,
      ...(request.onlyHosts === undefined ? {} : { onlyHosts: request.onlyHosts }),
      reportsShells: true,
      handsOver: this.forwards(),
      cache: cached.use(request.url, flight),
      team: request.team,
      contextKey: null,
    });
  }

  private async answer(page: FetchedPage, running: Running, warning?: string): Promise<ScrapeAnswer> {
    const { request, startedAt, signal, trace, flight } = running;
    // The remaining work is for this caller alone.
    flight?.end();
    const { team, url, id, spec } = request;
    const leftMs = leftMsOf(running);
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

  private async shell(shell: NeedsBrowserError, running: Running): Promise<ScrapeAnswer> {
    try {
      const forwarded = await this.forward(running);
      if (forwarded !== null) return forwarded;
      return await this.answer(
        await shell.keep(),
        running,
        'The page is made by scripts, and no browser is available to run them',
      );
    } catch (error) {
      return failure(error);
    }
  }

  /** Null when no other fetcher has a browser, or the last one goes away before it takes the request. */
  private async forward(running: Running): Promise<ScrapeAnswer | null> {
    if (!this.forwards()) return null;
    const { request, signal, trace, flight } = running;
    const deadlineMs = Math.max(1, Math.round(leftMsOf(running)));
    const handedOver = { ...request, deadlineMs, ...(flight?.isAwaited ? { flight: this.parts.instance } : {}) };
    flight?.move();
    try {
      return await this.parts.rpc.call<FetchReply>(RPC.fetchBrowser, handedOver, null, {
        timeoutMs: deadlineMs,
        signal,
        trace,
        isServed: () => this.forwards(),
        ...(isRepeatable(request.spec) ? {} : { whenLost: actionsLost }),
      });
    } catch (error) {
      // A process that was killed stays on the board for some seconds. It was gone when it was asked.
      if (errorToWire(error).code !== 'CONCURRENCY_QUEUE_TIMEOUT' || this.forwards()) throw error;
      flight?.comeBack();
      return null;
    }
  }
}

function runningOf(request: FetchRequest, signal: AbortSignal, trace: TraceParent | undefined): Running {
  return { request, startedAt: performance.now(), signal, trace, shared: null, flight: null };
}

function leftMsOf({ request, startedAt }: Running): number {
  return request.deadlineMs - (performance.now() - startedAt);
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

/** The cache is not asked again, whichever process fetches the page, unless it has a version to ask the site about. */
function consulted(request: FetchRequest, { metadata }: CacheView): FetchRequest {
  const { cache: asked } = request.spec;
  const cache = { ...asked, maxAgeMs: asked.revalidate === undefined ? 0 : asked.maxAgeMs, minAgeMs: null };
  return { ...request, spec: { ...request.spec, cache }, metadata: { ...request.metadata, ...metadata } };
}

function failure(error: unknown): ScrapeAnswer {
  return { head: { ok: false, error: errorToWire(error) } };
}
