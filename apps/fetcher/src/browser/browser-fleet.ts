/**
 * The Chromium processes behind the tabs: Crawlee's pool of browsers, with each browser behind its guard and the egress
 * proxy. It retires a browser that has shown so many pages, or that lies idle. Here a browser is also retired after a
 * while, and when it holds too much memory. A retired browser opens nothing more and goes with its last tab.
 */
import { TroupeError } from '@troupe/contracts';
import {
  BrowserPool,
  PlaywrightPlugin,
  type BROWSER_POOL_EVENTS,
  type BrowserPoolOptions,
} from '@crawlee/browser-pool';
import type { Browser, BrowserContextOptions, BrowserType, Page } from 'playwright-core';
import { BrowserGuard } from './browser-guard.js';
import { TabLost, type BrowserLimits, type BrowserObserver, type Program, type RetireReason } from './browser-life.js';
import { CHROMIUM_ARGS } from './chromium.js';
import { groupMemoryBytes } from './process-group.js';
import { browserUserAgent } from './user-agent.js';
import { within } from './within.js';

export interface BrowserFleetOptions {
  chromium: BrowserType;
  programs: readonly Program[];
  /** Tabs open at once in a browser, parked ones included. */
  maxTabs: number;
  /** Address of the egress proxy. */
  proxyUrl: string;
  /** Appended to Chromium's own user agent. */
  userAgent: string;
  limits: BrowserLimits;
  /** A browser without tabs is closed after this long, or twice as long. */
  idleMs: number;
  observer: Pick<BrowserObserver, 'launched' | 'retired' | 'unsandboxed'>;
  /** Browsers that do not start with their sandbox do not start. */
  isSandboxRequired: boolean;
}

type Options = Omit<BrowserPoolOptions, 'browserPlugins'> & { browserPlugins: [PlaywrightPlugin] };
type Pool = BrowserPool<Options>;
type Controller = Parameters<Pool['retireBrowserController']>[0];

interface Member {
  controller: Controller;
  guard: BrowserGuard;
  startedAt: number;
  /** Open tabs. */
  tabs: number;
  /** Memory at the last look. */
  memoryBytes: number;
  /** null: it is not retired. */
  retired: RetireReason | 'idle' | null;
}

/** A process that is told to stop finishes its pages first; the guard sees to the rest. */
const KEPT_WHILE_DRAINING = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };
const LAUNCH_TIMEOUT_SECS = 30;
/** Time to open a tab in a browser that runs already. */
const OPEN_LIMIT_MS = 10_000;
/** The same, when a renderer of the browser has died meanwhile: it may have been the tab's. */
const CRASHED_OPEN_LIMIT_MS = 2_500;
/** Longer than any page may take. */
const RETIRED_LIMIT_SECS = 900;
const CHECK_EVERY_MS = 3_000;
const CLOSE_LIMIT_MS = 3_000;
/** A member of Crawlee's `BROWSER_POOL_EVENTS`, which exist as types only. */
const RETIRED = 'browserRetired' as BROWSER_POOL_EVENTS.BROWSER_RETIRED;

export class BrowserFleet extends BrowserPool<Options> {
  private readonly fleet: BrowserFleetOptions;
  private readonly plugins: Map<Program, PlaywrightPlugin>;
  private readonly guards = new Map<string, BrowserGuard>();
  private readonly members = new Map<Browser, Member>();
  /** Browsers in which tabs are being opened now, by the tabs' ids in the pool. */
  private readonly openings = new Map<string, Browser>();
  private readonly timer: NodeJS.Timeout;
  private opened = 0;
  private isEnded = false;

  constructor(options: BrowserFleetOptions) {
    const plugins = new Map(options.programs.map((program) => [program, pluginOf(options)]));
    super({
      browserPlugins: [...plugins.values()] as [PlaywrightPlugin],
      useFingerprints: false,
      maxOpenPagesPerBrowser: options.maxTabs,
      retireBrowserAfterPageCount: options.limits.pages,
      retireInactiveBrowserAfterSecs: options.idleMs / 1000,
      closeInactiveBrowserAfterSecs: RETIRED_LIMIT_SECS,
      operationTimeoutSecs: LAUNCH_TIMEOUT_SECS,
    });
    this.fleet = options;
    this.plugins = plugins;
    this.preLaunchHooks = [(id, launch) => this.guardLaunch(id, launch as Launch)];
    this.postLaunchHooks = [(id, controller) => this.enlist(id, controller)];
    this.prePageCreateHooks = [(id, controller, asked) => this.beginOpening(id, controller, asked ?? {})];
    this.on(RETIRED, (controller) => this.noteRetired(controller));
    this.timer = setInterval(() => void this.checkAll(), CHECK_EVERY_MS).unref();
  }

  /**
   * A tab of its own context, in a running browser of the program or a new one.
   * @throws TroupeError SCRAPE_ALL_ENGINES_FAILED when no browser starts; TabLost when two browsers died before the tab was open
   */
  async openPage(program: Program, context: BrowserContextOptions, isRetry = false): Promise<Page> {
    const id = `page-${++this.opened}`;
    const browserPlugin = this.plugins.get(program)!;
    try {
      const page = (await super.newPage({ id, browserPlugin, pageOptions: { ...context } })) as Page;
      this.countTab(page);
      return page;
    } catch (error) {
      this.releaseGuard(id);
      const mayGoWithout = program.isSandboxed && !this.fleet.isSandboxRequired && namesSandbox(error);
      if (mayGoWithout) {
        program.isSandboxed = false;
        this.fleet.observer.unsandboxed(launchFailed(error).message);
        return this.openPage(program, context);
      }
      // A browser may be killed while it starts; the next one starts.
      if (!isRetry) return this.openPage(program, context, true);
      throw namesDyingBrowser(error) ? new TabLost(error) : launchFailed(error);
    } finally {
      this.openings.delete(id);
    }
  }

  /** Counts a page shown in a tab that has shown others; the last one that a browser may show retires it. */
  countPage(browser: Browser): void {
    const controller = this.members.get(browser)?.controller;
    if (controller === undefined) return;
    controller.totalPages++;
    if (controller.totalPages >= this.retireBrowserAfterPageCount) this.retireBrowserController(controller);
  }

  isRetired(browser: Browser): boolean {
    return this.members.get(browser)?.retired !== null;
  }

  /** Ends a browser at once, with its hanging pages. */
  kill(browser: Browser): void {
    const member = this.members.get(browser);
    this.retire(member, 'hung');
    member?.guard.release();
  }

  countBrowsers(): { browsers: number; memoryBytes: number } {
    let memoryBytes = 0;
    for (const member of this.members.values()) memoryBytes += member.memoryBytes;
    return { browsers: this.members.size, memoryBytes };
  }

  override async destroy(): Promise<void> {
    this.isEnded = true;
    clearInterval(this.timer);
    const guards = [...this.guards.keys()];
    await super.destroy().catch(() => undefined);
    for (const id of guards) this.releaseGuard(id);
  }

  /** Called for a browser that opens nothing more. It ends when its tabs are closed. */
  protected leaveBrowser(_browser: Browser): void {}

  /**
   * A tab whose renderer dies while it is opened never opens, and holds up all later ones. So its browser is ended, and
   * the next tab is opened in another browser.
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
    if (member.retired === null || member.tabs > 0) return;
    void within(member.controller.close(), CLOSE_LIMIT_MS).then(() => {
      member.guard.release();
      this.members.delete(member.controller.browser as Browser);
    });
  }

  private guardLaunch(id: string, launch: Launch): void {
    if (this.isEnded) throw new Error('the browsers are being closed');
    const program = [...this.plugins].find(([, plugin]) => plugin === launch.browserPlugin)?.[0];
    if (program === undefined) throw new Error('a browser of no program');
    const guard = new BrowserGuard(program.executablePath);
    this.guards.set(id, guard);
    const { executablePath, env, dir: artifactsDir } = guard;
    const own = { executablePath, env, artifactsDir, chromiumSandbox: program.isSandboxed };
    launch.launchOptions = { ...launch.launchOptions, ...own };
  }

  private async enlist(id: string, controller: Controller): Promise<void> {
    const browser = controller.browser as Browser;
    const guard = this.guards.get(id);
    if (guard === undefined) return;
    const startedAt = performance.now();
    const member: Member = { controller, guard, startedAt, tabs: 0, memoryBytes: 0, retired: null };
    this.members.set(browser, member);
    this.fleet.observer.launched();
    browser.once('disconnected', () => {
      this.releaseGuard(id);
      this.retire(member, 'lost');
      this.members.delete(browser);
    });
    await this.watchCrashes(browser).catch(() => undefined);
  }

  private beginOpening(id: string, controller: Controller, asked: BrowserContextOptions): void {
    const browser = controller.browser as Browser;
    this.openings.set(id, browser);
    this.endUnlessOpened(id, OPEN_LIMIT_MS);
    const own = asked.userAgent ?? this.fleet.userAgent;
    asked.userAgent = browserUserAgent(browser.version(), asked.isMobile ?? false, own);
  }

  private releaseGuard(id: string): void {
    this.guards.get(id)?.release();
    this.guards.delete(id);
  }

  private retire(member: Member | undefined, reason: RetireReason): void {
    if (member === undefined || member.retired !== null) return;
    member.retired = reason;
    this.retireBrowserController(member.controller);
    this.endEmpty(member);
  }

  /**
   * Counts a retired browser. By itself the pool retires one that has shown its pages, lies idle, or failed to open a
   * tab.
   */
  private noteRetired(controller: Controller): void {
    const browser = controller.browser as Browser;
    const member = this.members.get(browser);
    if (member === undefined) return;
    const isSpent = controller.totalPages >= this.retireBrowserAfterPageCount;
    member.retired ??= isSpent ? 'pages' : controller.activePages === 0 ? 'idle' : 'hung';
    if (member.retired !== 'idle') this.fleet.observer.retired(member.retired);
    this.leaveBrowser(browser);
    this.endEmpty(member);
  }

  private async checkAll(): Promise<void> {
    const { ageMs, memoryBytes, fatalBytes } = this.fleet.limits;
    for (const member of this.members.values()) {
      if (performance.now() - member.startedAt >= ageMs) this.retire(member, 'age');
      const bytes = member.guard.pid === null ? 0 : await groupMemoryBytes(member.guard.pid);
      member.memoryBytes = bytes;
      if (bytes > memoryBytes) this.retire(member, 'memory');
      if (bytes > fatalBytes) member.guard.release();
    }
  }
}

/** Options of a browser's start. */
interface Launch {
  browserPlugin: unknown;
  launchOptions?: Record<string, unknown>;
}

function pluginOf({ chromium, proxyUrl }: BrowserFleetOptions): PlaywrightPlugin {
  return new PlaywrightPlugin(chromium, {
    useIncognitoPages: true,
    proxyUrl,
    launchOptions: { headless: true, args: [...CHROMIUM_ARGS], ...KEPT_WHILE_DRAINING },
  });
}

/** The browser was closing because of another page when it was asked. The pool has retired it by now. */
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
