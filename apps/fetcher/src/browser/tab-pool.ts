/**
 * Tabs for the crawler, page by page: Crawlee's pool of browsers, which opens a tab for each page and closes it after
 * that. Here pages of one job follow each other in tabs of that job, which spares them a new context and a new
 * renderer; cookies and storage stay within it. A page without a job has a fresh context: some are opened ahead of
 * need.
 */
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { AsyncResource } from 'node:async_hooks';
import { BrowserFleet, type BrowserFleetOptions } from './browser-fleet.js';
import type { Program } from './browser-life.js';
import { BrowserTab } from './browser-tab.js';
import type { Browsers } from './chromium.js';
import type { PageRequest, TabRequest } from './page-request.js';

export interface TabPoolOptions extends Omit<BrowserFleetOptions, 'programs' | 'maxTabs'> {
  /** Both are the same where there is only one program. */
  programs: Record<keyof Browsers, Program>;
  /** Pages open at once. */
  concurrency: number;
  /** A tab of a job is closed after this long without a page. */
  tabIdleMs: number;
  /** Contexts opened ahead of need. */
  warmTabs: number;
}

/** A tab that is not in use at the moment. */
interface IdleTab {
  tab: Promise<BrowserTab | null>;
  program: Program;
  /** null: it has shown nothing yet. */
  key: string | null;
  context: string;
  since: number;
}

const PAGES_PER_TAB = 100;
const TAB_AGE_MS = 10 * 60_000;

export class TabPool extends BrowserFleet {
  /** Oldest first. */
  private idle: IdleTab[] = [];
  /** Tabs that are being closed. */
  private readonly leaving = new Set<Promise<void>>();
  /** Pages whose tabs are asked for next, by their ids in the crawler. */
  private readonly expected = new Map<string, PageRequest>();
  /** Tabs that are opened ahead of need must not inherit the deadline of the page before. */
  private readonly outside = new AsyncResource('TabPool');
  private isClosing = false;

  constructor(private readonly settings: TabPoolOptions) {
    const { programs, concurrency, warmTabs } = settings;
    // Tabs in use, idle, warm, and being closed.
    const maxTabs = concurrency * 4 + warmTabs;
    super({ ...settings, programs: [...new Set([programs.plain, programs.whole])], maxTabs });
  }

  /** The tab that is asked for under this id will be this page's. */
  expect(id: string, page: PageRequest): void {
    this.expected.set(id, page);
  }

  override async newPage({ id = '' }: { id?: string } = {}): Promise<never> {
    const page = this.expected.get(id);
    this.expected.delete(id);
    if (page === undefined) throw new Error('a tab for no page');
    const program = this.settings.programs[page.visit.asked.program ?? 'plain'];
    program.busy++;
    try {
      const tab = await this.findTab(program, page.visit.asked);
      page.tab = tab;
      tab.countPage();
      tab.page.close = () => this.takeBack(program, tab, page);
      return tab.page as never;
    } catch (error) {
      leave(program);
      throw error;
    }
  }

  counts(): { browsers: number; memoryBytes: number; parked: number; warm: number } {
    const parked = this.idle.filter(({ key }) => key !== null).length;
    return { ...this.countBrowsers(), parked, warm: this.idle.length - parked };
  }

  /**
   * Closes tabs of jobs that have lain idle for too long and, after a longer while, the tabs of a browser program that
   * is not used.
   */
  async sweep(): Promise<void> {
    const now = performance.now();
    const { tabIdleMs, idleMs, programs } = this.settings;
    const isUnused = ({ busy, usedAt }: Program): boolean => busy === 0 && now - usedAt >= idleMs;
    await this.closeIdle((idle) => idle.key !== null && now - idle.since >= tabIdleMs);
    for (const program of Object.values(programs)) {
      if (isUnused(program)) await this.closeIdle((idle) => idle.program === program);
    }
  }

  override async destroy(): Promise<void> {
    this.isClosing = true;
    await this.closeIdle(() => true);
    await Promise.all(this.leaving);
    await super.destroy();
  }

  protected override leaveBrowser(browser: Browser): void {
    for (const idle of this.idle) {
      void idle.tab.then((tab) => {
        if (tab !== null && tab.page.context().browser() === browser) void this.closeIdle((other) => other === idle);
      });
    }
  }

  private async findTab(program: Program, { context, key }: TabRequest): Promise<BrowserTab> {
    const options = JSON.stringify(context);
    for (;;) {
      const fitting = this.idle.filter((idle) => idle.program === program && idle.context === options);
      const found = fitting.findLast((idle) => idle.key === key) ?? fitting.find((idle) => idle.key === null);
      if (found === undefined) return BrowserTab.open(this, program, context);
      this.idle = this.idle.filter((idle) => idle !== found);
      const tab = await found.tab;
      if (tab !== null && !tab.isLost && !tab.isRetired) return tab;
      if (tab !== null) this.track(tab.close());
    }
  }

  /** Resolves when the tab has done with its page; then the next one may have its place. */
  private async takeBack(program: Program, tab: BrowserTab, page: PageRequest): Promise<void> {
    const { asked } = page.visit;
    const isSpent = tab.pages >= PAGES_PER_TAB || performance.now() - tab.openedAt > TAB_AGE_MS || tab.isRetired;
    const isKept = page.isShown && asked.key !== null && !isSpent;
    const done = isKept ? this.park(program, tab, asked) : tab.close();
    this.track(done);
    if (page.isShown && asked.key === null) this.warm(program, asked.context);
    await done.finally(() => leave(program));
  }

  /** Keeps a tab for the next page. As many tabs may lie idle as may be in use; the longest idle one makes room. */
  private async park(program: Program, tab: BrowserTab, { key, context }: TabRequest): Promise<void> {
    const blanked = tab.blank().then(async (isFit) => {
      if (isFit && !tab.isRetired) return tab;
      await tab.close();
      return null;
    });
    this.idle.push({ tab: blanked, program, key, context: JSON.stringify(context), since: performance.now() });
    const parked = this.idle.filter((idle) => idle.key !== null);
    if (parked.length > this.settings.concurrency) void this.closeIdle((other) => other === parked[0]);
    await blanked;
  }

  /** Contexts for the next pages without a job, which will most likely be asked for like the last one. */
  private warm(program: Program, context: BrowserContextOptions): void {
    if (this.isClosing) return;
    const options = JSON.stringify(context);
    const isWarm = (idle: IdleTab): boolean => idle.key === null && idle.program === program;
    void this.closeIdle((idle) => isWarm(idle) && idle.context !== options);
    const missing = this.settings.warmTabs - this.idle.filter(isWarm).length;
    for (let opened = 0; opened < missing; opened++) {
      const opening = this.outside.runInAsyncScope(() => BrowserTab.open(this, program, context));
      const tab = opening.catch(() => null);
      this.idle.push({ tab, program, key: null, context: options, since: performance.now() });
      this.track(tab);
    }
  }

  private track(work: Promise<unknown>): void {
    const settled = work.then(
      () => undefined,
      () => undefined,
    );
    this.leaving.add(settled);
    void settled.then(() => this.leaving.delete(settled));
  }

  private async closeIdle(isWanted: (idle: IdleTab) => boolean): Promise<void> {
    const closing = this.idle.filter(isWanted);
    this.idle = this.idle.filter((idle) => !closing.includes(idle));
    const closed = Promise.all(closing.map(async ({ tab }) => (await tab)?.close()));
    this.track(closed);
    await closed.catch(() => undefined);
  }
}

function leave(program: Program): void {
  program.busy--;
  program.usedAt = performance.now();
}
