/**
 * Tabs of Chromium, handed out page by page. Pages of one job follow each other in tabs of that job, which spares them
 * a new context and a new renderer; cookies and storage stay within it. A page without a job has a context that nobody
 * used before: some are opened ahead of need. Tabs that nobody uses are closed, and with the last of them the browser.
 * Pages in disguise have browsers of their own, of the program that people use.
 */
import { TroupeError } from '@troupe/contracts';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { BrowserFleet, type BrowserLimits, type BrowserObserver, type FleetSandbox } from './browser-fleet.js';
import { BrowserTab, TabLost } from './browser-tab.js';
import { browserMemoryBytes, NO_BROWSER, type Browsers } from './chromium.js';
import type { Deadline } from '../http/deadline.js';
import type { EgressProxy } from '../proxies/egress-proxy.js';
import type { UpstreamProxy } from '../http/engine.js';
import { PlaceQueue } from './place-queue.js';
import { loadReader } from '../browser/processors.js';

export interface BrowserPoolOptions {
  /** null = no browser here. */
  browsers: Browsers | null;
  /** Why, when there is none. @default none is installed */
  absence?: string;
  /** @default on, except for root, who cannot have it; given up when a browser does not start with it */
  sandbox?: FleetSandbox;
  /** Pages open at once; more wait, first in, first out. */
  concurrency: number;
  /** While the processors are busy, so many at once. @default `concurrency` */
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
  /** @default nobody */
  observer?: BrowserObserver;
}

const NOBODY: BrowserObserver = {
  launched: () => undefined,
  retired: () => undefined,
  crashed: () => undefined,
  unsandboxed: () => undefined,
};

/** Which tab a page may have. */
export interface TabRequest {
  context: BrowserContextOptions;
  /** Pages with the same key may follow each other in one tab; null: a context of its own. */
  key: string | null;
  /** In which program, where there are two. @default 'plain' */
  program?: keyof Browsers;
}

/** The browsers of a program, and who uses them. */
interface Program {
  fleet: BrowserFleet;
  /** Pages on show. */
  busy: number;
  usedAt: number;
}

/** A tab that nobody uses at the moment. */
interface IdleTab {
  tab: Promise<BrowserTab | null>;
  program: Program;
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
  /** One and the same where there is one program only. */
  private readonly programs: Record<keyof Browsers, Program> | null;
  /** Oldest first. */
  private idle: IdleTab[] = [];
  /** Tabs on their way out. */
  private readonly leaving = new Set<Promise<void>>();
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly options: BrowserPoolOptions) {
    const { concurrency: most, least = most } = options;
    this.places = new PlaceQueue({ least, most, readLoad: loadReader() });
    this.programs = options.browsers === null ? null : this.programsOf(options.browsers);
  }

  get isAvailable(): boolean {
    return this.programs !== null;
  }

  /** Why there is no browser, when there is none. */
  get absence(): string {
    return this.options.absence ?? NO_BROWSER;
  }

  /**
   * Runs `use` on a tab and takes the tab back afterwards, also when `use` never ends: then the deadline decides.
   * `use` runs once more, on another tab, when its tab or the browser crashes.
   * @throws TroupeError SCRAPE_ALL_ENGINES_FAILED without a browser; the deadline's reason while waiting for a place
   */
  async withTab<T>(asked: TabRequest, deadline: Deadline, use: (tab: BrowserTab) => Promise<T>): Promise<T> {
    const program = this.programs?.[asked.program ?? 'plain'];
    if (program === undefined) throw new TroupeError('SCRAPE_ALL_ENGINES_FAILED', this.absence);
    for (let attempt = 1; ; attempt++) {
      await this.places.enter(deadline.signal);
      let tab: BrowserTab | null = null;
      try {
        tab = await this.enterTab(program, asked, deadline);
        const result = await deadline.race(Promise.race([use(tab), tab.lost]));
        this.takeBack(program, tab, asked);
        return result;
      } catch (error) {
        const isLost = (tab?.isLost ?? false) || error instanceof TabLost || namesCrash(error);
        if (tab !== null) this.discard(program, tab);
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
    const fleets = this.eachProgram().map(({ fleet }) => fleet.counts());
    const browsers = fleets.reduce((sum, fleet) => sum + fleet.browsers, 0);
    const memoryBytes = fleets.reduce((sum, fleet) => sum + fleet.memoryBytes, 0);
    return { browsers, memoryBytes, busy: this.places.taken, parked, warm: this.idle.length - parked };
  }

  async close(): Promise<void> {
    this.stopSweeping();
    await this.closeIdle(() => true);
    await Promise.all(this.leaving);
    await Promise.all(this.eachProgram().map(({ fleet }) => fleet.close()));
  }

  private programsOf({ plain, whole }: Browsers): Record<keyof Browsers, Program> {
    const isOne = plain === whole;
    const { concurrency, proxy, userAgent, limits, observer = NOBODY } = this.options;
    const { sandbox = { isOn: process.getuid?.() !== 0, isRequired: false } } = this.options;
    const programOf = (executablePath: string): Program => ({
      fleet: new BrowserFleet({
        executablePath,
        proxy,
        userAgent,
        // In use, idle, warm, and on their way out.
        maxTabs: concurrency * 4 + this.warmTabs,
        limits: { ...defaultLimits(concurrency, isOne ? 1 : 2), ...limits },
        onRetired: (browser) => this.closeTabsOf(browser),
        observer,
        sandbox,
      }),
      busy: 0,
      usedAt: performance.now(),
    });
    const ofPlain = programOf(plain);
    return { plain: ofPlain, whole: isOne ? ofPlain : programOf(whole) };
  }

  private eachProgram(): Program[] {
    return this.programs === null ? [] : [...new Set([this.programs.plain, this.programs.whole])];
  }

  private get warmTabs(): number {
    return Math.min(this.options.warmTabs ?? 2, this.options.concurrency);
  }

  /** Gives the place back when no tab can be had. */
  private async enterTab(program: Program, asked: TabRequest, deadline: Deadline): Promise<BrowserTab> {
    this.timer ??= setInterval(() => void this.sweep(), SWEEP_MS).unref();
    program.busy++;
    const opening = this.findTab(program, asked);
    try {
      const tab = await deadline.race(opening);
      tab.countPage();
      return tab;
    } catch (error) {
      this.leaveAfter(
        program,
        opening.then((late) => late.close()).catch(() => undefined),
      );
      throw error;
    }
  }

  private async findTab(program: Program, { context, key }: TabRequest): Promise<BrowserTab> {
    const options = JSON.stringify(context);
    for (;;) {
      const fitting = this.idle.filter((idle) => idle.program === program && idle.context === options);
      const found = fitting.findLast((idle) => idle.key === key) ?? fitting.find((idle) => idle.key === null);
      if (found === undefined) return BrowserTab.open(program.fleet, context);
      this.idle = this.idle.filter((idle) => idle !== found);
      const tab = await found.tab;
      if (tab !== null && !tab.isLost && !tab.isRetired) return tab;
      if (tab !== null) this.track(tab.close());
    }
  }

  private takeBack(program: Program, tab: BrowserTab, asked: TabRequest): void {
    const isSpent = tab.pages >= PAGES_PER_TAB || performance.now() - tab.openedAt > TAB_AGE_MS || tab.isRetired;
    if (asked.key === null || isSpent) {
      if (asked.key === null) this.warm(program, asked.context);
      return this.discard(program, tab);
    }
    const blanked = tab.blank().then(async (isFit) => {
      if (isFit && !tab.isRetired) return tab;
      await tab.close();
      return null;
    });
    this.park({
      tab: blanked,
      program,
      key: asked.key,
      context: JSON.stringify(asked.context),
      since: performance.now(),
    });
    this.leaveAfter(program, blanked);
  }

  private discard(program: Program, tab: BrowserTab): void {
    this.leaveAfter(program, tab.close());
  }

  /** The next page gets the place when the tab has done with this one. */
  private leaveAfter(program: Program, work: Promise<unknown>): void {
    program.usedAt = performance.now();
    const leave = (): void => {
      program.busy--;
      this.places.leave();
    };
    this.track(work.then(leave));
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
  private warm(program: Program, context: BrowserContextOptions): void {
    if (this.timer === null) return;
    const options = JSON.stringify(context);
    const isWarm = (idle: IdleTab): boolean => idle.key === null && idle.program === program;
    void this.closeIdle((idle) => isWarm(idle) && idle.context !== options);
    for (let missing = this.warmTabs - this.idle.filter(isWarm).length; missing > 0; missing--) {
      const tab = BrowserTab.open(program.fleet, context).catch(() => null);
      this.idle.push({ tab, program, key: null, context: options, since: performance.now() });
      this.track(tab);
    }
  }

  /** Closes what has lain idle for too long: tabs of jobs, and after a longer while the browsers of a program. */
  private async sweep(): Promise<void> {
    const now = performance.now();
    const { tabIdleMs = 12_000, idleMs = 60_000 } = this.options;
    await this.closeIdle((idle) => idle.key !== null && now - idle.since >= tabIdleMs);
    const programs = this.eachProgram();
    const unused = programs.filter(({ busy, usedAt }) => busy === 0 && now - usedAt >= idleMs);
    if (unused.length === programs.length) return this.close();
    for (const program of unused) {
      await this.closeIdle((idle) => idle.program === program);
      await program.fleet.close();
    }
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

function defaultLimits(concurrency: number, programs: number): BrowserLimits {
  const memoryBytes = browserMemoryBytes(concurrency, programs);
  return { pages: PAGES_PER_BROWSER, ageMs: BROWSER_AGE_MS, memoryBytes, fatalBytes: 1.6 * memoryBytes };
}

/** What playwright says of a tab whose crash it has not announced yet. */
function namesCrash(error: unknown): boolean {
  return error instanceof Error && /crashed|has been closed|target closed/i.test(error.message);
}
