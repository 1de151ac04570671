/** Which URLs a map of a site lists (spec/map.md). */
import type { MapSpec, ScopeSpec } from '@troupe/contracts';
import { canonicalize, compileScope, dedupKey, fetchUrl, type CompiledScope } from '@troupe/frontier';

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
  readonly scope: ScopeSpec;
  readonly #compiled: CompiledScope;
  readonly #prefix: string | null;

  constructor(spec: MapSpec, base: string) {
    this.scope = scopeOfMap(spec, base);
    this.#compiled = compileScope(this.scope);
    this.#prefix = spec.filterByPath ? pathPrefix(base) : null;
  }

  /** Canonical URL and its identity, null when the map does not list it. */
  accept(text: string, base?: string): { url: string; key: string } | null {
    const canonical = canonicalize(text, base);
    if (canonical === null) return null;
    const url = fetchUrl(canonical, this.scope);
    if (this.#compiled.check(url, 0) !== null || !this.#isBelow(url)) return null;
    return { url, key: dedupKey(url, this.scope) };
  }

  #isBelow(url: string): boolean {
    if (this.#prefix === null) return true;
    const path = `${new URL(url).pathname.replace(/\/+$/, '')}/`;
    return path.startsWith(this.#prefix);
  }
}

/** `/docs/index.html` -> `/docs/`, `/docs` -> `/docs/`, `/` -> null (everything). */
function pathPrefix(base: string): string | null {
  const { pathname } = new URL(base);
  const cut = /\/[^/]*\.[^/]*$/.test(pathname) ? pathname.slice(0, pathname.lastIndexOf('/') + 1) : pathname;
  const prefix = `${cut.replace(/\/+$/, '')}/`;
  return prefix === '/' ? null : prefix;
}
