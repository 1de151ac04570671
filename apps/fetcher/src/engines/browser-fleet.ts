/**
 * The Chromium processes behind the pool of tabs: started on Crawlee's browser pool, each behind its guard and the
 * egress proxy, and retired after so many pages, after a while, or when they hold too much memory. A retired browser
 * opens nothing more and goes with its last tab.
 */
import { TroupeError } from '@troupe/contracts';
import type * as Crawlee from '@crawlee/browser-pool';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { BrowserGuard } from './browser-guard.js';
import { loadBrowserStack } from './browser-stack.js';
import { CHROMIUM_ARGS } from './chromium.js';
import type { EgressProxy } from '../proxies/egress-proxy.js';
import { groupMemoryBytes } from '../browser/process-group.js';
import { browserUserAgent } from '../browser/user-agent.js';
import { within } from '../browser/within.js';

export interface BrowserFleetOptions {
  executablePath: string;
  /** Tabs open at once, parked ones included. */
  maxTabs: number;
  proxy: EgressProxy;
  /** Appended to Chromium's own user agent. */
  userAgent: string;
  limits: BrowserLimits;
  /** A browser opens nothing more; it ends when its tabs are closed. */
  onRetired(browser: Browser): void;
  observer: Pick<BrowserObserver, 'launched' | 'retired' | 'unsandboxed'>;
  sandbox: FleetSandbox;
}

export interface FleetSandbox {
  isOn: boolean;
  /** A browser that does not start with it does not start. */
  isRequired: boolean;
}

/** Why a browser opens nothing more. `lost`: it ended by itself. */
export const RETIRE_REASONS = ['pages', 'age', 'memory', 'hung', 'lost'] as const;
export type RetireReason = (typeof RETIRE_REASONS)[number];

/** Told what becomes of browsers. */
export interface BrowserObserver {
  launched(): void;
  retired(reason: RetireReason): void;
  /** The tab of a page, or its browser, crashed. */
  crashed(): void;
  /** A browser did not start with its sandbox, and from now on they start without. */
  unsandboxed(why: string): void;
}

/** When a browser has served long enough. */
export interface BrowserLimits {
  pages: number;
  ageMs: number;
  memoryBytes: number;
  /** With so much it endangers the machine: it ends at once, and its pages with it. */
  fatalBytes: number;
}

type Pool = Crawlee.BrowserPool<{ browserPlugins: [Crawlee.PlaywrightPlugin] }>;
type Controller = Parameters<Pool['retireBrowserController']>[0];

interface Member {
  controller: Controller;
  guard: BrowserGuard;
  startedAt: number;
  pages: number;
  /** Open in it. */
  tabs: number;
  /** When it was last looked at. */
  memoryBytes: number;
  isRetired: boolean;
}

/** A process that is told to stop finishes its pages first; the guard sees to the rest. */
const KEPT_WHILE_DRAINING = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };
const LAUNCH_TIMEOUT_SECS = 30;
/** For a tab in a browser that runs already. */
const OPEN_LIMIT_MS = 10_000;
/** As that, when a renderer of the browser has died meanwhile: it may have been the tab's. */
const CRASHED_OPEN_LIMIT_MS = 2_500;
/** Longer than any page may take. */
const RETIRED_LIMIT_SECS = 900;
const CHECK_EVERY_MS = 3_000;
const CLOSE_LIMIT_MS = 3_000;
/** Of Crawlee's `BROWSER_POOL_EVENTS`, which exist as types only. */
const RETIRED = 'browserRetired' as Crawlee.BROWSER_POOL_EVENTS.BROWSER_RETIRED;
/** Crawlee must never retire by its own count of tabs: a tab shows many pages. */
const NEVER = 1_000_000_000;

export class BrowserFleet {
  private readonly guards = new Map<string, BrowserGuard>();
  private readonly members = new Map<Browser, Member>();
  /** Where tabs are being opened now, by their ids in the pool. */
  private readonly openings = new Map<string, Browser>();
  private isSandboxed: boolean;
  private opened = 0;
  private pool: Promise<Pool> | null = null;
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly options: BrowserFleetOptions) {
    this.isSandboxed = options.sandbox.isOn;
  }

  /**
   * A tab of its own context, in a running browser or a new one.
   * @throws TroupeError SCRAPE_ALL_ENGINES_FAILED when no browser starts
   */
  async openPage(context: BrowserContextOptions, isRetry = false): Promise<Page> {
    this.pool ??= this.createPool();
    const pool = await this.pool.catch((error: unknown) => {
      this.pool = null;
      throw error;
    });
    const id = `page-${++this.opened}`;
    try {
      const page = (await pool.newPage({ id, pageOptions: { ...context } })) as Page;
      this.countTab(page);
      return page;
    } catch (error) {
      this.releaseGuard(id);
      if (!isRetry && namesDyingBrowser(error)) return this.openPage(context, true);
      const mayGoWithout = this.isSandboxed && !this.options.sandbox.isRequired && namesSandbox(error);
      if (!mayGoWithout) throw launchFailed(error);
      this.isSandboxed = false;
      this.options.observer.unsandboxed(launchFailed(error).message);
      await this.close();
      return this.openPage(context);
    } finally {
      this.openings.delete(id);
    }
  }

  /**
   * A tab whose renderer dies while it is opened is never opened, and the pool opens none before it: its browser is ended
   * then, and the next one is opened in another.
   */
  private endUnlessOpened(id: string, limitMs: number): void {
    const browser = this.openings.get(id);
    const end = (): void => {
      if (browser !== undefined && this.openings.get(id) === browser) this.kill(browser);
    };
    setTimeout(end, limitMs).unref();
  }

  /** Playwright tells of no renderer that dies before its tab is open. */
  private async watchCrashes(browser: Browser): Promise<void> {
    const session = await browser.newBrowserCDPSession();
    session.on('Target.targetCrashed', () => {
      for (const [id, where] of this.openings) if (where === browser) this.endUnlessOpened(id, CRASHED_OPEN_LIMIT_MS);
    });
    await session.send('Target.setDiscoverTargets', { discover: true, filter: [{ type: 'page' }] });
  }

  private countTab(page: Page): void {
    const browser = page.context().browser();
    const member = browser === null ? undefined : this.members.get(browser);
    if (member === undefined) return;
    member.tabs++;
    page.once('close', () => {
      member.tabs--;
      this.endEmpty(member);
    });
  }

  /** Crawlee's own count of tabs includes those that never opened: by it such a browser would stay for a long time. */
  private endEmpty(member: Member): void {
    if (!member.isRetired || member.tabs > 0) return;
    void within(member.controller.close(), CLOSE_LIMIT_MS).then(() => {
      member.guard.release();
      this.members.delete(member.controller.browser as Browser);
    });
  }

  /** Counts a page shown; the last one that a browser may show retires it. */
  countPage(browser: Browser): void {
    const member = this.members.get(browser);
    if (member === undefined) return;
    member.pages++;
    if (member.pages >= this.options.limits.pages) void this.retire(member, 'pages');
  }

  isRetired(browser: Browser): boolean {
    return this.members.get(browser)?.isRetired ?? true;
  }

  /** Ends a browser at once, with whatever hangs in it. */
  kill(browser: Browser): void {
    const member = this.members.get(browser);
    void this.retire(member, 'hung');
    member?.guard.release();
  }

  counts(): { browsers: number; memoryBytes: number } {
    let memoryBytes = 0;
    for (const member of this.members.values()) memoryBytes += member.memoryBytes;
    return { browsers: this.members.size, memoryBytes };
  }

  async close(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    const { pool } = this;
    this.pool = null;
    const guards = [...this.guards.keys()];
    await (await pool?.catch(() => null))?.destroy().catch(() => undefined);
    for (const id of guards) this.releaseGuard(id);
  }

  private async createPool(): Promise<Pool> {
    const { crawlee, chromium } = await loadBrowserStack();
    const { BrowserPool: CrawleeBrowserPool, PlaywrightPlugin } = crawlee;
    const plugin = new PlaywrightPlugin(chromium, {
      useIncognitoPages: true,
      proxyUrl: await this.options.proxy.url(),
      launchOptions: {
        headless: true,
        args: [...CHROMIUM_ARGS],
        chromiumSandbox: this.isSandboxed,
        ...KEPT_WHILE_DRAINING,
      },
    });
    this.timer ??= setInterval(() => void this.checkAll(), CHECK_EVERY_MS).unref();
    const pool: Pool = new CrawleeBrowserPool({
      browserPlugins: [plugin],
      useFingerprints: false,
      maxOpenPagesPerBrowser: this.options.maxTabs,
      retireBrowserAfterPageCount: NEVER,
      retireInactiveBrowserAfterSecs: 24 * 3600,
      closeInactiveBrowserAfterSecs: RETIRED_LIMIT_SECS,
      operationTimeoutSecs: LAUNCH_TIMEOUT_SECS,
      preLaunchHooks: [(id, launch) => this.guardLaunch(id, launch)],
      postLaunchHooks: [(id, controller) => this.enlist(id, controller)],
      prePageCreateHooks: [
        (id, controller, pageOptions) => {
          this.openings.set(id, controller.browser as Browser);
          this.endUnlessOpened(id, OPEN_LIMIT_MS);
          const asked = (pageOptions ?? {}) as BrowserContextOptions;
          const version = (controller.browser as Browser).version();
          const own = asked.userAgent ?? this.options.userAgent;
          asked.userAgent = browserUserAgent(version, asked.isMobile ?? false, own);
        },
      ],
    });
    // By itself it retires the browser of a tab that could not be opened.
    pool.on(RETIRED, ({ browser }) => void this.retire(this.members.get(browser as Browser), 'hung'));
    return pool;
  }

  private guardLaunch(id: string, launch: { launchOptions?: Record<string, unknown> }): void {
    const guard = new BrowserGuard(this.options.executablePath);
    this.guards.set(id, guard);
    const { executablePath, env, dir: artifactsDir } = guard;
    launch.launchOptions = { ...launch.launchOptions, executablePath, env, artifactsDir };
  }

  private async enlist(id: string, controller: Controller): Promise<void> {
    const browser = controller.browser as Browser;
    const guard = this.guards.get(id);
    if (guard === undefined) return;
    const member = {
      controller,
      guard,
      startedAt: performance.now(),
      pages: 0,
      tabs: 0,
      memoryBytes: 0,
      isRetired: false,
    };
    this.members.set(browser, member);
    this.options.observer.launched();
    browser.once('disconnected', () => {
      this.releaseGuard(id);
      void this.retire(member, 'lost');
      this.members.delete(browser);
    });
    await this.watchCrashes(browser).catch(() => undefined);
  }

  private releaseGuard(id: string): void {
    this.guards.get(id)?.release();
    this.guards.delete(id);
  }

  private async retire(member: Member | undefined, reason: RetireReason): Promise<void> {
    if (member === undefined || member.isRetired) return;
    member.isRetired = true;
    this.options.observer.retired(reason);
    this.options.onRetired(member.controller.browser as Browser);
    (await this.pool?.catch(() => null))?.retireBrowserController(member.controller);
    this.endEmpty(member);
  }

  private async checkAll(): Promise<void> {
    const { ageMs, memoryBytes, fatalBytes } = this.options.limits;
    for (const member of this.members.values()) {
      if (performance.now() - member.startedAt >= ageMs) await this.retire(member, 'age');
      const bytes = member.guard.pid === null ? 0 : await groupMemoryBytes(member.guard.pid);
      member.memoryBytes = bytes;
      if (bytes > memoryBytes) await this.retire(member, 'memory');
      if (bytes > fatalBytes) member.guard.release();
    }
  }
}

/** The browser was going down, for the sake of another page, when it was asked; the pool has retired it by now. */
function namesDyingBrowser(error: unknown): boolean {
  return error instanceof Error && /newPage\(\) (failed|timed out)|has been closed/.test(error.message);
}

function namesSandbox(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /sandbox|zygote_host/i.test(error.message) || namesSandbox(error.cause);
}

function launchFailed(error: unknown): TroupeError {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return new TroupeError('SCRAPE_ALL_ENGINES_FAILED', `the browser did not start: ${line.slice(0, 300)}`, {
    retryable: true,
  });
}
