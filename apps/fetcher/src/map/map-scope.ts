/** Which URLs a map of a site lists (spec/map.md). */
import type { MapSpec, ScopeSpec } from '@troupe/contracts';
import { canonicalize, compileScope, dedupKey, fetchUrl, hostKey, type CompiledScope } from '@troupe/frontier';

/** The crawl scope that says the same about hosts and patterns; the path rule of maps is `MapScope`'s own. */
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
  readonly #scope: ScopeSpec;
  readonly #compiled: CompiledScope;
  readonly #prefix: string | null;

  constructor(
    spec: MapSpec,
    private readonly base: string,
  ) {
    this.#scope = scopeOfMap(spec, base);
    this.#compiled = compileScope(this.#scope);
    this.#prefix = spec.filterByPath ? sectionOf(spec.url, base) : null;
  }

  /** Canonical URL and its identity, null when the map does not list it. */
  accept(text: string, base?: string): { url: string; key: string } | null {
    const canonical = canonicalize(text, base);
    if (canonical === null) return null;
    const url = fetchUrl(canonical, this.#scope);
    if (this.#compiled.check(url, 0) !== null || !this.#isBelow(url)) return null;
    return { url, key: dedupKey(url, this.#scope) };
  }

  /** Whether a start page that redirects to this address is still in the place that was asked for. */
  isHome(url: string): boolean {
    return siteOf(url) === siteOf(this.base) && this.#isBelow(url);
  }

  #isBelow(url: string): boolean {
    return this.#prefix === null || `${pathOf(url).replace(/\/+$/, '')}/`.startsWith(this.#prefix);
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

/** Of a canonical URL, by slicing: asked for every link. */
function pathOf(url: string): string {
  const from = url.indexOf('/', url.indexOf('://') + 3);
  if (from < 0) return '/';
  const end = url.indexOf('?', from);
  return url.slice(from, end < 0 ? url.length : end);
}
