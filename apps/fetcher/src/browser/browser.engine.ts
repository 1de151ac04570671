/** Last rung: a page as Chromium shows it, after its scripts. The result is the serialised DOM. */
import { inSpan, NO_TRACES, TroupeError, type Captured, type Tracer, type TraceSpan } from '@troupe/contracts';
import { checkUrlTarget, type AllowList, type Resolver } from '@troupe/egress';
import type { Page, Response } from 'playwright-core';
import { setTimeout as sleep } from 'node:timers/promises';
import { AdLists, PageBoxes, touchedSelectors } from '../ads/index.js';
import { readBranding } from './read-branding.js';
import type { BrowserPool } from './browser-pool.js';
import type { BrowserTab } from './browser-tab.js';
import { CaptureRoom } from './capture-room.js';
import { Deadline } from '../http/deadline.js';
import { Disguises, type Disguise } from './disguise.js';
import { isProxyFailure, REFUSAL_HEADER } from '../proxies/egress-proxy.js';
import { bodyTooLarge, DownloadError, RedirectRefused } from '../http/engine-errors.js';
import { MAX_RENDERED_BYTES, type EngineRequest, type EngineResponse, type FetchEngine } from '../http/engine.js';
import { isMainNavigation } from './main-navigation.js';
import { NavigationGate } from './navigation-gate.js';
import { capturePage } from './page-capture.js';
import { contextOptionsOf, presentReader, timezoneOf } from './page-context.js';
import { serialisePage } from './page-frames.js';
import { scrollThrough, watchScrollSigns } from './page-scroll.js';
import { NetworkWatch, waitUntilLoaded, waitUntilSettled } from './page-settle.js';
import type { TabRequest, Visit } from './page-request.js';
import { parseRetryAfter } from '../http/retry-after.js';
import type { Stage } from './stage.js';

export interface BrowserEngineOptions {
  pool: BrowserPool;
  resolver: Resolver;
  allow: AllowList;
  /** @default the built-in list */
  adLists?: AdLists;
  /** @default nothing is recorded */
  tracer?: Tracer;
  /** @default documents carry their pictures and files themselves */
  files?: FileKeeper;
}

/** Stores a page's files beside its DOM. */
export interface FileKeeper {
  /**
   * Addresses in the place of data URIs.
   * @throws TroupeError UNKNOWN_ERROR, retryable, when nothing can be stored now
   */
  keep(captured: Captured): Promise<Captured>;
}

/** How long a page may take to rest once its HTML is there; `waitForMs` comes on top. */
const LOAD_LIMIT_MS = 10_000;
const SETTLE_LIMIT_MS = 5_000;
const SCROLL_LIMIT_MS = 5_000;
/** Time kept free at the end of the deadline for reading the DOM. */
const READ_RESERVE_MS = 1_000;

export class BrowserEngine implements FetchEngine {
  private readonly disguises = new Disguises();
  private readonly adLists: AdLists;

  constructor(private readonly options: BrowserEngineOptions) {
    this.adLists = options.adLists ?? new AdLists(null);
  }

  get isAvailable(): boolean {
    return this.options.pool.isAvailable;
  }

  async fetch(request: EngineRequest, signal: AbortSignal): Promise<EngineResponse> {
    const startedAt = performance.now();
    checkUrlTarget(request.url, this.options.allow);
    if (!this.isAvailable && request.view.actions.length > 0) throw actionsNotSupported(this.options.pool.absence);
    const deadline = new Deadline(request.timeoutMs, signal);
    const disguise = request.proxy === 'stealth' ? await this.disguises.for(request) : null;
    const route = await this.options.pool.routeOf(request.upstream);
    const context = { ...contextOptionsOf(request), ...disguise?.contextOptions, ...route };
    try {
      const key = request.view.actions.length === 0 ? request.contextKey : null;
      const program = disguise === null ? 'plain' : 'whole';
      const asked = { context, key, program } as const;
      const visit = new PageVisit(request, deadline, { ...this.options, asked, disguise, adLists: this.adLists });
      const read = await this.options.pool.show(visit);
      const ms = performance.now() - startedAt;
      const captured = await deadline.race(this.keepFiles(read.captured, request));
      return { ...read, captured, ms, engine: 'browser', proxyUsed: request.proxy, timezone: timezoneOf(request.view) };
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

  private async keepFiles(
    captured: Captured | null,
    { mayStoreFiles = false }: EngineRequest,
  ): Promise<Captured | null> {
    const { files } = this.options;
    return captured === null || files === undefined || !mayStoreFiles ? captured : files.keep(captured);
  }
}

interface VisitOptions extends BrowserEngineOptions {
  asked: TabRequest;
  disguise: Disguise | null;
  adLists: AdLists;
}

type ReadPage = Omit<EngineResponse, 'ms' | 'engine' | 'proxyUsed' | 'timezone'>;

/** Listeners to a page while it is shown, made anew for each tab that it is shown in. */
interface Watched {
  network: NetworkWatch;
  answers: MainAnswers;
  gate: NavigationGate;
  boxes: PageBoxes | null;
}

/** A page in the hands of the crawler. */
class PageVisit implements Visit<ReadPage> {
  readonly asked: TabRequest;
  readonly url: string;
  private readonly waiting: TraceSpan;
  private watched!: Watched;

  constructor(
    private readonly request: EngineRequest,
    readonly deadline: Deadline,
    private readonly options: VisitOptions,
  ) {
    this.asked = options.asked;
    this.url = request.url;
    this.waiting = this.tracer.span('wait for a tab', request.trace);
  }

  async prepare(tab: BrowserTab): Promise<void> {
    this.waiting.end();
    const { page } = tab;
    const { request, options } = this;
    if (tab.pages === 1) await Promise.all([options.disguise?.putOn(page), watchScrollSigns(page)]);
    const network = new NetworkWatch(page);
    const answers = new MainAnswers(page);
    page.on('popup', (popup) => void popup.close().catch(() => undefined));
    await presentReader(tab, request.view);
    const ads = request.view.blockAds ? await options.adLists.filter() : null;
    const gate = await NavigationGate.install(tab, request, { ...options, ads });
    const boxes = ads === null ? null : new PageBoxes(page, ads, touchedSelectors(request.view.actions));
    this.watched = { network, answers, gate, boxes };
  }

  async navigate({ page }: BrowserTab): Promise<Response> {
    const { request } = this;
    const { gate, boxes, answers } = this.watched;
    const loading = inSpan(this.tracer, ['load in the browser', request.trace], () => this.load(page)).then(() =>
      boxes?.hide(),
    );
    loading.catch(() => undefined);
    await Promise.race([loading, gate.refused]);
    await checkLanding(answers.last(), request);
    return answers.last();
  }

  async read({ page }: BrowserTab): Promise<ReadPage> {
    const { request, options, deadline } = this;
    const { network, gate, boxes, answers } = this.watched;
    const room = new CaptureRoom(options.files !== undefined && request.mayStoreFiles === true);
    const stage = stageOf(page, network, { signal: deadline.signal, room });
    const captured = await inSpan(this.tracer, ['capture in the browser', request.trace], () =>
      Promise.race([capturePage(stage, request.view), gate.refused]),
    );
    const answer = answers.last();
    const headers = await answer.allHeaders();
    checkAnswer(answer, headers, request.url);
    if (request.view.branding && isHtml(headers)) {
      captured.branding = await Promise.race([readBranding(page), gate.refused]);
    }
    await boxes?.remove();
    const body = await Promise.race([readBody(page, answer, headers, request), gate.refused]);
    return { ...body, ...describe(page, answer, headers), redirects: gate.redirects, captured };
  }

  private get tracer(): Tracer {
    return this.options.tracer ?? NO_TRACES;
  }

  private async load(page: Page): Promise<void> {
    const { request, deadline } = this;
    const { network } = this.watched;
    await Promise.race([
      page.goto(request.url, { waitUntil: 'domcontentloaded', timeout: 0 }),
      mainDocumentCut(page),
      mainDocumentTooLarge(page, request),
    ]);
    const budget = (limitMs: number): number =>
      Math.max(0, Math.min(limitMs, deadline.remainingMs() - READ_RESERVE_MS));
    await waitUntilLoaded(page, network, { loadMs: budget(LOAD_LIMIT_MS), restMs: () => budget(SETTLE_LIMIT_MS) });
    if (request.view.actions.length === 0) await scrollThrough(page, network, budget(SCROLL_LIMIT_MS));
    if (request.waitForMs > 0) await sleep(budget(request.waitForMs));
  }
}

/** Answers to navigations of the main frame. The last one is the page's, unless it did not replace the page. */
class MainAnswers {
  private answer: Response | null = null;
  private before: Response | null = null;

  constructor(page: Page) {
    page.on('response', (response) => {
      if (!isMainNavigation(response.request(), page)) return;
      this.before = this.answer;
      this.answer = response;
    });
    page.on('requestfailed', (request) => {
      if (this.answer?.request() === request) this.answer = this.before ?? this.answer;
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

function stageOf(page: Page, network: NetworkWatch, { signal, room }: Pick<Stage, 'signal' | 'room'>): Stage {
  return {
    page,
    signal,
    room,
    warnings: [],
    html: () => serialisePage(page),
    isQuiet: () => network.isQuiet,
    settle: (limitMs) => waitUntilSettled(page, network, limitMs),
  };
}

/** Rejects before a page is shown whose headers announce that it could not be kept: showing it may take minutes. */
function mainDocumentTooLarge(page: Page, { url, maxBytes }: EngineRequest): Promise<never> {
  const refused = new Promise<never>((_, reject) => {
    page.on('response', (response) => {
      if (!isMainNavigation(response.request(), page)) return;
      const headers = response.headers();
      const limit = bodyLimit(headers, maxBytes);
      if (Number(headers['content-length'] ?? 0) > limit) reject(bodyTooLarge(url, limit));
    });
  });
  refused.catch(() => undefined);
  return refused;
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

/** Checks the answer before anything is done on the page. */
async function checkLanding(answer: Response, { url, view }: EngineRequest): Promise<void> {
  const headers = await answer.allHeaders();
  checkAnswer(answer, headers, url);
  if (view.actions.length > 0 && !isHtml(headers)) {
    throw actionsNotSupported(`${answer.url()} is a file of type ${headers['content-type']?.slice(0, 100)}`);
  }
}

function isHtml(headers: Record<string, string>): boolean {
  return /^\s*(text\/html|application\/xhtml\+xml)|^\s*$/i.test(headers['content-type'] ?? '');
}

/** Rendered pages have a size limit of their own. */
function bodyLimit(headers: Record<string, string>, maxBytes: number): number {
  return isHtml(headers) ? Math.min(maxBytes, MAX_RENDERED_BYTES) : maxBytes;
}

function isPdf(headers: Record<string, string>): boolean {
  return /^\s*application\/(x-)?pdf/i.test(headers['content-type'] ?? '');
}

function actionsNotSupported(reason: string): TroupeError {
  return new TroupeError('SCRAPE_ACTIONS_NOT_SUPPORTED', `Actions cannot be done: ${reason}`);
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
  // The PDF viewer is a page of the browser's own, so a plain client fetches the file.
  if (isPdf(headers)) throw downloadError(request);
  const rendered = isHtml(headers);
  const body = rendered ? Buffer.from(await serialisePage(page)) : await answer.body();
  const limit = bodyLimit(headers, request.maxBytes);
  if (body.length > limit) throw bodyTooLarge(request.url, limit);
  return { body, rendered };
}

/** Chromium names its network errors; playwright's messages go no further. */
function toBrowserError(error: unknown, request: EngineRequest): TroupeError {
  if (error instanceof TroupeError) return error;
  const text = error instanceof Error ? error.message : String(error);
  const name = /ERR_[A-Z_0-9]+/.exec(text)?.[0] ?? null;
  const host = URL.parse(request.url)?.host ?? request.url;
  if (/download is starting/i.test(text)) return downloadError(request);
  if (name === 'ERR_TOO_MANY_REDIRECTS') return new TroupeError('SCRAPE_TOO_MANY_REDIRECTS', `${host}: ${name}`);
  if (name !== null && /^ERR_(CERT|SSL|BAD_SSL)/.test(name)) {
    return new TroupeError('SCRAPE_SSL_ERROR', `${host}: TLS failed (${name})`, { details: { reason: name } });
  }
  const message = name === null ? `${host}: the browser lost the page` : `${host}: ${name}`;
  return new TroupeError('SCRAPE_SITE_ERROR', message, { retryable: true, details: { reason: name ?? 'page-lost' } });
}

/** Actions cannot run on a file. Without actions its bytes are wanted. */
function downloadError({ url, view }: EngineRequest): TroupeError {
  if (view.actions.length === 0) return new DownloadError(url);
  return actionsNotSupported(`${url} is a file: there is no page to act on`);
}
