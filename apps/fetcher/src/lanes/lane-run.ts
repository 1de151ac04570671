/**
 * One run of one lane: a host slot taken by its fencing pair, then the lane's pages one after another, each checked
 * against cancel, robots, gap and penalty at the moment of its request (docs/design/politeness.md, "Lanes", "Host
 * policy", "Slots").
 */
import { Inject, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  asksForBrowser,
  completeSpec,
  inSpan,
  isTroupeError,
  NO_SPAN,
  NO_TRACES,
  scrapeIdOf,
  traceField,
  TroupeError,
  type Fingerprint,
  type Lane,
  type LaneEnd,
  type LaneItem,
  type PageResult,
  type PauseNews,
  type ScrapeSpec,
  type SpanAttributes,
  type TraceSpan,
  type TraceParent,
  type Tracer,
  type TroubleKind,
} from '@troupe/contracts';
import { blobHour, type BlobStore, type ErasableBlobs } from '@troupe/blob-store';
import { canonicalize, compileScope, fingerprintUrl, withoutPatterns, type CompiledScope } from '@troupe/frontier';
import { judgeLinks } from '@troupe/judging';
import type { SlotHold, SlotRenewal } from '@troupe/messaging';
import { spanUrl } from '@troupe/observability';
import { OpenItems } from '@troupe/persistence';
import { CONFIG, INSTANCE, LOG, TRACER, type Config } from '@troupe/service';
import { ERASABLE_BLOBS, RESULT_BLOBS } from '../cluster/process.js';
import { HANDS_OVER, LANE_MAIL } from './lane-ports.js';
import {
  CANCELS,
  LANE_SLOTS,
  PAUSES,
  PENALTIES,
  ROBOTS_LOOKUP,
  STANDING,
  type Cancels,
  type LaneSlots,
  type Mailboxes,
  type Pauses,
  type Penalties,
  type RobotsLookup,
  type Standing,
} from '../cluster/ports.js';
import { PageCache, type CacheView } from '../cache/index.js';
import { mayNeedModel, readingSpec } from '../models/model-wish.js';
import {
  NeedsBrowserError,
  PageFetcher,
  type ConversionRequest,
  type FetchedPage,
  type PageRequest,
} from '../pages/page-fetcher.js';
import { PageFinisher } from '../pages/page-finisher.js';
import { BusyAnswerError, TransportError } from '../slots/transport-error.js';
import { HopGuard, HostPausedError } from '../slots/hop-guard.js';
import { ExpressSlots } from '../slots/express-slots.js';
import { RobotsUnreadableError } from '../robots/robots-rules.js';
import { DelayNews } from '../slots/delay-news.js';
import { MAX_RETRY_MS, HostReports } from '../slots/host-reports.js';
import { SlotClock } from '../slots/slot-clock.js';
import { LaneResults } from './lane-results.js';
import { failedResult, okResult, refusedResult, unreadableResult, type PageContext } from './page-results.js';
import { PagesInWriting } from './pages-in-writing.js';

/** Services that the run of a lane works with. */
@Injectable()
export class LaneParts {
  @Inject(INSTANCE) readonly instance!: string;
  @Inject(LANE_MAIL) readonly mailboxes!: Mailboxes;
  @Inject(LANE_SLOTS) readonly slots!: LaneSlots;
  @Inject(STANDING) readonly standing!: Standing;
  @Inject(PENALTIES) readonly penalties!: Penalties;
  @Inject(CANCELS) readonly cancels!: Cancels;
  @Inject(PAUSES) readonly pauses!: Pauses;
  @Inject(ROBOTS_LOOKUP) readonly robots!: RobotsLookup;
  @Inject(ExpressSlots) readonly express!: Pick<ExpressSlots, 'acquire'>;
  @Inject(HostReports) readonly reports!: Pick<HostReports, 'clean' | 'trouble'>;
  @Inject(DelayNews) readonly delays!: Pick<DelayNews, 'tell'>;
  @Inject(SlotClock) readonly clock!: SlotClock;
  @Inject(PageFetcher) readonly pages!: Pick<PageFetcher, 'fetch' | 'recall'>;
  @Inject(PageCache) readonly cache!: Pick<PageCache, 'lookUp'>;
  @Inject(PageFinisher) readonly finisher!: Pick<PageFinisher, 'finish'>;
  @Inject(RESULT_BLOBS) readonly blobs!: Pick<BlobStore, 'put'>;
  /** Documents of jobs with zero data retention. */
  @Inject(ERASABLE_BLOBS) readonly erasable!: Pick<ErasableBlobs, 'of'>;
  /** Items that a job has not settled. */
  @Inject(OpenItems) readonly openItems!: Pick<OpenItems, 'of'>;
  @Inject(CONFIG) readonly config!: Pick<Config, 'resultTtlHours'>;
  /** There is no browser here, and pages that need one may wait for a fetcher that has. */
  @Inject(HANDS_OVER) readonly handsOver!: () => boolean;
  @Inject(LOG) readonly log!: { warn(context: object, message: string): void };
  /** @default nothing is recorded */
  @Inject(TRACER) readonly tracer?: Tracer;
}

/** A page of the lane on its way to its result. */
interface Visit extends PageContext {
  span: TraceSpan;
}

type EndReason = LaneEnd['reason'];

/** Outcome of an item. null: it has its result and the next may run. A reason: it was not run, or not to its end. */
type ItemEnd = EndReason | 'penalty-after-page' | null;

/** Results of a lane may be late by this much before its actor dispatches the items again. */
const ACTOR_GRACE_MS = 30_000;
const RENEW_MS = 5000;
/** The redelivered lane of another fetcher comes back at this interval, until that fetcher has ended it or is dead. */
const ELSEWHERE_RETRY_MS = 500;
/** From this length on a gap was asked for, by crawl-delay or by an answer. It is kept to the millisecond. */
const STRICT_GAP_MS = 1000;
const MAX_OUTLINKS = 2000;
/** The job knows of a crawl-delay by then. */
const NEWS_MS = 1000;

export class LaneRun {
  private readonly run = randomUUID();
  private readonly abort = new AbortController();
  private readonly results: LaneResults;
  /** Without its patterns, which are matched elsewhere; null: everything belongs. */
  private readonly scope: CompiledScope | null;
  private readonly spec: ScrapeSpec;
  /** Wishes of the pages, with the formats that a model reads. */
  private readonly readingSpec: ScrapeSpec;
  private readonly writing = new PagesInWriting();
  /** Items that a fetcher with a browser must take. */
  private readonly forBrowser: number[] = [];
  /** Crawl-delay of the rules that this process holds. */
  private delayMs = 0;
  /** How long the job is to leave the host alone, told with `penalty`. */
  private rest: Pick<LaneEnd, 'retryMs' | 'robotsUnreadable'> = {};
  private draining = false;
  private stop: EndReason | 'lost' | 'moved' | null = null;
  private held: SlotHold | null = null;
  /** The renewal of the slot that is under way. */
  private renewing: Promise<void> | null = null;

  constructor(
    private readonly lane: Lane,
    private readonly parts: LaneParts,
    /** Trace of the lane, when it is recorded. */
    private readonly trace?: TraceParent,
  ) {
    this.spec = completeSpec(lane.spec);
    this.scope = lane.scope === null ? null : compileScope(withoutPatterns(lane.scope));
    this.readingSpec = readingSpec(this.spec);
    this.results = new LaneResults(lane, this.run, {
      mailboxes: parts.mailboxes,
      blobs: this.spec.zeroRetention ? parts.erasable.of(lane.job) : parts.blobs,
      blobHour: () => blobHour(Date.now(), parts.config.resultTtlHours),
      instance: parts.instance,
      patienceMs: lane.spec.timeoutMs + lane.gapMs + ACTOR_GRACE_MS,
      onLost: (error) => this.giveUp(error),
      trace,
      tracer: parts.tracer,
    });
  }

  /** The job is cancelled: the running request ends now, no other starts. */
  cancel(): void {
    this.interrupt('cancel');
  }

  /** The running page finishes, the rest goes back to the job. */
  drain(): void {
    this.draining = true;
  }

  /** The drain takes too long: the running page goes back too. */
  abandon(): void {
    this.interrupt('drain');
  }

  /**
   * Resolves when the job knows the end of the lane, or to when to look at it again when another fetcher runs it.
   * Throws to ask for redelivery.
   */
  async execute(): Promise<void | { retryMs: number }> {
    const startedAt = performance.now();
    if (this.parts.cancels.isCancelled(this.lane.job)) return this.end('cancel', startedAt, this.lane.items);
    const { host, slot, lane } = this.lane;
    const claim = await inSpan(this.tracer, ['claim slot', this.trace, { kind: 'client' }], () =>
      this.parts.slots.claim(host, {
        i: slot.i,
        gen: slot.gen,
        lane,
        run: this.run,
        fetcher: this.parts.instance,
      }),
    );
    // Another fetcher runs this lane and will tell the job, if it lives.
    if (claim === 'duplicate') return { retryMs: ELSEWHERE_RETRY_MS };
    // The lane may not run again. If the job still waits for it, all its messages were lost: this answer frees it.
    if (claim === 'stale') return this.end('refused', startedAt, this.lane.items);
    this.held = claim.held;
    const renewal = setInterval(() => void this.renewSlot(), RENEW_MS);
    try {
      this.results.started();
      const items = claim.isRerun ? await this.unsettled() : this.lane.items;
      if (await this.isTooFast(items[0]).catch(() => false))
        return await this.end(this.penalty(NEWS_MS), startedAt, items);
      await inSpan(this.tracer, ['wait for handover', this.trace], () => this.handover(claim.previousFetcher));
      const { reason, unrun } = await this.runItems(items);
      if (this.stop === 'moved') return await this.leave();
      await this.end(reason, startedAt, unrun);
    } finally {
      clearInterval(renewal);
      await this.release(claim.held);
    }
  }

  private get tracer(): Tracer {
    return this.parts.tracer ?? NO_TRACES;
  }

  private async end(reason: EndReason, startedAt: number, unrun: LaneItem[]): Promise<void> {
    await this.results.end(reason, {
      ranMs: Math.round(performance.now() - startedAt),
      unrun: unrun.map(({ item }) => item),
      ...(this.forBrowser.length > 0 ? { browser: this.forBrowser } : {}),
      ...(reason === 'penalty' ? this.rest : {}),
      ...(reason === 'pause' ? { pause: this.pauseNews() ?? undefined } : {}),
    });
  }

  /** Ends the run and keeps its results. The run that follows it tells the end of the lane. */
  private async leave(): Promise<{ retryMs: number }> {
    await this.results.leave();
    return { retryMs: ELSEWHERE_RETRY_MS };
  }

  /** One at a time: each goes on from the revision that the last one wrote. Resolves when the lane is interrupted, or kept. */
  private renewSlot(): Promise<void> {
    this.renewing ??= this.parts.slots
      .renew(this.held!)
      .catch((): SlotRenewal => 'lost')
      .then((renewal) => {
        this.renewing = null;
        if (renewal !== 'kept') this.interrupt(renewal === 'moved' ? 'moved' : 'refused');
      });
    return this.renewing;
  }

  /** Runs before each request. A lane that may be taken for dead makes sure first that no other lane has its slot. */
  private async proveSlot(): Promise<void> {
    if (!this.parts.standing.isSurelySeen()) await this.renewSlot();
  }

  private async release(held: SlotHold): Promise<void> {
    try {
      await this.parts.slots.release(held);
    } catch (error) {
      this.parts.log.warn({ host: this.lane.host, err: error }, 'slot not released; the next lane takes it over');
    }
  }

  /** Fetchers share no clock: one that follows another on a slot waits one whole gap. */
  private async handover(previousFetcher: string | null): Promise<void> {
    const isHandover = previousFetcher !== null && previousFetcher !== this.parts.instance;
    await this.pause(Math.max(this.lane.notBeforeMs, isHandover ? this.gapMs() : 0));
  }

  /**
   * Items that an earlier run has reported to the job are not fetched again. When the job does not answer, all items
   * are fetched.
   */
  private async unsettled(): Promise<LaneItem[]> {
    const { jobNo, items } = this.lane;
    try {
      const open = await this.parts.openItems.of(jobNo, items);
      return items.filter(({ item }) => open.has(item));
    } catch (error) {
      this.parts.log.warn(
        { job: this.lane.job, err: error },
        'settled items of a lane are not known; all of it is fetched again',
      );
      return items;
    }
  }

  private gapMs(): number {
    return Math.max(this.lane.gapMs, this.parts.penalties.gapMs(this.lane.host), this.delayMs);
  }

  /**
   * Keeps a crawl-delay from the moment at which it is read, on one connection. True: the lane ends, and the job's next
   * lane will know the delay.
   */
  private async isTooFast(item: LaneItem | undefined): Promise<boolean> {
    const { host, robotsAgent, slot, gapMs } = this.lane;
    if (robotsAgent === null || item === undefined) return false;
    const rules = await this.parts.robots.rulesFor(item.url, this.abort.signal);
    this.delayMs = this.parts.penalties.crawlDelayMs(host, rules, robotsAgent);
    if (this.delayMs === 0 || (slot.i === 0 && gapMs >= this.delayMs)) return false;
    const isHeard = await this.parts.delays.tell(host, rules.crawlDelayMs(robotsAgent));
    return slot.i > 0 || isHeard;
  }

  private penalty(retryMs: number): 'penalty' {
    this.rest = { retryMs: Math.ceil(retryMs) };
    return 'penalty';
  }

  private pausedHost(): 'penalty' | null {
    const pauseMs = this.parts.penalties.pauseMs(this.lane.host);
    return pauseMs > 0 ? this.penalty(pauseMs) : null;
  }

  private async runItems(items: LaneItem[]): Promise<{ reason: EndReason; unrun: LaneItem[] }> {
    const urls = items.map(({ url }) => url);
    const cached = await this.parts.cache.lookUp(this.lane.team, urls, this.spec);
    let next = 0;
    let reason: ItemEnd = null;
    while (reason === null && next < items.length) {
      await Promise.all([this.results.room(), this.writing.room()]);
      reason = this.reasonToStop() ?? (await this.runItem(items[next]!, cached));
      if (reason === null || reason === 'penalty-after-page') next++;
    }
    const dropped = await this.writing.ended();
    const ended = reason === 'penalty-after-page' ? 'penalty' : (reason ?? 'done');
    if (dropped.length === 0) return { reason: ended, unrun: items.slice(next) };
    return { reason: this.reasonToStop() ?? ended, unrun: [...dropped, ...items.slice(next)] };
  }

  private reasonToStop(): EndReason | null {
    if (this.parts.cancels.isCancelled(this.lane.job)) return 'cancel';
    if (this.stop !== null) return this.stop === 'lost' || this.stop === 'moved' ? 'refused' : this.stop;
    if (this.pauseNews() !== null) return 'pause';
    return this.draining ? 'drain' : null;
  }

  /** A pause, or even its end, that the job had not heard of. The job sends the rest of the lane again. */
  private pauseNews(): PauseNews | null {
    return this.parts.pauses.newsSince(this.lane.job, this.lane.pauseV ?? 0);
  }

  private async runItem(item: LaneItem, cached: CacheView): Promise<ItemEnd> {
    const guard = this.guardFor(item);
    const span = this.pageSpan(item);
    const context: Visit = { item, scopeVersion: this.lane.scope?.version ?? 0, ms: 0, span };
    const startedAt = performance.now();
    try {
      if (cached.holds(item.url) && (await this.recallItem(context, guard, cached))) return null;
      cached.checkMayFetch(item.url);
      if (this.startsInBrowser(item) && this.parts.handsOver()) return this.handOver(item);
      const reason = await this.awaitTurn(context, guard);
      if (reason !== null) return reason;
      const beganAt = performance.now();
      this.parts.clock.begin(this.lane.host, this.lane.slot.i, this.gapMs());
      const page = await this.parts.pages.fetch(this.requestFor(context, guard, cached));
      await this.settlePage({ ...context, ms: performance.now() - beganAt }, page);
      const { fetchMs, finalUrl } = page;
      this.parts.reports.clean(guard.host, { ms: fetchMs, url: this.spec.zeroRetention ? null : finalUrl });
      return null;
    } catch (error) {
      const reason = this.abort.signal.aborted ? this.reasonToStop() : null;
      if (reason !== null) return reason;
      if (error instanceof NeedsBrowserError) return this.handOver(item);
      if (error instanceof HostPausedError && error.host === this.lane.host) return this.penalty(error.pauseMs);
      return this.settleError({ ...context, ms: performance.now() - startedAt }, guard, error);
    } finally {
      guard.release();
    }
  }

  /** Resolves when the page may be asked for, or to why the lane must leave it. */
  private async awaitTurn({ item, span }: Visit, guard: HopGuard): Promise<EndReason | null> {
    const paused = this.pausedHost();
    if (paused !== null) return paused;
    await inSpan(this.tracer, ['check robots', span.context], () => guard.checkStart(item.url));
    if (await this.isTooFast(item)) return this.penalty(NEWS_MS);
    await inSpan(this.tracer, ['wait for host', span.context], () => this.waitForGap());
    await this.proveSlot();
    return this.reasonToStop() ?? this.pausedHost();
  }

  /** Ended with the page's result; a page that goes back to its job leaves none. */
  private pageSpan({ url, depth, attempt }: LaneItem): TraceSpan {
    if (this.trace === undefined) return NO_SPAN;
    const attributes: SpanAttributes = { 'troupe.depth': depth, 'troupe.attempt': attempt };
    if (!this.spec.zeroRetention) attributes['url.full'] = spanUrl(url);
    return this.tracer.span('page', this.trace, { attributes });
  }

  private tell({ span }: Visit, result: PageResult, document: Uint8Array | null): void {
    this.results.add(result, document, span.context);
    const { outcome, statusCode, rule } = result;
    span.set({ 'troupe.outcome': outcome, 'http.response.status_code': statusCode });
    if (outcome === 'failed' && rule !== null) span.set({ 'error.type': rule });
    span.end();
  }

  private startsInBrowser(item: LaneItem): boolean {
    return item.browser === true || asksForBrowser(this.spec);
  }

  /**
   * A page that is known to need a browser begins there. Without one it becomes what a plain client can make of it.
   */
  private specOf(item: LaneItem): ScrapeSpec {
    const isKnown = item.browser === true && !asksForBrowser(this.spec);
    return isKnown ? { ...this.readingSpec, engine: 'browserIfAny' } : this.readingSpec;
  }

  /** Hands the item over, without a result or an attempt. The job is told at the end of the lane. */
  private handOver({ item }: LaneItem): null {
    this.forBrowser.push(item);
    return null;
  }

  /** False: the page must be fetched. A page from the cache needs no request to the host. */
  private async recallItem(context: Visit, guard: HopGuard, cached: CacheView): Promise<boolean> {
    const { item } = context;
    const startedAt = performance.now();
    await guard.checkStart(item.url);
    const remembered = await cached.recall(item.url);
    if (remembered === null) return false;
    const { finalUrl } = remembered.response;
    if (finalUrl !== item.url) await guard.checkRemembered(finalUrl);
    const page = await this.parts.pages.recall(remembered, this.conversionOf(context, {}));
    if (page === null) return false;
    this.abort.signal.throwIfAborted();
    await this.settlePage({ ...context, ms: performance.now() - startedAt }, page);
    return true;
  }

  private requestFor(context: Visit, guard: HopGuard, cached: CacheView): PageRequest {
    const { item } = context;
    return {
      ...this.conversionOf(context, cached.metadata),
      spec: this.specOf(item),
      url: item.url,
      budgetMs: this.spec.timeoutMs,
      onHop: (target) => guard.checkHop(target),
      onAnswer: () => this.markAnswer(),
      onClimb: () => this.waitForHopGap(),
      keepsBusyAnswers: false,
      reportsShells: false,
      handsOver: this.parts.handsOver(),
      cache: cached.use(item.url),
      team: this.lane.team,
      contextKey: this.lane.job,
    };
  }

  /** A model needs seconds, and the lane goes on meanwhile. All other work on a page is done before the next one. */
  private async settlePage(context: Visit, page: FetchedPage): Promise<void> {
    const settled = this.finishPage(context, page);
    if (!mayNeedModel(this.spec)) return settled;
    this.writing.add(context.item, () => this.settleWritten(context, settled));
  }

  /** False: the lane was interrupted. Failures here say nothing about the host. */
  private async settleWritten(context: Visit, finished: Promise<void>): Promise<boolean> {
    try {
      await finished;
    } catch (error) {
      if (this.abort.signal.aborted) return false;
      const failure = isTroupeError(error) ? error : this.unexpected(context.item, error);
      this.tell(context, failedResult(context, failure, null, 0), null);
    }
    return true;
  }

  private async finishPage(context: Visit, page: FetchedPage): Promise<void> {
    const { item, ms, span } = context;
    const { team, jobNo } = this.lane;
    const { url, fromHistory } = item;
    const scrape = { team, url, scrape: scrapeIdOf(jobNo, item.item), spec: this.spec, fromHistory };
    const limits = { leftMs: this.spec.timeoutMs - ms, signal: this.abort.signal, trace: span.context };
    const finished = await this.parts.finisher.finish(page, scrape, limits);
    this.abort.signal.throwIfAborted();
    this.addPage(context, finished);
  }

  private conversionOf({ item, span }: Visit, metadata: Record<string, unknown>): ConversionRequest {
    return {
      spec: this.readingSpec,
      signal: this.abort.signal,
      discover: (finalUrl) => this.discover(item, finalUrl),
      metadata: {
        sourceURL: item.sourceUrl,
        scrapeId: scrapeIdOf(this.lane.jobNo, item.item),
        ...metadata,
      },
      encoding: 'packed',
      trace: span.context,
    };
  }

  private addPage(context: Visit, page: FetchedPage): void {
    const finalUrl = canonicalize(page.finalUrl) ?? page.finalUrl;
    const finalH = this.finalFingerprint(context.item, finalUrl);
    this.tell(context, okResult(context, page, { finalUrl, finalH }), page.document);
  }

  /**
   * A first request connects before it is sent. Under a crawl-delay the gap to the next one is counted from the answer,
   * which is surely later.
   */
  private markAnswer(): void {
    if (this.gapMs() >= STRICT_GAP_MS) this.parts.clock.mark(this.lane.host, this.lane.slot.i);
  }

  private settleError(context: Visit, guard: HopGuard, error: unknown): ItemEnd {
    if (guard.refusal !== null) {
      this.tell(context, refusedResult(context, guard.refusal), null);
      return null;
    }
    const paused = error instanceof HostPausedError ? error : guard.paused;
    if (paused !== null) {
      this.tell(context, failedResult(context, paused, paused.pauseMs, 0), null);
      return null;
    }
    if (error instanceof RobotsUnreadableError) return this.waitForRobots(context, error);
    const failure = isTroupeError(error) ? error : this.unexpected(context.item, error);
    const trouble = troubleOf(failure);
    const retryMs = trouble?.retryMs == null ? null : Math.min(trouble.retryMs, MAX_RETRY_MS);
    this.tell(context, failedResult(context, failure, retryMs, trouble?.status ?? 0), null);
    return trouble === null ? null : this.reportTrouble(guard, trouble);
  }

  /** Without the rules of the lane's host nothing of it may be asked for. */
  private waitForRobots(context: Visit, error: RobotsUnreadableError): ItemEnd {
    this.tell(context, unreadableResult(context, error), null);
    if (error.host !== this.lane.host) return null;
    this.rest = { retryMs: Math.ceil(error.retryMs), robotsUnreadable: true };
    return 'penalty-after-page';
  }

  private unexpected(item: LaneItem, error: unknown): TroupeError {
    const what = this.spec.zeroRetention ? {} : { url: item.url, err: error };
    this.parts.log.warn({ job: this.lane.job, ...traceField(this.trace), ...what }, 'page failed unexpectedly');
    return new TroupeError('UNKNOWN_ERROR', error instanceof Error ? error.message : String(error), {
      cause: error,
      retryable: true,
    });
  }

  /** One URL's trouble is not its host's; a second one in a row ends the lane, if its own host is to be left alone. */
  private reportTrouble({ host, url }: HopGuard, seen: Trouble): ItemEnd {
    const { team } = this.lane;
    const restMs = this.parts.reports.trouble(host, { ...seen, url, team, isSecret: this.spec.zeroRetention });
    if (restMs === 0 || host !== this.lane.host) return null;
    this.penalty(restMs);
    return 'penalty-after-page';
  }

  private guardFor(item: LaneItem): HopGuard {
    const { lane, parts } = this;
    const scope = this.isStart(item) ? null : lane.scope;
    const holds = async (url: string) => scope === null || (await judgeLinks(scope, [url], item.depth))[0] === null;
    return new HopGuard({
      host: lane.host,
      robotsAgent: lane.robotsAgent,
      robots: parts.robots,
      scope: scope === null ? null : { holds },
      penalties: parts.penalties,
      express: parts.express,
      placeWaitMs: lane.spec.timeoutMs / 2,
      onOwnHost: () => this.waitForHopGap(),
      signal: this.abort.signal,
    });
  }

  /** The start page may lead anywhere: its redirect re-bases the crawl's scope. */
  private isStart(item: LaneItem): boolean {
    return item.depth === 0 && (this.scope?.isStart(item.url) ?? false);
  }

  /** Outlinks of the start page are judged by the scope its redirect leads to, as the job will re-base it. */
  private discover(item: LaneItem, finalUrl: string) {
    const { scope, robotsAgent } = this.lane;
    if (scope === null || scope.sitemap === 'only') return null;
    const base = this.isStart(item) ? (canonicalize(finalUrl) ?? scope.base) : scope.base;
    return { scope: { ...scope, base }, depth: item.depth, maxLinks: MAX_OUTLINKS, obeyNofollow: robotsAgent !== null };
  }

  private finalFingerprint(item: LaneItem, finalUrl: string): Fingerprint | null {
    if (this.lane.scope === null || finalUrl === item.url) return null;
    const h = fingerprintUrl(finalUrl, this.lane.scope);
    return h === fingerprintUrl(item.url, this.lane.scope) ? null : h;
  }

  /** The host may meanwhile demand fewer requests. That also holds for a request that waits. */
  private async waitForGap(): Promise<void> {
    const { host, slot } = this.lane;
    const { clock } = this.parts;
    await this.pause(clock.waitMs(host, slot.i, this.gapMs()));
    while (!this.abort.signal.aborted && clock.isEarly(host, slot.i, this.gapMs()))
      await this.pause(clock.dueInMs(host, slot.i, this.gapMs()));
  }

  /**
   * A hop is a request like any other; the page's own time limit bounds how long it may wait for its turn.
   * @throws HostPausedError when the host has come under penalty: the page is not finished, and not its lane's any more
   */
  private async waitForHopGap(): Promise<void> {
    const dueMs = this.parts.clock.waitMs(this.lane.host, this.lane.slot.i, this.gapMs());
    await this.pause(Math.min(dueMs, this.lane.spec.timeoutMs / 2));
    const pauseMs = this.parts.penalties.pauseMs(this.lane.host);
    if (pauseMs > 0) throw new HostPausedError(this.lane.host, pauseMs, this.parts.penalties.stateOf(this.lane.host));
    await this.proveSlot();
    this.abort.signal.throwIfAborted();
    this.parts.clock.begin(this.lane.host, this.lane.slot.i, this.gapMs());
  }

  private async pause(ms: number): Promise<void> {
    if (ms <= 0) return;
    try {
      await sleep(ms, undefined, { signal: this.abort.signal });
    } catch {
      // The reason of the abort is read before the next request.
    }
  }

  private giveUp(error: unknown): void {
    this.parts.log.warn(
      { job: this.lane.job, lane: this.lane.lane, ...traceField(this.trace), err: error },
      'results not delivered in time; the job dispatches the lane again',
    );
    this.interrupt('lost');
  }

  private interrupt(reason: EndReason | 'lost' | 'moved'): void {
    this.stop ??= reason;
    this.abort.abort();
  }
}

interface Trouble {
  kind: TroubleKind;
  status: number;
  retryMs: number | null;
}

function troubleOf(error: TroupeError): Trouble | null {
  if (error instanceof BusyAnswerError) return { kind: error.kind, retryMs: error.retryMs, status: error.statusCode };
  if (error instanceof TransportError && error.trouble !== null)
    return { kind: error.trouble, retryMs: null, status: 0 };
  return null;
}
