/** All links of a site that can be found quickly, without a job (spec/map.md). */
import {
  errorToWire,
  TroupeError,
  type ErrorCode,
  type MapLink,
  type MapReply,
  type MapRequest,
  type MapSpec,
  type ScrapeSpec,
} from '@troupe/contracts';
import { canonicalize } from '@troupe/frontier';
import type { FetchedPage } from '../pages/page-fetcher.js';
import type { SinglePages } from '../scrape/single-pages.js';
import { LinkCollection } from './link-collection.js';
import { MapScope } from './map-scope.js';
import { searchLinks } from './map-search.js';
import type { SitemapFinder } from './sitemap-finder.js';
import { SiteWalk } from './site-walk.js';

export interface SiteMapperParts {
  single: Pick<SinglePages, 'fetch'>;
  sitemaps: Pick<SitemapFinder, 'collect' | 'feed'>;
  /** Matched against robots.txt by the walk. */
  robotsAgent: string;
  /** Least time between two pages of a walk. */
  gapMs: number;
}

const MAX_TIMEOUT_MS = 120_000;
/** Collected before the search filter and the limit. */
const MAX_COLLECTED = 100_000;
const MAX_PAGE_LINKS = 10_000;
/** Kept back from the walk for the answer itself. */
const ANSWER_RESERVE_MS = 200;
/** Failures that say more than "the map failed". */
const KEPT_CODES = new Set<ErrorCode>(['SCRAPE_TARGET_FORBIDDEN', 'UNSUPPORTED_SITE', 'CONCURRENCY_QUEUE_TIMEOUT']);
/** The start page has the same deadline, and its timer may be a moment earlier. */
const CLOCK_SLACK_MS = 10;

export class SiteMapper {
  constructor(private readonly parts: SiteMapperParts) {}

  /** Never rejects: failures are replies. */
  async answer(request: MapRequest, signal: AbortSignal): Promise<MapReply> {
    const timeoutMs = Math.min(request.deadlineMs, request.spec.timeoutMs, MAX_TIMEOUT_MS);
    const deadline = AbortSignal.timeout(timeoutMs);
    const endsAt = performance.now() + timeoutMs;
    try {
      return { ok: true, links: await this.#map(request.spec, endsAt, AbortSignal.any([signal, deadline])) };
    } catch (error) {
      const isLate = isOver(endsAt) && !signal.aborted;
      return { ok: false, error: errorToWire(isLate ? tooLate(request.spec.url, timeoutMs) : error) };
    }
  }

  async #map(spec: MapSpec, endsAt: number, signal: AbortSignal): Promise<MapLink[]> {
    const url = canonicalize(spec.url);
    if (url === null) throw new TroupeError('BAD_REQUEST', 'Invalid URL', { details: { path: ['url'] } });
    const budgetMs = endsAt - performance.now();
    const [start, files] = await Promise.all([
      spec.sitemap === 'only' ? null : settled(this.#fetchPage(url, spec, new MapScope(spec, url), budgetMs, signal)),
      spec.sitemap === 'skip'
        ? []
        : this.parts.sitemaps.collect(url, { headers: spec.headers, maxItems: MAX_COLLECTED, endsAt, signal }),
    ]);
    signal.throwIfAborted();
    if (isOver(endsAt)) throw tooLate(url, budgetMs);
    if (start !== null && 'error' in start && files.length === 0) throw mapFailed(url, start.error);
    const page = start !== null && 'page' in start ? start.page : null;
    const base = (page === null ? null : canonicalize(page.finalUrl)) ?? url;
    const links = new LinkCollection(new MapScope(spec, base), MAX_COLLECTED);
    links.addPage(base, page);
    for (const loc of files) links.add(loc);
    if (spec.sitemap !== 'only') await this.#fillUp(spec, links, { base, page, endsAt, signal });
    return select(links.list(), spec);
  }

  /** Feeds and a short walk, when the obvious sources were not enough. */
  async #fillUp(
    spec: MapSpec,
    links: LinkCollection,
    site: { base: string; page: FetchedPage | null; endsAt: number; signal: AbortSignal },
  ): Promise<void> {
    if (site.page === null || select(links.list(), spec).length >= spec.limit) return;
    const scope = new MapScope(spec, site.base);
    const walk = new SiteWalk({
      links,
      isEnough: () => select(links.list(), spec).length >= spec.limit,
      fetchPage: (url, budgetMs) => this.#fetchPage(url, spec, scope, budgetMs, site.signal, this.parts.robotsAgent),
      fetchFeed: (url) =>
        this.parts.sitemaps.feed(url, { headers: spec.headers, endsAt: site.endsAt, signal: site.signal }),
      gapMs: this.parts.gapMs,
      endsAt: site.endsAt - ANSWER_RESERVE_MS,
      signal: site.signal,
    });
    await walk.run(site.base, site.page);
  }

  #fetchPage(
    url: string,
    spec: MapSpec,
    scope: MapScope,
    budgetMs: number,
    signal: AbortSignal,
    robotsAgent: string | null = null,
  ): Promise<FetchedPage> {
    return this.parts.single.fetch({
      url,
      spec: pageSpec(spec, budgetMs),
      budgetMs,
      signal,
      robotsAgent,
      discover: () => ({ scope: scope.scope, depth: 0, maxLinks: MAX_PAGE_LINKS, obeyNofollow: false }),
      metadata: {},
      encoding: 'json',
      reportsShells: false,
    });
  }
}

function pageSpec(spec: MapSpec, timeoutMs: number): ScrapeSpec {
  return {
    formats: [{ type: 'rawHtml' }],
    onlyMainContent: false,
    includeTags: [],
    excludeTags: [],
    headers: spec.headers,
    waitForMs: 0,
    skipTlsVerification: true,
    timeoutMs,
    removeBase64Images: true,
    engine: 'auto',
  };
}

function select(links: MapLink[], spec: MapSpec): MapLink[] {
  const found = spec.search === null ? links : searchLinks(links, spec.search);
  return found.slice(0, spec.limit);
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
