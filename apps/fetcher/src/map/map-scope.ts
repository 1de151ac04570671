/** Decides which URLs a map of a site lists (docs/api/map.md). */
import type { MapSpec, ScopeSpec } from '@troupe/contracts';
import { judgeLinks } from '@troupe/judging';
import { LRUCache } from 'lru-cache';
import {
  canonicalize,
  compileScope,
  dedupKey,
  fetchUrl,
  hasPatterns,
  hostKey,
  withoutPatterns,
  type CompiledScope,
} from '@troupe/frontier';

/** Several parts of a site may be judged at a time, some thousand addresses each. */
const KEPT_VERDICTS = 20_000;

/** The crawl scope with the same hosts and patterns; the path rule of maps is `MapScope`'s own. */
export function scopeOfMap(spec: MapSpec, base: string): ScopeSpec {
  return {
    base,
    version: 0,
    includePaths: spec.includePaths,
    excludePaths: spec.excludePaths,
    regexOnFullUrl: spec.regexOnFullUrl,
    maxDepth: null,
    maxPathDepth: null,
    entireDomain: true,
    allowExternalLinks: spec.allowExternalLinks,
    allowSubdomains: spec.includeSubdomains,
    ignoreQueryParameters: spec.ignoreQueryParameters,
    deduplicateSimilarUrls: true,
    sitemap: spec.sitemap,
  };
}

export class MapScope {
  private readonly scope: ScopeSpec;
  private readonly compiled: CompiledScope;
  private readonly prefix: string | null;
  /** Verdicts on addresses that the patterns have judged lately. */
  private readonly judged = new LRUCache<string, boolean>({ max: KEPT_VERDICTS });

  constructor(
    spec: MapSpec,
    private readonly base: string,
  ) {
    this.scope = scopeOfMap(spec, base);
    this.compiled = compileScope(withoutPatterns(this.scope));
    this.prefix = spec.filterByPath ? sectionOf(spec.url, base) : null;
  }

  /**
   * Matches the patterns with some addresses, in a thread, before `accept` is asked about each of them. An address that
   * was not judged does not belong. Together the addresses count as the links of one page (see `judgeLinks`).
   */
  async judge(texts: readonly string[], base?: string): Promise<void> {
    if (!hasPatterns(this.scope)) return;
    const urls = new Set(texts.flatMap((text) => this.candidate(text, base) ?? []));
    const rules = await judgeLinks(this.scope, [...urls], 0);
    for (const [i, url] of [...urls].entries()) this.judged.set(url, rules[i] === null);
  }

  /** Canonical URL and its identity, null when the map does not list it. With patterns, `judge` comes first. */
  accept(text: string, base?: string): { url: string; key: string } | null {
    const url = this.candidate(text, base);
    if (url === null || !this.passesPatterns(url)) return null;
    return { url, key: dedupKey(url, this.scope) };
  }

  /** The canonical URL, when only the patterns may still exclude it; else null. */
  private candidate(text: string, base?: string): string | null {
    const canonical = canonicalize(text, base);
    if (canonical === null) return null;
    const url = fetchUrl(canonical, this.scope);
    return this.compiled.check(url, 0) === null && this.isBelow(url) ? url : null;
  }

  private passesPatterns(url: string): boolean {
    if (!hasPatterns(this.scope) || this.compiled.isStart(url)) return true;
    return this.judged.get(url) === true;
  }

  /** Whether a start page that redirects to this address is still in the place that was asked for. */
  isHome(url: string): boolean {
    return siteOf(url) === siteOf(this.base) && this.isBelow(url);
  }

  private isBelow(url: string): boolean {
    return this.prefix === null || `${pathOf(url).replace(/\/+$/, '')}/`.startsWith(this.prefix);
  }
}

/** The section that the caller named, where its start page was found; null: the whole site. */
function sectionOf(asked: string, base: string): string | null {
  const section = pathPrefix(asked);
  return section === null ? null : (pathPrefix(base) ?? section);
}

function siteOf(url: string): string {
  return hostKey(url).replace(/^www\./, '');
}

/** `/docs/index.html` -> `/docs/`, `/docs` -> `/docs/`, `/` -> null (everything). */
function pathPrefix(url: string): string | null {
  const path = pathOf(canonicalize(url) ?? url);
  const cut = /\/[^/]*\.[^/]*$/.test(path) ? path.slice(0, path.lastIndexOf('/') + 1) : path;
  const prefix = `${cut.replace(/\/+$/, '')}/`;
  return prefix === '/' ? null : prefix;
}

/** Path of a canonical URL. It is sliced, not parsed, because it is asked for every link. */
function pathOf(url: string): string {
  const from = url.indexOf('/', url.indexOf('://') + 3);
  if (from < 0) return '/';
  const end = url.indexOf('?', from);
  return url.slice(from, end < 0 ? url.length : end);
}
