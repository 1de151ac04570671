/**
 * One page from URL to document: engines rung by rung until the converter finds content, meta refresh followed like a
 * redirect. It knows nothing of lanes, slots or jobs: the caller's `onHop` decides whether and when a host may be
 * asked.
 */
import { Inject, Injectable } from '@nestjs/common';
import { STATUS_CODES } from 'node:http';
import {
  TroupeError,
  asksForBrowser,
  isTroupeError,
  pageCredits,
  type Converter,
  type ConvertRequest,
  type ConvertResult,
  type EngineName,
  type ExcludedLinks,
  type Outlink,
  type PageDocument,
  type ProxyClass,
  type ScrapeSpec,
  type TraceParent,
  type TroubleKind,
  type Uuid,
} from '@troupe/contracts';
import { isPacked, unpackDocument } from '@troupe/packing';
import type { CacheUse, Remembered } from '../cache/index.js';
import { DownloadError } from '../http/engine-errors.js';
import {
  MAX_BODY_BYTES,
  MAX_REDIRECTS,
  type EngineRequest,
  type EngineResponse,
  type FetchEngine,
  type PageView,
} from '../http/engine.js';
import { timezoneOf } from '../browser/page-context.js';
import { isClientFault, isTurnedAway, Ladder, lowestRung, type RungResult } from './ladder.js';
import { StealthHosts } from '../proxies/index.js';
import { BusyAnswerError, busyKind, isBusy, TransportError } from '../slots/transport-error.js';

export interface PageRequest {
  url: string;
  spec: ScrapeSpec;
  /** Time for everything, conversion included. */
  budgetMs: number;
  signal: AbortSignal;
  /** Before every redirect and meta refresh; a rejection ends the fetch with that error. */
  onHop(target: string): Promise<void>;
  /** When a request has its answer, before the answer is converted. */
  onAnswer(): void;
  /** Before the next engine asks for the same page again. */
  onClimb(): Promise<void>;
  /** A 429 or 503 becomes the page's document; else it is thrown as `BusyAnswerError`. */
  keepsBusyAnswers: boolean;
  /** Links to look for on a page that is no error page. */
  discover(finalUrl: string): ConvertRequest['discover'];
  /** Reserved keys that the caller knows; address, status and content type are added. */
  metadata: Record<string, unknown>;
  encoding: ConvertRequest['encoding'];
  /** A page that only a browser could fill is thrown as `NeedsBrowserError` when there is none here. */
  reportsShells: boolean;
  /** Every other page for which the browser would be next is handed over as well: another fetcher has a browser. */
  handsOver: boolean;
  /** The team's cache for this page; null: it is not used. */
  cache: CacheUse | null;
  /** The team whose proxies are used. */
  team: Uuid;
  /** Pages with the same key share browser contexts, one page at a time in each; null: a fresh one. */
  contextKey: string | null;
  /** Trace of the page, when it is recorded. */
  trace?: TraceParent;
}

/** As much of a request as the conversion of an answer needs. */
export type ConversionRequest = Pick<PageRequest, 'spec' | 'signal' | 'discover' | 'metadata' | 'encoding' | 'trace'>;

export interface FetchedPage {
  statusCode: number;
  finalUrl: string;
  engine: EngineName;
  /** Duration of the last request, from DNS to the last byte. */
  fetchMs: number;
  document: Uint8Array;
  documentBytes: number;
  title: string | null;
  outlinks: Outlink[];
  excluded: ExcludedLinks | null;
  /** Set for a 429 or 503 that was kept. */
  busy: { kind: TroubleKind; retryMs: number | null } | null;
  /** Price of the page, in credits. */
  credits: number;
  /** The page comes from the cache, after its site has said that it has not changed. @default false */
  revalidated?: boolean;
}

/** Thrown when only a browser would get further and none is at hand. `keep` gives what there is, if it can be read. */
export class NeedsBrowserError extends TroupeError {
  constructor(
    url: string,
    readonly keep: () => Promise<FetchedPage>,
  ) {
    super('SCRAPE_EMPTY', `${url} needs a browser`);
  }
}

/** An answer, not yet judged. */
interface Answer {
  /** Its body is empty: the converter owns the bytes. */
  response: EngineResponse;
  converted: ConvertResult;
  isBusy: boolean;
  /** First bytes of an error page, for telling walls from applications. */
  head: Uint8Array;
  /** Copy for the cache; null when the cache does not want it. */
  copy: Uint8Array | null;
}

const HEAD_BYTES = 64 * 1024;
const NO_BYTES = new Uint8Array(0);

/** Outcome of one rung. */
type Rung = { type: 'answer'; answer: Answer } | { type: 'error'; error: TransportError };

/** Outcome of the rungs so far. */
interface Climbed {
  best: Answer | null;
  failure: TransportError | null;
}

interface Climb {
  request: PageRequest;
  url: string;
  endsAt: number;
  proxy: ProxyClass;
  /** Rung below which nothing is tried; null: as the ladder says. */
  from: EngineName | null;
}

/** Outcome of a page that was asked for through one class of proxies. */
type Outcome = { type: 'answer'; answer: Answer } | { type: 'error'; error: unknown };

/** With less time left a refused page is not tried again. */
const MIN_RETRY_MS = 1_000;
/** Plain refusals, which another address may not meet. */
const REFUSALS = new Set([401, 403]);

/** Ways in for pages that are turned away (`proxy: 'auto'`). */
export interface StealthRoutes {
  /** Stealth requests of the team leave by other proxies than its basic ones. */
  hasExit(team: Uuid): boolean;
  hosts: Pick<StealthHosts, 'first' | 'isHopeless' | 'learn'>;
}

/** Rung for pages that the plain clients were turned away from: the browser, if there is one. */
const STEALTH_START = { engine: 'browserIfAny', waitForMs: 0 } as const;

export const CONVERTER = Symbol('Converter');
export const ENGINES = Symbol('Engines');
export const STEALTH = Symbol('StealthRoutes');
export type Engines = Record<EngineName, Pick<FetchEngine, 'fetch'>>;

@Injectable()
export class PageFetcher {
  constructor(
    @Inject(ENGINES) private readonly engines: Engines,
    @Inject(Ladder) private readonly ladder: Pick<Ladder, 'start' | 'next' | 'learn' | 'lacksBrowser'>,
    @Inject(CONVERTER) private readonly converter: Converter,
    @Inject(STEALTH) private readonly stealth: StealthRoutes = { hasExit: () => false, hosts: new StealthHosts() },
  ) {}

  /**
   * @throws TransportError when no answer came, BusyAnswerError, what `onHop` rejects with, and any other `TroupeError`
   * that ends a page: SCRAPE_BLOCKED, SCRAPE_EMPTY, SCRAPE_UNSUPPORTED_FILE_ERROR, SCRAPE_TIMEOUT …
   */
  async fetch(request: PageRequest): Promise<FetchedPage> {
    const endsAt = performance.now() + request.budgetMs;
    const { proxy } = request.spec;
    const answer =
      proxy === 'auto'
        ? await this.fetchAuto(request, endsAt)
        : await this.follow({ request, url: request.url, endsAt, proxy, from: null });
    return finish(kept(answer, request), request.spec);
  }

  /**
   * Uses the proxy class that is likely to succeed, and the other one when that is turned away. Else the first outcome
   * stands.
   */
  private async fetchAuto(request: PageRequest, endsAt: number): Promise<Answer> {
    const { url, team, signal } = request;
    const proxy = this.stealth.hosts.first(team, url);
    const first = await outcomeOf(this.follow({ request, url, endsAt, proxy, from: null }));
    const isFinal = !this.isRefused(first, request) || this.stealth.hosts.isHopeless(team, url);
    if (isFinal || endsAt - performance.now() < MIN_RETRY_MS) return answerOf(first);
    await request.onClimb();
    const other = proxy === 'basic' ? 'stealth' : 'basic';
    // Without another exit only the look of the client can make a difference.
    const from =
      other === 'stealth' && !this.stealth.hasExit(team) ? this.ladder.start(url, STEALTH_START, other) : null;
    const second = await outcomeOf(this.follow({ request, url, endsAt, proxy: other, from }));
    signal.throwIfAborted();
    const isBetter = second.type === 'answer' && !this.isRefused(second, request);
    this.stealth.hosts.learn(team, url, isBetter ? other : null);
    return answerOf(isBetter ? second : first);
  }

  /**
   * The client was turned away for its look or its address. A host that asks for fewer requests is no such case: it
   * gets fewer.
   */
  private isRefused(outcome: Outcome, { team, signal }: PageRequest): boolean {
    if (signal.aborted) return false;
    if (outcome.type === 'error') {
      const { error } = outcome;
      if (!isTroupeError(error)) return false;
      if (error.code === 'SCRAPE_BLOCKED') return true;
      const isOfTheWay = isClientFault(error) || error.code === 'SCRAPE_PROXY_SELECTION_ERROR';
      return isOfTheWay && this.stealth.hasExit(team);
    }
    const { response, head, isBusy } = outcome.answer;
    if (isBusy) return false;
    if (isTurnedAway({ ...response, body: head })) return true;
    const wantsLogin = 'www-authenticate' in response.headers;
    return REFUSALS.has(response.statusCode) && !wantsLogin && this.stealth.hasExit(team);
  }

  /** Meta refreshes are followed like redirects. */
  private async follow(start: Climb): Promise<Answer> {
    const { request } = start;
    const seen = new Set<string>();
    for (let url = start.url; ;) {
      seen.add(url);
      const answer = await this.climb({ ...start, url });
      const target = refreshTarget(answer);
      if (target === null) return answer;
      if (seen.has(target) || seen.size > MAX_REDIRECTS) throw tooManyRefreshes(target);
      await request.onHop(target);
      url = target;
    }
  }

  /** A page that was fetched earlier, converted as if its answer had just come; null when it shows no content any more. */
  async recall({ response, metadata }: Remembered, request: ConversionRequest): Promise<FetchedPage | null> {
    const asked = { ...request, metadata: { ...request.metadata, ...metadata } };
    const { timeoutMs } = request.spec;
    const converted = await this.converter.convert(convertRequest(response, asked, timeoutMs), request.signal);
    if (converted.verdict !== 'content') return null;
    return finish({ response: { ...response, body: NO_BYTES }, converted }, request.spec);
  }

  /**
   * Rung by rung until one result counts. The answer of a lower rung stands when a higher one gets none; without any
   * answer the first failure stands: the plain client names what is wrong, the others only that they failed too. A page
   * that turns out to be a file in the browser is fetched by the plain client, without a further rung.
   */
  private async climb(climb: Climb): Promise<Answer> {
    const { request, url } = climb;
    const from = climb.from ?? this.ladder.start(url, request.spec, climb.proxy);
    const confirmed = from === 'browser' ? await this.confirmFirst(climb) : null;
    if (confirmed !== null) return this.judge(confirmed, request);
    let best: Answer | null = null;
    let failure: TransportError | null = null;
    let isFile = false;
    for (let engine: EngineName | null = from; engine !== null;) {
      const rung: Rung = await this.rung(climb, engine);
      if (rung.type === 'answer') best = rung.answer;
      else failure ??= rung.error;
      if (request.handsOver && this.lacksBrowser(engine, rung)) throw this.handOver({ best, failure }, climb, from);
      engine = isFile ? null : this.next(engine, rung);
      if (isDownload(rung) && best === null) {
        isFile = true;
        failure = null;
        engine = 'http';
      }
      if (engine !== null) await request.onClimb();
    }
    if (isFile && best !== null) return this.judge(best, request);
    return this.conclude({ best, failure }, climb, from);
  }

  private async conclude({ best, failure }: Climbed, climb: Climb, from: EngineName): Promise<Answer> {
    if (best === null) throw failure ?? new TroupeError('UNKNOWN_ERROR', 'no engine answered');
    return this.judgeAndLearn(best, climb, from);
  }

  private handOver(climbed: Climbed, climb: Climb, from: EngineName): NeedsBrowserError {
    const request = { ...climb.request, reportsShells: false };
    const keep = async () =>
      finish(kept(await this.conclude(climbed, { ...climb, request }, from), request), request.spec);
    return new NeedsBrowserError(climb.url, keep);
  }

  /**
   * A page whose site says that it has not changed is the one in the cache. When the cached page is gone or has
   * changed, or the site says so without being asked, the page is asked for once more.
   */
  private async rung(climb: Climb, engine: EngineName): Promise<Rung> {
    const { request } = climb;
    const conditions = engine === 'browser' ? null : conditionsFor(climb);
    const first = await this.ask(climb, engine, conditions ?? {});
    const isUnchanged = !(first instanceof TransportError) && first.statusCode === 304 && engine !== 'browser';
    let response = first;
    if (isUnchanged && !asksItself(request)) {
      const confirmed = conditions === null ? null : await this.confirm(first, request);
      if (confirmed === null) await request.onClimb();
      response = confirmed ?? (await this.ask(climb, engine, {}));
    }
    if (response instanceof TransportError) return { type: 'error', error: response };
    return { type: 'answer', answer: await this.convert(response, climb) };
  }

  private async convert(response: EngineResponse, climb: Climb): Promise<Answer> {
    const busy = isPlainlyBusy(response);
    if (busy && !climb.request.keepsBusyAnswers) {
      throw new BusyAnswerError(response.finalUrl, response.statusCode, response.retryAfterMs);
    }
    // A copy: a Buffer's own `slice` is a view of what the converter takes away.
    const head = response.statusCode >= 400 ? new Uint8Array(response.body.subarray(0, HEAD_BYTES)) : NO_BYTES;
    const copy = climb.request.cache?.copy(response) ?? null;
    const timeoutMs = Math.max(1, climb.endsAt - performance.now());
    const converted = await this.converter.convert(
      convertRequest(response, climb.request, timeoutMs),
      climb.request.signal,
    );
    return { response: { ...response, body: NO_BYTES }, converted, isBusy: busy, head, copy };
  }

  /**
   * The document that a browser once made of the page, when a plain client hears that it has not changed. No browser is
   * needed then.
   */
  private async confirmFirst(climb: Climb): Promise<Answer | null> {
    const { request, proxy } = climb;
    const conditions = conditionsFor(climb);
    if (conditions === null) return null;
    const response = await this.ask(climb, lowestRung(proxy), conditions);
    if (response instanceof TransportError) {
      await request.onClimb();
      return null;
    }
    // A host that asks for fewer requests is not asked once more.
    if (isPlainlyBusy(response)) return this.convert(response, climb);
    const confirmed = response.statusCode === 304 ? await this.confirm(response, request) : null;
    if (confirmed !== null) return this.convert(confirmed, climb);
    await request.onClimb();
    return null;
  }

  private async confirm({ finalUrl, ms }: EngineResponse, { cache }: PageRequest): Promise<EngineResponse | null> {
    const confirmed = (await cache?.confirm(finalUrl)) ?? null;
    return confirmed === null ? null : { ...confirmed, ms, revalidated: true };
  }

  /** Rejects with what `onHop` rejected with and when the caller gave up; other failures are results. */
  private async ask(
    { request, url, endsAt, proxy }: Climb,
    engine: EngineName,
    conditions: Record<string, string>,
  ): Promise<EngineResponse | TransportError> {
    const answered = <T>(outcome: T): T => {
      request.onAnswer();
      return outcome;
    };
    const timeoutMs = endsAt - performance.now();
    if (timeoutMs <= 0) return answered(new TransportError(tooLate(request)));
    const { skipTlsVerification, waitForMs } = request.spec;
    const { team, contextKey, trace } = request;
    const headers = { ...request.spec.headers, ...conditions };
    let refused = false;
    const onRedirect = (target: string) =>
      request.onHop(target).catch((error: unknown) => {
        refused = true;
        throw error;
      });
    try {
      const ask: EngineRequest = {
        url,
        headers,
        timeoutMs,
        maxBytes: MAX_BODY_BYTES,
        skipTlsVerification,
        waitForMs,
        view: viewOf(request.spec),
        proxy,
        team,
        contextKey,
        trace,
        mayStoreFiles: !request.spec.zeroRetention,
        onRedirect,
      };
      return answered(await this.engines[engine].fetch(ask, request.signal));
    } catch (error) {
      if (refused || request.signal.aborted || !isTroupeError(error)) throw error;
      return answered(new TransportError(error));
    }
  }

  private next(engine: EngineName, rung: Rung): EngineName | null {
    const result = resultOf(rung);
    return result === null ? null : this.ladder.next(engine, result);
  }

  private lacksBrowser(engine: EngineName, rung: Rung): boolean {
    const result = resultOf(rung);
    return result !== null && this.ladder.lacksBrowser(engine, result);
  }

  private async judgeAndLearn(answer: Answer, climb: Climb, from: EngineName): Promise<Answer> {
    const wasAsked = asksForBrowser(climb.request.spec) || answer.response.revalidated === true;
    const learn = (isGood: boolean) => {
      if (!wasAsked) this.ladder.learn(climb.url, { from, to: answer.response.engine, isGood, proxy: climb.proxy });
    };
    try {
      const judged = await this.judge(answer, climb.request);
      learn(true);
      return judged;
    } catch (error) {
      learn(false);
      throw error;
    }
  }

  /** Content, or any error page. Walls and blank pages are failures. */
  private async judge(answer: Answer, request: PageRequest): Promise<Answer> {
    const { response, converted } = answer;
    if (converted.verdict === 'content' || refreshTarget(answer) !== null) return answer;
    if (converted.verdict === 'challenge') throw blockedPage(response);
    if (response.statusCode >= 400 || isSeen(response)) return answer;
    if (converted.verdict === 'empty') throw emptyPage(response, false);
    if (response.engine !== 'browser' && request.reportsShells)
      throw new NeedsBrowserError(response.finalUrl, () => keepShell(answer, request.spec));
    await keepShell(answer, request.spec);
    return answer;
  }
}

/** A picture or the results of actions are content, also of a page without text. */
function isSeen({ captured }: EngineResponse): boolean {
  return captured?.screenshot !== undefined || captured?.actions !== undefined;
}

/**
 * null: the result is final. A host that asks for fewer requests is not asked again by another client, and no client
 * would bring another file.
 */
function resultOf(rung: Rung): RungResult | null {
  if (rung.type === 'error') return { type: 'error', error: rung.error };
  const { response, converted, isBusy, head } = rung.answer;
  if (isBusy || converted.isDocument || response.revalidated === true || refreshTarget(rung.answer) !== null)
    return null;
  return { type: 'answer', response: { ...response, body: head }, verdict: converted.verdict };
}

/** Headers that ask whether the cached page of this address is still current; null: there is nothing to ask. */
function conditionsFor({ request, url }: Climb): Record<string, string> | null {
  return url === request.url ? (request.cache?.conditions ?? null) : null;
}

/** The caller's own headers ask whether the page has changed. */
function asksItself({ spec }: PageRequest): boolean {
  return Object.keys(spec.headers).some((name) => /^if-/i.test(name));
}

/** The browser was about to save the answer. */
function isDownload(rung: Rung): boolean {
  return rung.type === 'error' && rung.error.cause instanceof DownloadError;
}

async function outcomeOf(work: Promise<Answer>): Promise<Outcome> {
  return work.then(
    (answer): Outcome => ({ type: 'answer', answer }),
    (error: unknown): Outcome => ({ type: 'error', error }),
  );
}

function answerOf(outcome: Outcome): Answer {
  if (outcome.type === 'error') throw outcome.error;
  return outcome.answer;
}

/** A page whose scripts did not run, if it has something to read all the same. */
async function keepShell(answer: Answer, spec: ScrapeSpec): Promise<FetchedPage> {
  if (!(await hasText(answer.converted))) throw emptyPage(answer.response, true);
  return finish(answer, spec);
}

async function hasText({ document, documentBytes, title }: ConvertResult): Promise<boolean> {
  const bytes = isPacked(document) ? await unpackDocument(document, documentBytes) : document;
  const { markdown, html, rawHtml } = JSON.parse(Buffer.from(bytes).toString('utf8')) as PageDocument;
  const markup = html ?? rawHtml;
  const text = markdown ?? (markup === undefined ? title : visibleText(markup));
  return (text ?? '').trim() !== '';
}

function visibleText(html: string): string {
  return html.replace(/<(head|script|style|noscript|template)\b.*?<\/\1\s*>/gis, '').replace(/<[^>]*>/g, '');
}

/** The host itself asks for fewer requests, as opposed to a bot wall that answers 503. */
function isPlainlyBusy(response: EngineResponse): boolean {
  if (response.statusCode === 503) return response.retryAfterMs !== null || !isTurnedAway(response);
  return isBusy(response.statusCode);
}

function tooLate({ url, budgetMs }: PageRequest): TroupeError {
  return new TroupeError('SCRAPE_TIMEOUT', `${url} was not ready within ${Math.round(budgetMs)} ms`, {
    retryable: true,
  });
}

function viewOf({ formats, mobile, blockAds, location, actions }: ScrapeSpec): PageView {
  const screenshot = formats.find((format) => format.type === 'screenshot') ?? null;
  const branding = formats.some(({ type }) => type === 'branding');
  return { mobile, blockAds, location, actions, screenshot, branding };
}

function convertRequest(response: EngineResponse, request: ConversionRequest, timeoutMs: number): ConvertRequest {
  const { statusCode, finalUrl, contentType, headers, body, rendered } = response;
  const { formats, onlyMainContent, includeTags, excludeTags, removeBase64Images, parsers } = request.spec;
  return {
    body,
    url: finalUrl,
    statusCode,
    contentType,
    robotsTag: headers['x-robots-tag'] ?? null,
    rendered,
    spec: { formats, onlyMainContent, includeTags, excludeTags, removeBase64Images, parsers },
    metadata: { ...request.metadata, ...responseMetadata(response, request.spec) },
    captured: response.captured,
    timeoutMs,
    discover: statusCode >= 400 ? null : request.discover(finalUrl),
    encoding: request.encoding,
    trace: request.trace,
  };
}

function responseMetadata(response: EngineResponse, spec: ScrapeSpec): Record<string, unknown> {
  const { statusCode, statusText, finalUrl, contentType, proxyUsed } = response;
  const timezone = response.timezone ?? (response.rendered ? timezoneOf(spec) : null);
  const creditsUsed = pageCredits(spec, { proxyUsed, numPages: null });
  const metadata: Record<string, unknown> = { url: finalUrl, statusCode, proxyUsed, creditsUsed };
  if (timezone !== null) metadata['timezone'] = timezone;
  if (contentType !== null) metadata['contentType'] = contentType;
  if (statusCode >= 400) metadata['error'] = statusText || (STATUS_CODES[statusCode] ?? `HTTP ${statusCode}`);
  return metadata;
}

/** Address that the page sends its readers to, null when it is itself the page. */
function refreshTarget({ response, converted }: Answer): string | null {
  const target = converted.refreshUrl;
  if (target === null || response.statusCode >= 400 || wasActedOn(response)) return null;
  return withoutFragment(target) === withoutFragment(response.finalUrl) ? null : target;
}

/** The caller wants to see the page that its actions have led to. */
function wasActedOn({ captured }: EngineResponse): boolean {
  return captured?.actions !== undefined;
}

function withoutFragment(url: string): string {
  return url.replace(/#.*$/s, '');
}

/** Only pages with content are kept: a shell may have some the next time. */
function kept(answer: Answer, { cache }: PageRequest): Answer {
  const { response, converted, copy } = answer;
  if (copy !== null && converted.verdict === 'content') cache?.keep(response, copy);
  return answer;
}

function finish({ response, converted }: Pick<Answer, 'response' | 'converted'>, spec: ScrapeSpec): FetchedPage {
  const { statusCode, finalUrl, engine, ms: fetchMs, retryAfterMs, proxyUsed, revalidated } = response;
  const { document, documentBytes, title, outlinks, excluded, numPages } = converted;
  const credits = pageCredits(spec, { proxyUsed, numPages });
  const busy = isBusy(statusCode) ? { kind: busyKind(statusCode), retryMs: retryAfterMs } : null;
  return {
    statusCode,
    finalUrl,
    engine,
    fetchMs,
    document,
    documentBytes,
    title,
    outlinks,
    excluded,
    busy,
    credits,
    ...(revalidated === true ? { revalidated } : {}),
  };
}

function blockedPage({ finalUrl }: EngineResponse): TroupeError {
  if (/\.pdf$/i.test(URL.parse(finalUrl)?.pathname ?? '')) {
    return new TroupeError('SCRAPE_PDF_ANTIBOT_ERROR', `${finalUrl} answered with a bot wall instead of a PDF`);
  }
  return new TroupeError('SCRAPE_BLOCKED', `${finalUrl} answered with a bot wall instead of its content`);
}

function tooManyRefreshes(url: string): TroupeError {
  return new TroupeError(
    'SCRAPE_TOO_MANY_REDIRECTS',
    `the page refreshes in a loop, or more than ${MAX_REDIRECTS} times, at ${url}`,
  );
}

function emptyPage({ finalUrl, engine }: EngineResponse, isShell: boolean): TroupeError {
  const why =
    isShell && engine !== 'browser' ? ': its content is made by scripts, and no browser is available here' : '';
  return new TroupeError('SCRAPE_EMPTY', `${finalUrl} shows nothing${why}`);
}
