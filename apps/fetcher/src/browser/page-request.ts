/** A page on its way through Crawlee's crawler: its steps, and the promise of its result. */
import { Request } from '@crawlee/playwright';
import type { BrowserContextOptions, Response } from 'playwright-core';
import { TabLost } from './browser-life.js';
import type { BrowserTab } from './browser-tab.js';
import type { Browsers } from './chromium.js';
import type { Deadline } from '../http/deadline.js';

/** The tab that a page may have. */
export interface TabRequest {
  context: BrowserContextOptions;
  /** Pages with the same key may follow each other in one tab; null: a context of its own. */
  key: string | null;
  /** The browser program, where there are two. @default 'plain' */
  program?: keyof Browsers;
}

/** How a page is shown and read; each step has the tab for itself, until the deadline. */
export interface Visit<T> {
  asked: TabRequest;
  deadline: Deadline;
  url: string;
  /** Called before the page navigates. */
  prepare(tab: BrowserTab): Promise<void>;
  navigate(tab: BrowserTab): Promise<Response>;
  read(tab: BrowserTab): Promise<T>;
}

let made = 0;

export class PageRequest<T = unknown> extends Request {
  tab: BrowserTab | null = null;
  /** The page came to its end, so its tab can be used again. */
  isShown = false;
  /** Rejects with what a step rejects with; with `TabLost` when the tab or its browser died under it. */
  readonly answer: Promise<T>;
  private resolve!: (value: T) => void;
  private reject!: (error: unknown) => void;

  constructor(readonly visit: Visit<T>) {
    super({ url: visit.url, uniqueKey: String(++made), noRetry: true });
    this.answer = new Promise<T>((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.answer.catch(() => undefined);
  }

  async prepare(): Promise<void> {
    await this.step((tab) => this.visit.prepare(tab));
  }

  navigate(): Promise<Response> {
    return this.step((tab) => this.visit.navigate(tab));
  }

  async read(): Promise<void> {
    const value = await this.step((tab) => this.visit.read(tab));
    this.isShown = true;
    this.resolve(value);
  }

  fail(error: unknown): void {
    const isLost = (this.tab?.isLost ?? false) || namesCrash(error);
    this.reject(isLost && !(error instanceof TabLost) ? new TabLost(error) : error);
  }

  private step<R>(work: (tab: BrowserTab) => Promise<R>): Promise<R> {
    const { tab } = this;
    if (tab === null) throw new Error('a page without a tab');
    return this.visit.deadline.race(Promise.race([work(tab), tab.lost]));
  }
}

/** Playwright's error for a tab whose crash it has not announced yet. */
function namesCrash(error: unknown): boolean {
  return error instanceof Error && /crashed|has been closed|target closed/i.test(error.message);
}
