/**
 * Collects the URLs that a job would like to know: outlinks, sitemap entries and redirect targets become candidates.
 */
import {
  FROM_HISTORY,
  type Candidate,
  type ExcludedLinks,
  type Fingerprint,
  type Outlink,
  type PageResult,
  type SitemapChunk,
} from '@troupe/contracts';
import { compileScope, fingerprint, fingerprintUrl, hostKey, withoutPatterns } from '@troupe/frontier';
import type { Findings } from './findings.js';
import { scopeOf, type JobMemory, type JobState, type OpenSitemap } from './job.state.js';
import { howManyFit } from './sitemap-window.js';

const SPARE_BASE = 1_000;
const SPARE_FACTOR = 2;
/** Base of the limit of forbidden, out-of-scope and redirected URLs, which use up no unit of the job's limit. */
const FREE_BASE = 10_000;
const FREE_FACTOR = 10;
const MAX_SITEMAP_LEVEL = 5;
const MAX_SITEMAPS = 100_000;

export function remainingBudget(state: JobState): number {
  return Math.max(0, state.limit - state.counted - state.inflight);
}

/** Room for candidates beyond the budget (docs/design/frontier.md, "Limit"): what is over is neither stored nor marked seen. */
export function spareRoom(state: JobState): number {
  return SPARE_FACTOR * remainingBudget(state) + SPARE_BASE - state.ready;
}

/** Items that ended without using up a unit of the limit. */
export function freeItems(state: JobState): number {
  return Object.values(state.outcomes).reduce((sum, n) => sum + n, 0) - state.counted;
}

/** Number of URLs that may still be admitted, if every open one ended without using up a unit. */
function freeRoom(state: JobState): number {
  if (state.full === true) return 0;
  return FREE_FACTOR * state.limit + FREE_BASE - freeItems(state) - state.ready - state.inflight;
}

interface Origin {
  depth: number;
  parent: number | null;
}

/** Candidates of this turn; keeps the spare cap, and assigns item numbers (gaps are fine). */
export class Admission {
  private room: number;
  private free: number;

  constructor(
    private readonly state: JobState,
    private readonly memory: JobMemory,
    private readonly found: Findings,
  ) {
    this.room = spareRoom(state);
    this.free = freeRoom(state);
  }

  outlinks(page: PageResult): void {
    const { state } = this;
    const scope = scopeOf(state);
    if (scope === null || scope.sitemap === 'only' || page.outcome !== 'ok') return;
    const links = page.scopeVersion < scope.version ? this.refilter(page) : page.outlinks;
    this.add(links, { depth: page.depth + 1, parent: page.item });
  }

  /** Links computed before the start page's redirect re-based the scope: they have passed its patterns, which stay the same. */
  private refilter(page: PageResult): Outlink[] {
    const scope = compileScope(withoutPatterns(scopeOf(this.state)!));
    const excluded: ExcludedLinks = { byRule: {}, sample: [] };
    const kept = page.outlinks.filter((link) => {
      const rule = scope.check(link.url, page.depth + 1);
      if (rule === null) return true;
      excluded.byRule[rule] = (excluded.byRule[rule] ?? 0) + 1;
      excluded.sample.push({ url: link.url, h: fingerprint(link.url), rule });
      return false;
    });
    if (kept.length < page.outlinks.length) this.found.refiltered.push({ excluded, parent: page.item });
    return kept;
  }

  /** False when there is no room for the whole chunk. It is asked for again later, for the children that are left. */
  sitemapChunk(chunk: SitemapChunk, file: OpenSitemap): boolean {
    if (chunk.urls.length > 0 && this.room < Math.min(chunk.urls.length, SPARE_BASE / 2)) return false;
    this.add(chunk.urls, { depth: 0, parent: null });
    const level = file.level + 1;
    if (level > MAX_SITEMAP_LEVEL) return true;
    const children = chunk.children.slice(file.taken ?? 0);
    const known = [...this.state.pendingSitemaps, ...this.found.sitemapMarkers.values()];
    const fitting = howManyFit(children, level, known);
    for (const url of children.slice(0, fitting)) this.sitemapFile(url, level);
    if (fitting === children.length) return true;
    file.taken = (file.taken ?? 0) + fitting;
    return false;
  }

  /** They begin at depth 0, like entries of a sitemap. */
  history(links: readonly Outlink[]): void {
    this.add(links, { depth: 0, parent: FROM_HISTORY });
  }

  /** Each sitemap file is read once per job: its marker in `url_seen` says whether it is new. */
  sitemapFile(url: string, level: number): void {
    if (this.state.full === true) return;
    if (this.state.sitemapsSeen + this.found.sitemapMarkers.size >= MAX_SITEMAPS) return;
    const item = this.mark(fingerprint(`sitemap ${url}`), url, 0);
    this.found.sitemapMarkers.set(item, { url, level });
  }

  /** Item whose admission tells that the redirect target was unknown. */
  redirectTarget(page: PageResult): number | null {
    if (this.state.scope === null || page.finalH === null) return null;
    return this.mark(page.finalH, page.finalUrl, page.depth);
  }

  seed(url: string): void {
    const { state } = this;
    this.found.links.push({
      jobNo: state.jobNo,
      depth: 0,
      item: state.nextItem++,
      host: hostKey(url),
      url,
      h: fingerprintUrl(url, scopeOf(state)!),
      parent: null,
    });
  }

  private add(links: readonly Outlink[], origin: Origin): void {
    const { memory, found, state } = this;
    for (const { url, h } of links) {
      if (memory.known.has(h)) continue;
      if (this.free <= 0) state.full = true;
      if (this.room <= 0 || this.free <= 0) {
        state.truncated = true;
        return;
      }
      this.room -= 1;
      this.free -= 1;
      memory.known.add(h);
      found.links.push({ jobNo: state.jobNo, item: state.nextItem++, host: hostKey(url), url, h, ...origin });
    }
  }

  private mark(h: Fingerprint, url: string, depth: number): number {
    const marker: Candidate = {
      jobNo: this.state.jobNo,
      depth,
      item: this.state.nextItem++,
      host: hostKey(url),
      url,
      h,
      parent: null,
    };
    this.found.markers.push(marker);
    return marker.item;
  }
}
