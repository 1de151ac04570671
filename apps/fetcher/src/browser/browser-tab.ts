/**
 * A tab with a context of its own. It shows one page after another; between two pages it shows a blank one, so that
 * nothing of the first runs on or is taken for the second. The blank page has the origin of the one before and comes
 * from here: Chromium would start another renderer for `about:blank`, and a page of one site after the other needs
 * none.
 */
import { randomUUID } from 'node:crypto';
import type { BrowserContextOptions, CDPSession, Page } from 'playwright-core';
import type { BrowserFleet } from './browser-fleet.js';
import { TabLost, type Program } from './browser-life.js';
import { within } from './within.js';

export interface PausedRequest {
  requestId: string;
  frameId: string;
  resourceType: string;
  request: { url: string; headers: Record<string, string> };
}

/** Requests that are intercepted before they are sent. */
export interface RequestPattern {
  urlPattern: string;
  resourceType?: 'Document' | 'Image' | 'Font' | 'Media';
}

/** Events that the code that shows a page listens to. */
const PAGE_EVENTS = [
  'request',
  'requestfinished',
  'requestfailed',
  'response',
  'popup',
  'dialog',
  'download',
  'console',
  'pageerror',
  'domcontentloaded',
  'load',
  'framenavigated',
  'frameattached',
  'framedetached',
  'filechooser',
  'websocket',
  'worker',
] as const;
const BLANK = 'about:blank';
const BLANK_HEADERS = [{ name: 'content-type', value: 'text/html' }];
const OPEN_LIMIT_MS = 10_000;
const BLANK_LIMIT_MS = 1_000;
const CLOSE_LIMIT_MS = 1_500;

export class BrowserTab {
  readonly openedAt = performance.now();
  /** Pages shown so far, this one included: 1 while the tab shows its first. */
  pages = 0;
  /** Rejects with `TabLost`; never resolves. */
  readonly lost: Promise<never>;
  private readonly size: ReturnType<Page['viewportSize']>;
  /** The page's own `close`, which may mean something else to the code that shows a page in the tab. */
  private readonly closePage: () => Promise<void>;
  private hasCrashed = false;
  private intercepted = '';
  private onPaused: ((paused: PausedRequest) => void) | null = null;
  /** Address of the blank page that is being loaded; null: none is. */
  private blankUrl: string | null = null;

  private constructor(
    readonly page: Page,
    readonly session: CDPSession,
    readonly mainFrame: string,
    /** The headless shell calls itself headless unless it is given another name. */
    readonly isHeadlessShell: boolean,
    private readonly fleet: BrowserFleet,
  ) {
    this.size = page.viewportSize();
    this.closePage = page.close.bind(page);
    this.lost = new Promise((_, reject) => {
      const lose = (): void => {
        this.hasCrashed = true;
        reject(new TabLost());
      };
      page.once('crash', lose);
      page.once('close', lose);
    });
    this.lost.catch(() => undefined);
    session.on('Fetch.requestPaused', (paused: PausedRequest) => this.pause(paused));
  }

  /** @throws TabLost when it died before it was ready; what `openPage` throws */
  static async open(fleet: BrowserFleet, program: Program, context: BrowserContextOptions): Promise<BrowserTab> {
    const page = await fleet.openPage(program, context);
    const tab = await within(BrowserTab.attach(page, fleet), OPEN_LIMIT_MS);
    if (tab !== null) return tab;
    const browser = page.context().browser();
    const isClosed = await within(
      page.close().then(() => true),
      CLOSE_LIMIT_MS,
    );
    if (!isClosed && browser !== null) fleet.kill(browser);
    throw new TabLost();
  }

  /** null: its renderer has died. A renderer that was just killed never answers. */
  private static async attach(page: Page, fleet: BrowserFleet): Promise<BrowserTab | null> {
    const session = await page.context().newCDPSession(page);
    const died = new Promise<null>((resolve) => session.once('Inspector.targetCrashed', () => resolve(null)));
    // The session also hears of a death before this moment.
    session.send('Inspector.enable').catch(() => undefined);
    return Promise.race([BrowserTab.describe(page, session, fleet), died]);
  }

  private static async describe(page: Page, session: CDPSession, fleet: BrowserFleet): Promise<BrowserTab> {
    const { frameTree } = await session.send('Page.getFrameTree');
    const { product } = await session.send('Browser.getVersion');
    return new BrowserTab(page, session, frameTree.frame.id, product.startsWith('Headless'), fleet);
  }

  get isLost(): boolean {
    return this.hasCrashed;
  }

  /** Its browser opens no more tabs. */
  get isRetired(): boolean {
    const browser = this.page.context().browser();
    return browser === null || this.fleet.isRetired(browser);
  }

  /** Calls back for every request that matches before it is sent, until the page is left. */
  async intercept(patterns: RequestPattern[], onPaused: (paused: PausedRequest) => void): Promise<void> {
    this.onPaused = onPaused;
    const wanted = JSON.stringify(patterns);
    if (wanted === this.intercepted) return;
    await this.session.send('Fetch.enable', { patterns });
    this.intercepted = wanted;
  }

  countPage(): void {
    this.pages++;
    const browser = this.page.context().browser();
    // The first page was counted when the tab was opened.
    if (browser !== null && this.pages > 1) this.fleet.countPage(browser);
  }

  /** Leaves the page. False: the tab cannot show another one. */
  async blank(): Promise<boolean> {
    this.onPaused = null;
    if (this.hasCrashed || !(await within(this.leavePage(), BLANK_LIMIT_MS))) return false;
    for (const event of PAGE_EVENTS) this.page.removeAllListeners(event);
    return this.page.context().pages().length === 1;
  }

  /**
   * A tab that does not close has a hanging renderer, which is ended. When even that does not help, its browser is
   * ended with every page in it.
   */
  async close(): Promise<void> {
    const browser = this.page.context().browser();
    const closing = this.closePage().then(() => true);
    if (await within(closing, CLOSE_LIMIT_MS)) return;
    this.session.send('Page.crash').catch(() => undefined);
    if (await within(closing, CLOSE_LIMIT_MS)) return;
    if (browser !== null) this.fleet.kill(browser);
    await within(closing, CLOSE_LIMIT_MS);
  }

  private async leavePage(): Promise<boolean> {
    const { page, size } = this;
    const blankUrl = this.intercepted === '' ? BLANK : blankUrlOf(page.url());
    this.blankUrl = blankUrl;
    await page.goto(blankUrl, { timeout: BLANK_LIMIT_MS, waitUntil: 'commit' });
    this.blankUrl = null;
    const shown = page.viewportSize();
    const isResized = size !== null && (shown?.width !== size.width || shown.height !== size.height);
    if (isResized) await page.setViewportSize(size);
    return page.url() === blankUrl;
  }

  private pause(paused: PausedRequest): void {
    if (this.onPaused !== null) return this.onPaused(paused);
    const { requestId, frameId, request } = paused;
    if (frameId === this.mainFrame && request.url === this.blankUrl) {
      const answer = { requestId, responseCode: 200, responseHeaders: BLANK_HEADERS };
      this.session.send('Fetch.fulfillRequest', answer).catch(() => undefined);
      return;
    }
    this.session.send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' }).catch(() => undefined);
  }
}

/**
 * The blank page's address at the shown origin. Only the tab asks for it: requests of the page being left are refused.
 */
function blankUrlOf(shown: string): string {
  const origin = /^https?:/.test(shown) ? URL.parse(shown)?.origin : undefined;
  return origin === undefined ? BLANK : `${origin}/?${randomUUID()}`;
}
