/**
 * Tabs of Chromium, handed out page by page. Pages of one job follow each other in tabs of that job, which spares them
 * a new context and a new renderer; cookies and storage stay within it. A page without a job has a context that nobody
 * used before: some are opened ahead of need. Tabs that nobody uses are closed, and with the last of them the browser.
 */
import { TroupeError } from '@troupe/contracts';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { BrowserFleet, type BrowserLimits, type BrowserObserver } from './browser-fleet.js';
import { BrowserTab } from './browser-tab.js';
import { browserMemoryBytes, NO_BROWSER } from './chromium.js';
import type { Deadline } from './deadline.js';
import type { EgressProxy } from './egress-proxy.js';
import type { UpstreamProxy } from './engine.js';
import { PlaceQueue } from './place-queue.js';

export interface BrowserPoolOptions {
  /** null = no browser on this machine. */
  executablePath: string | null;
  /** Pages open at once; more wait, first in, first out. */
  concurrency: number;
  proxy: EgressProxy;
  /** Appended to Chromium's own user agent. */
  userAgent: string;
  /** The browser is closed after this long without a page. @default 60_000 */
  idleMs?: number;
  /** A tab of a job is closed after this long without a page. @default 12_000 */
  tabIdleMs?: number;
  /** Contexts opened ahead of need. @default 2, but never more than `concurrency` */
  warmTabs?: number;
  /** @default 1,000 pages, 30 minutes, the memory that its pages are reckoned with; fatal is 1.6 times that */
  limits?: Partial<BrowserLimits>;
  /** @default nobody */
  observer?: BrowserObserver;
}

const NOBODY: BrowserObserver = { launched: () => undefined, retired: () => undefined, crashed: () => undefined };

/** Which tab a page may have. */
export interface TabRequest {
  context: BrowserContextOptions;
  /** Pages with the same key may follow each other in one tab; null: a context of its own. */
  key: string | null;
}

/** A tab that nobody uses at the moment. */
interface IdleTab {
  tab: Promise<BrowserTab | null>;
  /** null: it has shown nothing yet. */
  key: string | null;
  context: string;
  since: number;
}

/** A page whose tab or browser crashes is shown once more. */
const TRIES = 2;
const PAGES_PER_TAB = 100;
const TAB_AGE_MS = 10 * 60_000;
const SWEEP_MS = 1_000;
const PAGES_PER_BROWSER = 1_000;
const BROWSER_AGE_MS = 30 * 60_000;

export class BrowserPool {
  private readonly places: PlaceQueue;
  private readonly fleet: BrowserFleet | null;
  /** Oldest first. */
  private idle: IdleTab[] = [];
  /** Tabs on their way out. */
  private readonly leaving = new Set<Promise<void>>();
  private usedAt = performance.now();
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly options: BrowserPoolOptions) {
    const { executablePath, concurrency, proxy, userAgent } = options;
    this.places = new PlaceQueue(concurrency);
    this.fleet =
      executablePath === null
        ? null
        : new BrowserFleet({
            executablePath,
            proxy,
            userAgent,
            // In use, idle, warm, and on their way out.
            maxTabs: concurrency * 4 + this.warmTabs,
            limits: { ...defaultLimits(concurrency), ...options.limits },
            onRetired: (browser) => this.closeTabsOf(browser),
            observer: options.observer ?? NOBODY,
          });
  }

  get isAvailable(): boolean {
    return this.fleet !== null;
  }

  /**
   * Runs `use` on a tab and takes the tab back afterwards, also when `use` never ends: then the deadline decides.
   * `use` runs once more, on another tab, when its tab or the browser crashes.
   * @throws TroupeError SCRAPE_ALL_ENGINES_FAILED without a browser; the deadline's reason while waiting for a place
   */
  async withTab<T>(asked: TabRequest, deadline: Deadline, use: (tab: BrowserTab) => Promise<T>): Promise<T> {
    const { fleet } = this;
    if (fleet === null) throw new TroupeError('SCRAPE_ALL_ENGINES_FAILED', NO_BROWSER);
    for (let attempt = 1; ; attempt++) {
      await this.places.enter(deadline.signal);
      const tab = await this.enterTab(fleet, asked, deadline);
      try {
        const result = await deadline.race(Promise.race([use(tab), tab.lost]));
        this.takeBack(tab, asked);
        return result;
      } catch (error) {
        const isLost = tab.isLost || namesCrash(error);
        this.discard(tab);
        if (isLost) this.options.observer?.crashed();
        if (!isLost || attempt === TRIES) throw error;
      }
    }
  }

  /** What the context of a page must know whose requests leave by `upstream`. */
  async routeOf(upstream: UpstreamProxy | undefined): Promise<BrowserContextOptions> {
    return upstream === undefined ? {} : { proxy: { server: await this.options.proxy.url(upstream) } };
  }

  counts(): { browsers: number; memoryBytes: number; busy: number; parked: number; warm: number } {
    const parked = this.idle.filter(({ key }) => key !== null).length;
    const { browsers, memoryBytes } = this.fleet?.counts() ?? { browsers: 0, memoryBytes: 0 };
    return { browsers, memoryBytes, busy: this.places.taken, parked, warm: this.idle.length - parked };
  }

  async close(): Promise<void> {
    this.stopSweeping();
    await this.closeIdle(() => true);
    await Promise.all(this.leaving);
    await this.fleet?.close();
  }

  private get warmTabs(): number {
    return Math.min(this.options.warmTabs ?? 2, this.options.concurrency);
  }

  /** Gives the place back when no tab can be had. */
  private async enterTab(fleet: BrowserFleet, asked: TabRequest, deadline: Deadline): Promise<BrowserTab> {
    this.timer ??= setInterval(() => void this.sweep(), SWEEP_MS).unref();
    this.usedAt = performance.now();
    const opening = this.findTab(fleet, asked);
    try {
      const tab = await deadline.race(opening);
      tab.countPage();
      return tab;
    } catch (error) {
      this.leaveAfter(opening.then((late) => late.close()).catch(() => undefined));
      throw error;
    }
  }

  private async findTab(fleet: BrowserFleet, { context, key }: TabRequest): Promise<BrowserTab> {
    const options = JSON.stringify(context);
    for (;;) {
      const fitting = this.idle.filter((idle) => idle.context === options);
      const found = fitting.findLast((idle) => idle.key === key) ?? fitting.find((idle) => idle.key === null);
      if (found === undefined) return BrowserTab.open(fleet, context);
      this.idle = this.idle.filter((idle) => idle !== found);
      const tab = await found.tab;
      if (tab !== null && !tab.isLost && !tab.isRetired) return tab;
      if (tab !== null) this.track(tab.close());
    }
  }

  private takeBack(tab: BrowserTab, asked: TabRequest): void {
    const isSpent = tab.pages >= PAGES_PER_TAB || performance.now() - tab.openedAt > TAB_AGE_MS || tab.isRetired;
    if (asked.key === null || isSpent) {
      if (asked.key === null) this.warm(asked.context);
      return this.discard(tab);
    }
    const blanked = tab.blank().then(async (isFit) => {
      if (isFit && !tab.isRetired) return tab;
      await tab.close();
      return null;
    });
    this.park({ tab: blanked, key: asked.key, context: JSON.stringify(asked.context), since: performance.now() });
    this.leaveAfter(blanked);
  }

  private discard(tab: BrowserTab): void {
    this.leaveAfter(tab.close());
  }

  /** The next page gets the place when the tab has done with this one. */
  private leaveAfter(work: Promise<unknown>): void {
    this.usedAt = performance.now();
    this.track(work.then(() => this.places.leave()));
  }

  private track(work: Promise<unknown>): void {
    const settled = work.then(
      () => undefined,
      () => undefined,
    );
    this.leaving.add(settled);
    void settled.then(() => this.leaving.delete(settled));
  }

  /** As many tabs may lie idle as may be in use; the one that has done so longest makes room. */
  private park(idle: IdleTab): void {
    this.idle.push(idle);
    const parked = this.idle.filter(({ key }) => key !== null);
    if (parked.length > this.options.concurrency) void this.closeIdle((other) => other === parked[0]);
  }

  /** Contexts for the next pages without a job, which will most likely be asked for like the last one. */
  private warm(context: BrowserContextOptions): void {
    const { fleet } = this;
    if (fleet === null || this.timer === null) return;
    const options = JSON.stringify(context);
    const isWarm = (idle: IdleTab): boolean => idle.key === null;
    void this.closeIdle((idle) => isWarm(idle) && idle.context !== options);
    for (let missing = this.warmTabs - this.idle.filter(isWarm).length; missing > 0; missing--) {
      const tab = BrowserTab.open(fleet, context).catch(() => null);
      this.idle.push({ tab, key: null, context: options, since: performance.now() });
      this.track(tab);
    }
  }

  /** Closes what has lain idle for too long: tabs of jobs, and after a longer while the browser. */
  private async sweep(): Promise<void> {
    const now = performance.now();
    const { tabIdleMs = 12_000, idleMs = 60_000 } = this.options;
    await this.closeIdle((idle) => idle.key !== null && now - idle.since >= tabIdleMs);
    if (this.places.isEmpty && now - this.usedAt >= idleMs) await this.close();
  }

  private closeTabsOf(browser: Browser): void {
    for (const idle of this.idle) {
      void idle.tab.then((tab) => {
        if (tab !== null && tab.page.context().browser() === browser) void this.closeIdle((other) => other === idle);
      });
    }
  }

  private async closeIdle(isWanted: (idle: IdleTab) => boolean): Promise<void> {
    const closing = this.idle.filter(isWanted);
    this.idle = this.idle.filter((idle) => !closing.includes(idle));
    const closed = Promise.all(closing.map(async ({ tab }) => (await tab)?.close()));
    this.track(closed);
    await closed.catch(() => undefined);
  }

  private stopSweeping(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }
}

function defaultLimits(concurrency: number): BrowserLimits {
  const memoryBytes = browserMemoryBytes(concurrency);
  return { pages: PAGES_PER_BROWSER, ageMs: BROWSER_AGE_MS, memoryBytes, fatalBytes: 1.6 * memoryBytes };
}

/** What playwright says of a tab whose crash it has not announced yet. */
function namesCrash(error: unknown): boolean {
  return error instanceof Error && /crashed|has been closed|target closed/i.test(error.message);
}
