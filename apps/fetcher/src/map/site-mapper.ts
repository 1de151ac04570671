/** All links of a site that can be found quickly, without a job (docs/api/map.md). */
import { Inject, Injectable } from '@nestjs/common';
import {
  errorToWire,
  plainScrape,
  timeoutSignal,
  TroupeError,
  type ErrorCode,
  type MapReply,
  type MapRequest,
  type MapSpec,
  type ScrapeSpec,
  type TraceParent,
  type Uuid,
} from '@troupe/contracts';
import { canonicalize } from '@troupe/frontier';
import { CONFIG, type Config } from '@troupe/service';
import { ROBOTS_AGENT } from '../cluster/process.js';
import { KnownUrls } from '../cache/index.js';
import type { FetchedPage } from '../pages/page-fetcher.js';
import { SinglePages } from '../scrape/single-pages.js';
import { LinkCollection } from './link-collection.js';
import { encodeLinks } from './link-lines.js';
import { MapScope, scopeOfMap } from './map-scope.js';
import { LinkSearch } from './map-search.js';
import { readTexts } from './page-texts.js';
import { SitemapFinder } from './sitemap-finder.js';
import { SiteWalk } from './site-walk.js';

@Injectable()
export class SiteMapperParts {
  @Inject(SinglePages) readonly single!: Pick<SinglePages, 'fetch'>;
  @Inject(SitemapFinder) readonly sitemaps!: Pick<SitemapFinder, 'collect' | 'feed'>;
  @Inject(KnownUrls) readonly known!: Pick<KnownUrls, 'of'>;
  /** Matched against robots.txt by the walk. */
  @Inject(ROBOTS_AGENT) readonly robotsAgent!: string;
  /** Least time between two pages of a walk. */
  @Inject(CONFIG) readonly config!: Pick<Config, 'hostGapMs'>;
}

export interface MapAnswer {
  head: MapReply;
  body?: Uint8Array;
}

const MAX_TIMEOUT_MS = 120_000;
const MAX_PAGE_LINKS = 10_000;
/** A site that announces this many links needs no walk, even if none of them matches the search. */
const TELLING_LINKS = 1000;
/** Time kept back from the walk for the answer itself. */
const ANSWER_RESERVE_MS = 200;
/** Failures that say more than "the map failed". */
const KEPT_CODES = new Set<ErrorCode>(['SCRAPE_TARGET_FORBIDDEN', 'UNSUPPORTED_SITE', 'CONCURRENCY_QUEUE_TIMEOUT']);
/** The start page has the same deadline, and its timer may be a moment earlier. */
const CLOCK_SLACK_MS = 10;

/** One map being made. */
interface Task {
  spec: MapSpec;
  team: Uuid;
  /** Canonical address that was asked for. */
  url: string;
  search: LinkSearch | null;
  /** Entries of sitemaps so far that are no absolute address. */
  unusable: number;
  endsAt: number;
  signal: AbortSignal;
  /** Trace of the call, when it is recorded. */
  trace?: TraceParent;
}

/** The site's address after redirects, and its known links. */
interface Site {
  base: string;
  page: FetchedPage | null;
  links: LinkCollection;
}

@Injectable()
export class SiteMapper {
  constructor(private readonly parts: SiteMapperParts) {}

  /** Never rejects: failures are replies. */
  async answer(request: MapRequest, signal: AbortSignal, trace?: TraceParent): Promise<MapAnswer> {
    const timeoutMs = Math.min(request.deadlineMs, request.spec.timeoutMs, MAX_TIMEOUT_MS);
    const deadline = timeoutSignal(timeoutMs);
    const endsAt = performance.now() + timeoutMs;
    try {
      const task = taskOf(request, endsAt, AbortSignal.any([signal, deadline]));
      return await this.map({ ...task, trace });
    } catch (error) {
      const isLate = isOver(endsAt) && !signal.aborted;
      return { head: { ok: false, error: errorToWire(isLate ? tooLate(request.spec.url, timeoutMs) : error) } };
    }
  }

  private async map(task: Task): Promise<MapAnswer> {
    const site = await this.explore(task, task.endsAt - performance.now());
    await site.links.addStart(site.base);
    if (site.page !== null) await this.fillUp(task, site, site.page);
    task.signal.throwIfAborted();
    const body = await encodeLinks(await site.links.best(task.spec.limit));
    return { head: { ok: true, ...leftOutWarning(task.unusable) }, body };
  }

  /** Start page and sitemaps, read at the same time. */
  private async explore(task: Task, budgetMs: number): Promise<Site> {
    const { spec, url } = task;
    const scope = new MapScope(spec, url);
    const links = new LinkCollection(scope, task.search);
    const [start, isFound] = await Promise.all([
      spec.sitemap === 'only' ? null : settled(this.fetchPage(task, url, budgetMs)),
      this.readSitemaps(task, url, links),
    ]);
    this.checkTime(task, budgetMs);
    if (start !== null && 'error' in start && !isFound) throw mapFailed(url, start.error);
    const page = start !== null && 'page' in start ? start.page : null;
    const base = (page === null ? null : canonicalize(page.finalUrl)) ?? url;
    const site = { base, page, links };
    return scope.isHome(base) ? site : this.moveTo(task, site, budgetMs);
  }

  /**
   * The start page redirects to another place: found links are judged again, and that place's sitemaps are read too.
   */
  private async moveTo(task: Task, { base, page, links: old }: Site, budgetMs: number): Promise<Site> {
    const links = new LinkCollection(new MapScope(task.spec, base), task.search);
    await links.addAll(old.urls());
    await this.readSitemaps(task, base, links);
    this.checkTime(task, budgetMs);
    return { base, page, links };
  }

  private async readSitemaps(task: Task, url: string, links: LinkCollection): Promise<boolean> {
    if (task.spec.sitemap === 'skip') return false;
    const { spec, endsAt, signal } = task;
    return this.parts.sitemaps.collect(url, { headers: spec.headers, endsAt, signal }, async ({ urls, unusable }) => {
      task.unusable += unusable;
      await links.addAll(urls);
      return wantsMore(task, links);
    });
  }

  /**
   * Adds the links of the start page and the URLs known from earlier. Feeds and a short walk follow when these were not
   * enough.
   */
  private async fillUp(task: Task, { base, links }: Site, page: FetchedPage): Promise<void> {
    const { spec, endsAt, signal } = task;
    const texts = readTexts(page);
    await links.addPage(base, page, texts);
    if (wantsMore(task, links)) await links.addAll(await this.parts.known.of(task.team, base));
    const walk = new SiteWalk({
      links,
      isEnough: () =>
        links.matches >= spec.limit || links.isFull || (task.search !== null && links.size >= TELLING_LINKS),
      fetchPage: (url, budgetMs) => this.fetchPage(task, url, budgetMs, this.parts.robotsAgent),
      fetchFeed: (url) => this.parts.sitemaps.feed(url, { headers: spec.headers, endsAt, signal }),
      gapMs: this.parts.config.hostGapMs,
      endsAt: endsAt - ANSWER_RESERVE_MS,
      signal,
    });
    await walk.run(base, texts.feeds);
  }

  private checkTime({ url, endsAt, signal }: Task, budgetMs: number): void {
    signal.throwIfAborted();
    if (isOver(endsAt)) throw tooLate(url, budgetMs);
  }

  private fetchPage(
    { spec, team, signal, trace }: Task,
    url: string,
    budgetMs: number,
    robotsAgent: string | null = null,
  ): Promise<FetchedPage> {
    return this.parts.single.fetch({
      url,
      spec: pageSpec(spec, budgetMs),
      budgetMs,
      signal,
      robotsAgent,
      discover: (finalUrl) => ({
        scope: scopeOfMap(spec, canonicalize(finalUrl) ?? url),
        depth: 0,
        maxLinks: MAX_PAGE_LINKS,
        obeyNofollow: false,
      }),
      metadata: {},
      encoding: 'json',
      reportsShells: false,
      handsOver: false,
      cache: null,
      team,
      contextKey: null,
      trace,
    });
  }
}

/** Without a search the first links are as good as any others. */
function wantsMore({ spec, search }: Task, links: LinkCollection): boolean {
  return !links.isFull && (search !== null || links.size < spec.limit);
}

function leftOutWarning(count: number): { warning?: string } {
  if (count === 0) return {};
  return { warning: `Entries of sitemaps that are no absolute http(s) address and were left out: ${count}.` };
}

/** @throws TroupeError BAD_REQUEST */
function taskOf({ spec, team }: MapRequest, endsAt: number, signal: AbortSignal): Task {
  const url = canonicalize(spec.url);
  if (url === null) throw new TroupeError('BAD_REQUEST', 'Invalid URL', { details: { path: ['url'] } });
  const search = spec.search === null || spec.search.trim() === '' ? null : new LinkSearch(spec.search);
  return { spec, team, url, search, unusable: 0, endsAt, signal };
}

function pageSpec(spec: MapSpec, timeoutMs: number): ScrapeSpec {
  return plainScrape({ formats: [{ type: 'rawHtml' }], timeoutMs, headers: spec.headers, location: spec.location });
}

function settled(work: Promise<FetchedPage>): Promise<{ page: FetchedPage } | { error: unknown }> {
  return work.then(
    (page) => ({ page }),
    (error: unknown) => ({ error }),
  );
}

function mapFailed(url: string, cause: unknown): TroupeError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const keepsCode = cause instanceof TroupeError && KEPT_CODES.has(cause.code);
  return keepsCode ? cause : new TroupeError('MAP_FAILED', `${url} cannot be mapped: ${reason}`, { cause });
}

function isOver(endsAt: number): boolean {
  return performance.now() >= endsAt - CLOCK_SLACK_MS;
}

function tooLate(url: string, timeoutMs: number): TroupeError {
  return new TroupeError('MAP_TIMEOUT', `${url} was not mapped within ${Math.round(timeoutMs)} ms`);
}
