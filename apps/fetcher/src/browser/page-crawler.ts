/**
 * Crawlee's crawler of browser pages. Pages come from its source, their steps are its hooks and handlers, and its
 * autoscaling decides how many are shown at once: by the processors and by what the browsers hold. It stores nothing,
 * retries nothing, and listens to no signal of the process.
 */
import { Log, LogLevel, PlaywrightCrawler, type PlaywrightCrawlingContext } from '@crawlee/playwright';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BrowserType } from 'playwright-core';
import { CrawlerSettings, type Load } from './crawler-settings.js';
import { PageRequest, type Visit } from './page-request.js';
import { PageSource } from './page-source.js';
import { TabLost } from './browser-life.js';
import { TabPool, type TabPoolOptions } from './tab-pool.js';

export interface PageCrawlerOptions extends TabPoolOptions {
  chromium: BrowserType;
  /** Pages at once, however busy the machine is. */
  least: number;
  /** Pages at once while processors are idle. */
  concurrency: number;
  load: Omit<Load, 'readBytes'>;
}

/** Crawlee's own timeouts are off: the deadline of a page ends it. */
const NEVER_SECS = 7 * 24 * 3600;
/** The load of so many seconds decides. */
const HISTORY_SECS = 3;
const NEVER_OVERLOADED = 1;

export class PageCrawler extends PlaywrightCrawler {
  readonly tabs: TabPool;
  private readonly source: PageSource;
  /** The error that ended the crawler. */
  private failure: unknown = null;

  constructor(options: PageCrawlerOptions) {
    const source = new PageSource();
    const tabs = new TabPool(options);
    const load = { ...options.load, readBytes: () => tabs.countBrowsers().memoryBytes };
    super(
      {
        requestQueue: source as never,
        preNavigationHooks: [({ request }) => pageOf(request).prepare()],
        requestHandler: ({ request }) => pageOf(request).read(),
        launchContext: { launcher: options.chromium as never },
        browserPoolOptions: { useFingerprints: false },
        keepAlive: true,
        maxRequestRetries: 0,
        useSessionPool: false,
        navigationTimeoutSecs: NEVER_SECS,
        requestHandlerTimeoutSecs: NEVER_SECS,
        statisticsOptions: { persistenceOptions: { enable: false } },
        log: new Log({ level: LogLevel.OFF }),
        minConcurrency: options.least,
        maxConcurrency: options.concurrency,
        autoscaledPoolOptions: AUTOSCALING,
      },
      new CrawlerSettings(load),
    );
    this.source = source;
    this.tabs = tabs;
    void this.browserPool.destroy();
    this.browserPool = tabs as never;
  }

  /**
   * Starts the pool alone. Crawlee's `run` would also count, log and store, and stop the process's pages at SIGINT.
   */
  async open(): Promise<void> {
    await this._init();
    void this.autoscaledPool?.run().catch((error: unknown) => {
      this.failure = error;
      this.source.refuseAll(new TabLost(error));
    });
    // At its start the pool opens a place before it has looked at the load.
    await nextTurn();
    this.adjustPlaces();
  }

  /** @throws what a step throws; TabLost when its tab or browser died; the deadline's reason */
  show<T>(visit: Visit<T>): Promise<T> {
    const page = new PageRequest(visit);
    this.source.add(page);
    void this.autoscaledPool?.notify();
    return visit.deadline.race(page.answer);
  }

  /** Pages on show, and those whose tabs are being left. */
  get busy(): number {
    return this.autoscaledPool?.currentConcurrency ?? 0;
  }

  get isIdle(): boolean {
    return this.busy === 0 && this.source.size === 0;
  }

  get hasFailed(): boolean {
    return this.failure !== null;
  }

  /**
   * Done every second. Crawlee opens places ahead of need: as long as no page waits, there are no more places than are
   * taken. When a page waits Crawlee must be told, because a task that its own interval has begun holds that interval
   * up.
   */
  adjustPlaces(): void {
    const { autoscaledPool, source } = this;
    if (autoscaledPool === undefined) return;
    if (source.size > 0) return void autoscaledPool.notify();
    autoscaledPool.desiredConcurrency = Math.max(autoscaledPool.minConcurrency, this.busy);
  }

  /** Pages that are still there lose their tabs. */
  async close(): Promise<void> {
    await this.autoscaledPool?.abort();
    this.source.refuseAll(new TabLost());
    await this.teardown();
  }

  protected override async _runRequestHandler(context: PlaywrightCrawlingContext): Promise<void> {
    const page = pageOf(context.request);
    this.tabs.expect(context.id, page);
    await super._runRequestHandler(context).catch((error: unknown) => page.fail(error));
  }

  protected override _navigationHandler({ request }: PlaywrightCrawlingContext): Promise<never> {
    return pageOf(request).navigate() as Promise<never>;
  }

  /** A page's cookies are those of its tab; the gate sets the caller's. */
  protected override _applyCookies(): Promise<void> {
    return Promise.resolve();
  }

  /** Errors go to the caller of the page unchanged. */
  protected override isProxyError(): boolean {
    return false;
  }

  /** Lanes take care of politeness. */
  protected override delayRequest(): boolean {
    return false;
  }
}

const AUTOSCALING = {
  autoscaleIntervalSecs: 1,
  maybeRunIntervalSecs: 0.25,
  loggingIntervalSecs: null,
  snapshotterOptions: { snapshotHistorySecs: HISTORY_SECS },
  systemStatusOptions: {
    currentHistorySecs: HISTORY_SECS,
    // The loop has other work as well, and there is no storage to be slow.
    maxEventLoopOverloadedRatio: NEVER_OVERLOADED,
    maxClientOverloadedRatio: NEVER_OVERLOADED,
  },
};

function pageOf(request: unknown): PageRequest {
  return request as PageRequest;
}
