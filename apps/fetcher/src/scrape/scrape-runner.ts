/** Sync scrapes over request/reply: one page, answered at once (design/messages.md §4). */
import { errorToWire, RPC, type FetchReply, type FetchRequest } from '@troupe/contracts';
import type { Rpc } from '@troupe/messaging';
import { NeedsBrowserError, type FetchedPage } from '../pages/page-fetcher.js';
import type { SinglePages } from './single-pages.js';

export interface ScrapeAnswer {
  head: FetchReply;
  body?: Uint8Array;
}

export interface ScrapeParts {
  single: Pick<SinglePages, 'fetch'>;
  rpc: Pick<Rpc, 'call'>;
  /** This process has a browser of its own. */
  hasBrowser: boolean;
  /** Some other fetcher of the cluster has one. */
  browserElsewhere(): boolean;
}

export class ScrapeRunner {
  constructor(private readonly parts: ScrapeParts) {}

  /** Answers `rpc.fetch.http`. Never rejects: failures are replies. */
  async http(request: FetchRequest, signal: AbortSignal): Promise<ScrapeAnswer> {
    const startedAt = performance.now();
    try {
      if (request.spec.engine === 'browser' && this.#forwards()) return await this.#forward(request, startedAt, signal);
      return answer(await this.#fetch(request, signal), startedAt);
    } catch (error) {
      return error instanceof NeedsBrowserError ? this.#shell(error, request, startedAt, signal) : failure(error);
    }
  }

  /** Answers `rpc.fetch.browser`: another fetcher found that the page needs a browser, or the caller asked for it. */
  async browser(request: FetchRequest, signal: AbortSignal): Promise<ScrapeAnswer> {
    const startedAt = performance.now();
    try {
      return answer(await this.#fetch({ ...request, spec: { ...request.spec, engine: 'browser' } }, signal), startedAt);
    } catch (error) {
      return failure(error);
    }
  }

  #forwards(): boolean {
    return !this.parts.hasBrowser && this.parts.browserElsewhere();
  }

  #fetch({ url, sourceUrl, spec, deadlineMs, metadata, id }: FetchRequest, signal: AbortSignal): Promise<FetchedPage> {
    return this.parts.single.fetch({
      url,
      spec,
      budgetMs: deadlineMs,
      signal,
      robotsAgent: null,
      discover: () => null,
      metadata: { sourceURL: sourceUrl, scrapeId: id, proxyUsed: 'basic', creditsUsed: 1, ...metadata },
      encoding: 'json',
      reportsShells: true,
    });
  }

  async #shell(
    shell: NeedsBrowserError,
    request: FetchRequest,
    startedAt: number,
    signal: AbortSignal,
  ): Promise<ScrapeAnswer> {
    try {
      if (this.#forwards()) return await this.#forward(request, startedAt, signal);
      return answer(
        await shell.keep(),
        startedAt,
        'The page is made by scripts, and no browser is available to run them',
      );
    } catch (error) {
      return failure(error);
    }
  }

  async #forward(request: FetchRequest, startedAt: number, signal: AbortSignal): Promise<ScrapeAnswer> {
    const deadlineMs = Math.max(1, Math.round(request.deadlineMs - (performance.now() - startedAt)));
    return this.parts.rpc.call<FetchReply>(RPC.fetchBrowser, { ...request, deadlineMs }, null, {
      timeoutMs: deadlineMs,
      signal,
    });
  }
}

function answer(page: FetchedPage, startedAt: number, warning?: string): ScrapeAnswer {
  const { statusCode, finalUrl, engine, document } = page;
  const ms = Math.round(performance.now() - startedAt);
  const head: FetchReply = {
    ok: true,
    statusCode,
    finalUrl,
    engine,
    ms,
    credits: 1,
    ...(warning === undefined ? {} : { warning }),
  };
  return { head, body: document };
}

function failure(error: unknown): ScrapeAnswer {
  return { head: { ok: false, error: errorToWire(error) } };
}
