/** Last rung: a page as Chromium shows it, scripts run. What comes back is the serialised DOM. */
import { TroupeError } from '@troupe/contracts';
import { checkUrlTarget, type AllowList, type Resolver } from '@troupe/egress';
import type { Page, Request, Response } from 'playwright-core';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserPool } from './browser-pool.js';
import type { BrowserTab } from './browser-tab.js';
import { Deadline } from './deadline.js';
import { isProxyFailure, REFUSAL_HEADER } from './egress-proxy.js';
import { bodyTooLarge, RedirectRefused } from './engine-errors.js';
import { MAX_RENDERED_BYTES, type EngineRequest, type EngineResponse, type FetchEngine } from './engine.js';
import { NavigationGate } from './navigation-gate.js';
import { NetworkWatch, waitUntilLoaded } from './page-settle.js';
import { parseRetryAfter } from './retry-after.js';

export interface BrowserEngineOptions {
  pool: BrowserPool;
  resolver: Resolver;
  allow: AllowList;
}

/** How long a page may take to rest once its HTML is there; `waitForMs` comes on top. */
const LOAD_LIMIT_MS = 10_000;
const SETTLE_LIMIT_MS = 5_000;
/** Kept free at the end of the deadline for reading the DOM. */
const READ_RESERVE_MS = 1_000;
const READ_TRIES = 3;
const VIEWPORT = { width: 1280, height: 800 };

const SERIALISE = `(() => {
  const type = document.doctype;
  const head = type === null ? '' : new XMLSerializer().serializeToString(type) + '\\n';
  return head + (document.documentElement === null ? '' : document.documentElement.outerHTML);
})()`;

export class BrowserEngine implements FetchEngine {
  constructor(private readonly options: BrowserEngineOptions) {}

  get isAvailable(): boolean {
    return this.options.pool.isAvailable;
  }

  async fetch(request: EngineRequest, signal: AbortSignal): Promise<EngineResponse> {
    const startedAt = performance.now();
    checkUrlTarget(request.url, this.options.allow);
    const deadline = new Deadline(request.timeoutMs, signal);
    const context = {
      acceptDownloads: false,
      ignoreHTTPSErrors: request.skipTlsVerification,
      serviceWorkers: 'block' as const,
      viewport: VIEWPORT,
      locale: 'en-US',
    };
    try {
      const key = request.view.actions.length === 0 ? request.contextKey : null;
      const read = await this.options.pool.withTab({ context, key }, deadline, (tab) =>
        this.read(tab, request, deadline),
      );
      const ms = performance.now() - startedAt;
      return { ...read, ms, engine: 'browser', proxyUsed: 'basic', captured: null, timezone: null };
    } catch (error) {
      if (error instanceof RedirectRefused) throw error.reason;
      if (deadline.signal.aborted) throw deadline.signal.reason;
      throw toBrowserError(error, request);
    } finally {
      deadline.end();
    }
  }

  close(): Promise<void> {
    return this.options.pool.close();
  }

  private async read(
    tab: BrowserTab,
    request: EngineRequest,
    deadline: Deadline,
  ): Promise<Omit<EngineResponse, 'ms' | 'engine' | 'proxyUsed' | 'captured' | 'timezone'>> {
    const { page } = tab;
    const network = new NetworkWatch(page);
    const answers = new MainAnswers(page);
    page.on('popup', (popup) => void popup.close().catch(() => undefined));
    const gate = await NavigationGate.install(tab, request, this.options);
    const loading = this.load(page, network, request, deadline);
    loading.catch(() => undefined);
    await Promise.race([loading, gate.refused]);
    const answer = answers.last();
    const headers = await answer.allHeaders();
    checkAnswer(answer, headers, request.url);
    const body = await Promise.race([readBody(page, answer, headers, request), gate.refused]);
    return { ...body, ...describe(page, answer, headers), redirects: gate.redirects };
  }

  private async load(page: Page, network: NetworkWatch, request: EngineRequest, deadline: Deadline): Promise<void> {
    await Promise.race([
      page.goto(request.url, { waitUntil: 'domcontentloaded', timeout: 0 }),
      mainDocumentCut(page),
      mainDocumentTooLarge(page, request),
    ]);
    const budget = (limitMs: number): number =>
      Math.max(0, Math.min(limitMs, deadline.remainingMs() - READ_RESERVE_MS));
    await waitUntilLoaded(page, network, { loadMs: budget(LOAD_LIMIT_MS), restMs: () => budget(SETTLE_LIMIT_MS) });
    if (request.waitForMs > 0) await sleep(budget(request.waitForMs));
  }
}

/** Answers to navigations of the main frame; the last one is the page's. */
class MainAnswers {
  private answer: Response | null = null;

  constructor(page: Page) {
    page.on('response', (response) => {
      if (isMainNavigation(response.request(), page)) this.answer = response;
    });
  }

  last(): Response {
    if (this.answer === null) throw new Error('net::ERR_EMPTY_RESPONSE');
    return this.answer;
  }
}

/**
 * Rejects when the page's own document breaks off: Chromium waits for ever for the rest of it, and `goto` with it.
 * A navigation that another one replaces is aborted, which is no failure.
 */
function mainDocumentCut(page: Page): Promise<never> {
  const cut = new Promise<never>((_, reject) => {
    page.on('requestfailed', (request) => {
      const reason = request.failure()?.errorText ?? 'unknown';
      if (isMainNavigation(request, page) && !reason.includes('ERR_ABORTED')) reject(new Error(reason));
    });
  });
  cut.catch(() => undefined);
  return cut;
}

/** Rejects before a page is shown whose headers announce that it could not be kept: showing it may take minutes. */
function mainDocumentTooLarge(page: Page, { url, maxBytes }: EngineRequest): Promise<never> {
  const refused = new Promise<never>((_, reject) => {
    page.on('response', (response) => {
      if (!isMainNavigation(response.request(), page)) return;
      const headers = response.headers();
      const isHtml = /html/i.test(headers['content-type'] ?? 'html');
      const limit = isHtml ? Math.min(maxBytes, MAX_RENDERED_BYTES) : maxBytes;
      if (Number(headers['content-length'] ?? 0) > limit) reject(bodyTooLarge(url, limit));
    });
  });
  refused.catch(() => undefined);
  return refused;
}

/** Playwright throws for a request whose frame is gone. */
function isMainNavigation(request: Request, page: Page): boolean {
  try {
    return request.isNavigationRequest() && request.frame() === page.mainFrame();
  } catch {
    return false;
  }
}

function describe(
  page: Page,
  answer: Response,
  headers: Record<string, string>,
): Pick<EngineResponse, 'statusCode' | 'statusText' | 'headers' | 'finalUrl' | 'contentType' | 'retryAfterMs'> {
  const shown = page.url();
  return {
    statusCode: answer.status(),
    statusText: answer.statusText(),
    headers,
    finalUrl: /^https?:/.test(shown) ? shown : answer.url(),
    contentType: headers['content-type'] ?? null,
    retryAfterMs: parseRetryAfter(headers['retry-after'], Date.now()),
  };
}

/** The proxy's own answers to plain requests are not the site's. */
function checkAnswer(answer: Response, headers: Record<string, string>, url: string): void {
  const refusal = headers[REFUSAL_HEADER];
  if (
    refusal === 'SCRAPE_TARGET_FORBIDDEN' ||
    refusal === 'UNSUPPORTED_SITE' ||
    refusal === 'SCRAPE_DNS_RESOLUTION_ERROR'
  ) {
    throw new TroupeError(refusal, `${URL.parse(answer.url())?.host ?? url} cannot be reached`);
  }
  if (isProxyFailure(answer.status())) throw new Error(`net::ERR_CONNECTION_FAILED (${answer.statusText()})`);
}

async function readBody(
  page: Page,
  answer: Response,
  headers: Record<string, string>,
  request: EngineRequest,
): Promise<{ body: Uint8Array; rendered: boolean }> {
  const isHtml = /^\s*(text\/html|application\/xhtml\+xml)|^\s*$/i.test(headers['content-type'] ?? '');
  const body = isHtml ? Buffer.from(await serialise(page)) : await answer.body();
  const limit = isHtml ? Math.min(request.maxBytes, MAX_RENDERED_BYTES) : request.maxBytes;
  if (body.length > limit) throw bodyTooLarge(request.url, limit);
  return { body, rendered: isHtml };
}

/** A script may navigate away just now; then the next document is read. */
async function serialise(page: Page): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await page.evaluate<string>(SERIALISE);
    } catch (error) {
      if (attempt === READ_TRIES) throw error;
      await page.waitForLoadState('domcontentloaded').catch(() => undefined);
    }
  }
}

/** Chromium names its network errors; playwright's messages go no further. */
function toBrowserError(error: unknown, request: EngineRequest): TroupeError {
  if (error instanceof TroupeError) return error;
  const text = error instanceof Error ? error.message : String(error);
  const name = /ERR_[A-Z_0-9]+/.exec(text)?.[0] ?? null;
  const host = URL.parse(request.url)?.host ?? request.url;
  if (/download is starting/i.test(text)) {
    return new TroupeError('SCRAPE_UNSUPPORTED_FILE_ERROR', `${request.url} is a download`);
  }
  if (name === 'ERR_TOO_MANY_REDIRECTS') return new TroupeError('SCRAPE_TOO_MANY_REDIRECTS', `${host}: ${name}`);
  if (name !== null && /^ERR_(CERT|SSL|BAD_SSL)/.test(name)) {
    return new TroupeError('SCRAPE_SSL_ERROR', `${host}: TLS failed (${name})`, { details: { reason: name } });
  }
  const message = name === null ? `${host}: the browser lost the page` : `${host}: ${name}`;
  return new TroupeError('SCRAPE_SITE_ERROR', message, { retryable: true, details: { reason: name ?? 'page-lost' } });
}
