/**
 * Pages in Chromium, shown by a crawler of Crawlee's. It is made when the first page is asked for, and closed when none
 * was asked for in a while. Stealth pages have browsers of their own, of the program that people use.
 */
import { TroupeError } from '@troupe/contracts';
import type { BrowserContextOptions } from 'playwright-core';
import { TabLost, type BrowserLimits, type BrowserObserver, type FleetSandbox, type Program } from './browser-life.js';
import { loadBrowserStack } from './browser-stack.js';
import { browserMemoryBytes, browsersMemoryBytes, NO_BROWSER, type Browsers } from './chromium.js';
import type { EgressProxy } from '../proxies/egress-proxy.js';
import type { UpstreamProxy } from '../http/engine.js';
import type { PageCrawler } from './page-crawler.js';
import type { Visit } from './page-request.js';
import { loadReader } from './processors.js';

export interface BrowserPoolOptions {
  /** null = no browser here. */
  browsers: Browsers | null;
  /** Reason why there is no browser. @default none is installed */
  absence?: string;
  /** @default on, except for root, for whom Chromium has none; given up when a browser does not start with it */
  sandbox?: FleetSandbox;
  /** Pages open at once; more wait, first in, first out. */
  concurrency: number;
  /** Pages at once while the processors are busy. @default `concurrency` */
  least?: number;
  proxy: EgressProxy;
  /** Appended to Chromium's own user agent. */
  userAgent: string;
  /** The browsers of a program are closed after this long without a page. @default 60_000 */
  idleMs?: number;
  /** A tab of a job is closed after this long without a page. @default 12_000 */
  tabIdleMs?: number;
  /** Contexts opened ahead of need. @default 2, but never more than `concurrency` */
  warmTabs?: number;
  /** @default 1,000 pages, 30 minutes, the memory that its pages are reckoned with; fatal is 1.6 times that */
  limits?: Partial<BrowserLimits>;
  /** @default none */
  observer?: BrowserObserver;
  /** Share of the processors in use since it was asked last, 0 to 1. @default of this machine */
  readLoad?: () => number;
}

const NO_OBSERVER: BrowserObserver = {
  launched: () => undefined,
  retired: () => undefined,
  crashed: () => undefined,
  unsandboxed: () => undefined,
};

/** A page whose tab or browser crashes is shown once more. */
const TRIES = 2;
const SWEEP_MS = 1_000;
const PAGES_PER_BROWSER = 1_000;
const BROWSER_AGE_MS = 30 * 60_000;

export class BrowserPool {
  /** Both are the same where there is only one program. */
  private readonly programs: Record<keyof Browsers, Program> | null;
  private readonly idleMs: number;
  private readonly observer: BrowserObserver;
  private readonly readLoad: () => number;
  private crawler: PageCrawler | null = null;
  private starting: Promise<PageCrawler> | null = null;
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly options: BrowserPoolOptions) {
    this.idleMs = options.idleMs ?? 60_000;
    this.observer = options.observer ?? NO_OBSERVER;
    this.readLoad = options.readLoad ?? loadReader();
    this.programs = options.browsers === null ? null : this.programsOf(options.browsers);
  }

  get isAvailable(): boolean {
    return this.programs !== null;
  }

  /** Reason why there is no browser. */
  get absence(): string {
    return this.options.absence ?? NO_BROWSER;
  }

  /**
   * Shows a page and reads it. The steps run once more, on another tab, when the tab or its browser crashes.
   * @throws TroupeError SCRAPE_ALL_ENGINES_FAILED without a browser; what a step throws; the deadline's reason
   */
  async show<T>(visit: Visit<T>): Promise<T> {
    if (this.programs === null) throw new TroupeError('SCRAPE_ALL_ENGINES_FAILED', this.absence);
    for (let attempt = 1; ; attempt++) {
      if (this.crawler?.hasFailed === true) await this.close();
      const crawler = this.crawler ?? (await visit.deadline.race(this.start(this.programs)));
      try {
        return await crawler.show(visit);
      } catch (error) {
        if (!(error instanceof TabLost)) throw error;
        this.observer.crashed();
        if (attempt === TRIES) throw (error.cause ?? error) as Error;
      }
    }
  }

  /** Options of the context of a page whose requests leave by `upstream`. */
  async routeOf(upstream: UpstreamProxy | undefined): Promise<BrowserContextOptions> {
    return upstream === undefined ? {} : { proxy: { server: await this.options.proxy.url(upstream) } };
  }

  counts(): { browsers: number; memoryBytes: number; busy: number; parked: number; warm: number } {
    const tabs = this.crawler?.tabs.counts() ?? { browsers: 0, memoryBytes: 0, parked: 0, warm: 0 };
    return { ...tabs, busy: this.crawler?.busy ?? 0 };
  }

  async close(): Promise<void> {
    const crawler = this.crawler ?? (await this.starting?.catch(() => null)) ?? null;
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    this.crawler = this.starting = null;
    await crawler?.close();
  }

  private programsOf({ plain, whole }: Browsers): Record<keyof Browsers, Program> {
    const isSandboxed = this.sandbox.isOn;
    const programOf = (executablePath: string): Program => ({ executablePath, isSandboxed, busy: 0, usedAt: 0 });
    const ofPlain = programOf(plain);
    return { plain: ofPlain, whole: plain === whole ? ofPlain : programOf(whole) };
  }

  private get sandbox(): FleetSandbox {
    return this.options.sandbox ?? { isOn: process.getuid?.() !== 0, isRequired: false };
  }

  private start(programs: Record<keyof Browsers, Program>): Promise<PageCrawler> {
    this.starting ??= this.createCrawler(programs).then(
      (crawler) => {
        this.starting = null;
        this.timer ??= setInterval(() => void this.sweep(), SWEEP_MS).unref();
        return (this.crawler = crawler);
      },
      (error: unknown) => {
        this.starting = null;
        throw error;
      },
    );
    return this.starting;
  }

  private async createCrawler(programs: Record<keyof Browsers, Program>): Promise<PageCrawler> {
    const { PageCrawler, chromium } = await loadBrowserStack();
    const { concurrency, least = concurrency, warmTabs = 2, tabIdleMs = 12_000, userAgent, proxy } = this.options;
    for (const program of Object.values(programs)) program.usedAt = performance.now();
    const crawler = new PageCrawler({
      chromium,
      programs,
      concurrency,
      least,
      warmTabs: Math.min(warmTabs, concurrency),
      tabIdleMs,
      idleMs: this.idleMs,
      proxyUrl: await proxy.url(),
      userAgent,
      limits: { ...defaultLimits(concurrency, programs.plain === programs.whole ? 1 : 2), ...this.options.limits },
      observer: this.observer,
      isSandboxRequired: this.sandbox.isRequired,
      load: { readProcessors: this.readLoad, maxBytes: browsersMemoryBytes() },
    });
    await crawler.open();
    return crawler;
  }

  private async sweep(): Promise<void> {
    const { crawler, programs } = this;
    if (crawler === null || programs === null) return;
    crawler.adjustPlaces();
    const usedAt = Math.max(programs.plain.usedAt, programs.whole.usedAt);
    if (crawler.isIdle && performance.now() - usedAt >= this.idleMs) return this.close();
    await crawler.tabs.sweep();
  }
}

function defaultLimits(concurrency: number, programs: number): BrowserLimits {
  const memoryBytes = browserMemoryBytes(concurrency, programs);
  return { pages: PAGES_PER_BROWSER, ageMs: BROWSER_AGE_MS, memoryBytes, fatalBytes: 1.6 * memoryBytes };
}
