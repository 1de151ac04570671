/**
 * Chromium on Crawlee's browser pool: started by the first page, shared by all, closed after a while without pages.
 * Each page has a context of its own: nothing of one scrape is seen by the next.
 */
import { createRequire } from 'node:module';
import { TroupeError } from '@troupe/contracts';
import type * as Crawlee from '@crawlee/browser-pool';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { Server } from 'proxy-chain';
import { BrowserGuard } from './browser-guard.js';
import { CHROMIUM_ARGS, NO_BROWSER } from './chromium.js';
import type { Deadline } from './deadline.js';
import type { EgressProxy } from './egress-proxy.js';
import type { UpstreamProxy } from './engine.js';
import { browserUserAgent } from './page-context.js';

export interface BrowserPoolOptions {
  /** null = no browser on this machine. */
  executablePath: string | null;
  /** Pages open at once; more wait, first in, first out. */
  concurrency: number;
  proxy: EgressProxy;
  /** Appended to Chromium's own user agent; the `userAgent` of a context is appended in its place. */
  userAgent: string;
  /** The browser is closed after this long without a page. @default 60_000 */
  idleMs?: number;
}

type Pool = Crawlee.BrowserPool<{ browserPlugins: [Crawlee.PlaywrightPlugin] }>;

const PAGES_PER_BROWSER = 200;
const LAUNCH_TIMEOUT_SECS = 30;
const PAGE_CLOSE_MS = 3_000;

export class BrowserPool {
  private readonly guards = new Map<string, BrowserGuard>();
  private readonly waiting: (() => void)[] = [];
  /** Root cannot have Chromium's sandbox; neither can most containers, which the first launch finds out. */
  private isSandboxed = process.getuid?.() !== 0;
  private open = 0;
  private launches = 0;
  private pool: Promise<Pool> | null = null;
  private idleTimer: NodeJS.Timeout | null = null;

  constructor(private readonly options: BrowserPoolOptions) {}

  get isAvailable(): boolean {
    return this.options.executablePath !== null;
  }

  /**
   * Runs `use` on a fresh page and closes it afterwards, also when `use` never ends: then the deadline decides.
   * @throws TroupeError SCRAPE_ALL_ENGINES_FAILED without a browser; the deadline's reason while waiting for a place
   */
  async withPage<T>(context: BrowserContextOptions, deadline: Deadline, use: (page: Page) => Promise<T>): Promise<T> {
    if (!this.isAvailable) throw new TroupeError('SCRAPE_ALL_ENGINES_FAILED', NO_BROWSER);
    await this.enter(deadline);
    try {
      const opening = this.newPage(context);
      const page = await deadline.race(opening).catch((error: unknown) => {
        opening.then((late) => this.closePage(late)).catch(() => undefined);
        throw error;
      });
      return await deadline.race(use(page)).finally(() => this.closePage(page));
    } finally {
      this.leave();
    }
  }

  /** What the context of a page must know whose requests leave by `upstream`. */
  async routeOf(upstream: UpstreamProxy | undefined): Promise<BrowserContextOptions> {
    return upstream === undefined ? {} : { proxy: { server: await this.options.proxy.url(upstream) } };
  }

  async close(): Promise<void> {
    if (this.idleTimer !== null) clearTimeout(this.idleTimer);
    const { pool } = this;
    this.pool = null;
    const guards = [...this.guards];
    await (await pool?.catch(() => null))?.destroy().catch(() => undefined);
    for (const [id] of guards) this.releaseGuard(id);
  }

  private async enter(deadline: Deadline): Promise<void> {
    if (this.idleTimer !== null) clearTimeout(this.idleTimer);
    this.idleTimer = null;
    if (this.open < this.options.concurrency) {
      this.open++;
      return;
    }
    let admit: () => void = () => undefined;
    const place = new Promise<void>((resolve) => (admit = resolve));
    this.waiting.push(admit);
    await deadline.race(place).catch((error: unknown) => {
      const at = this.waiting.indexOf(admit);
      if (at >= 0) this.waiting.splice(at, 1);
      else this.leave();
      throw error;
    });
  }

  /** Hands the place to the next in line, or gives it up. */
  private leave(): void {
    const next = this.waiting.shift();
    if (next !== undefined) return next();
    this.open--;
    if (this.open > 0) return;
    this.idleTimer = setTimeout(() => void this.close(), this.options.idleMs ?? 60_000).unref();
  }

  private async newPage(context: BrowserContextOptions, isRetry = false): Promise<Page> {
    this.pool ??= this.createPool();
    const pool = await this.pool.catch((error: unknown) => {
      this.pool = null;
      throw error;
    });
    const id = `page-${++this.launches}`;
    try {
      return (await pool.newPage({ id, pageOptions: { ...context } })) as Page;
    } catch (error) {
      this.releaseGuard(id);
      if (!isRetry && namesDyingBrowser(error)) return this.newPage(context, true);
      if (!this.isSandboxed || !namesSandbox(error)) throw launchFailed(error);
      this.isSandboxed = false;
      await this.close();
      return this.newPage(context);
    }
  }

  private async createPool(): Promise<Pool> {
    const { BrowserPool: CrawleeBrowserPool, PlaywrightPlugin } = loadCrawlee();
    const { chromium } = await import('playwright-core');
    const plugin = new PlaywrightPlugin(chromium, {
      useIncognitoPages: true,
      proxyUrl: await this.options.proxy.url(),
      launchOptions: { headless: true, args: [...CHROMIUM_ARGS], chromiumSandbox: this.isSandboxed },
    });
    const pool: Pool = new CrawleeBrowserPool({
      browserPlugins: [plugin],
      useFingerprints: false,
      maxOpenPagesPerBrowser: this.options.concurrency,
      retireBrowserAfterPageCount: PAGES_PER_BROWSER,
      retireInactiveBrowserAfterSecs: 24 * 3600,
      operationTimeoutSecs: LAUNCH_TIMEOUT_SECS,
      preLaunchHooks: [(id, launch) => this.guardLaunch(id, launch)],
      postLaunchHooks: [
        (id, controller) => {
          (controller.browser as Browser).once('disconnected', () => {
            this.releaseGuard(id);
            pool.retireBrowserController(controller);
          });
        },
      ],
      prePageCreateHooks: [
        (_id, controller, pageOptions) => {
          const options = (pageOptions ?? {}) as BrowserContextOptions;
          const version = (controller.browser as Browser).version();
          const own = options.userAgent ?? this.options.userAgent;
          options.userAgent = browserUserAgent(version, options.isMobile ?? false, own);
        },
      ],
    });
    return pool;
  }

  private guardLaunch(id: string, launch: { launchOptions?: Record<string, unknown> }): void {
    const guard = new BrowserGuard(this.options.executablePath ?? '');
    this.guards.set(id, guard);
    const { executablePath, env, dir: artifactsDir } = guard;
    launch.launchOptions = { ...launch.launchOptions, executablePath, env, artifactsDir };
  }

  private releaseGuard(id: string): void {
    this.guards.get(id)?.release();
    this.guards.delete(id);
  }

  /** A page that cannot be closed has a renderer that hangs: its browser goes, and every page in it. */
  private async closePage(page: Page): Promise<void> {
    const browser = page.context().browser();
    const closed = await settledWithin(page.close(), PAGE_CLOSE_MS);
    if (closed || browser === null) return;
    await settledWithin(browser.close(), PAGE_CLOSE_MS);
  }
}

async function settledWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), ms)));
  const done = work.then(
    () => true,
    () => true,
  );
  return Promise.race([done, late]).finally(() => clearTimeout(timer));
}

/**
 * Crawlee's pool, without the proxy server that its module starts while it loads: an open one, on every interface of
 * the machine. It is never asked for because a proxy of our own is always given, so it simply must not listen.
 */
function loadCrawlee(): typeof Crawlee {
  const load = createRequire(import.meta.url);
  const listen = Object.getOwnPropertyDescriptor(Server.prototype, 'listen');
  if (listen === undefined) throw new Error('proxy-chain has changed: Server.listen is not where it was');
  Object.defineProperty(Server.prototype, 'listen', { ...listen, value: () => Promise.resolve() });
  try {
    return load('@crawlee/browser-pool') as typeof Crawlee;
  } finally {
    Object.defineProperty(Server.prototype, 'listen', listen);
  }
}

/** The browser was going down, for the sake of another page, when it was asked; the pool has retired it by now. */
function namesDyingBrowser(error: unknown): boolean {
  return error instanceof Error && /newPage\(\) failed/.test(error.message);
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
