/**
 * Blocks advertising: requests that a page may not make, and boxes that are taken off it. The built-in list names hosts
 * only, so the browser itself tells which requests are of interest; lists of the operator are asked about each request.
 */
import { readFile } from 'node:fs/promises';
import type * as Adblocker from '@ghostery/adblocker';
import { compileLists } from './list-compiler.js';

/** Names in a page by which its boxes can be told. */
export interface PageNames {
  classes: string[];
  ids: string[];
}

export interface AskedResource {
  url: string;
  /** As DevTools protocol names it: `Script`, `Image`, … */
  resourceType: string;
  /** Address of the page that asks. */
  pageUrl: string;
}

export interface AdFilter {
  /** URL patterns of DevTools protocol: no other request can be refused. */
  readonly patterns: readonly string[];
  refuses(resource: AskedResource): boolean;
  /** CSS selectors of advertising and banners that such a page may have. */
  boxes(pageUrl: string, names: PageNames): string[];
}

const BUILT_IN = new URL('./built-in-list.txt', import.meta.url);
const HOST_RULE = /^\|\|([a-z0-9.-]+)\^/gm;
const SELECTORS_END = /\{[^}]*\}/;

/** Compiles the lists when the first page asks, once per process. */
export class AdLists {
  private loadedFilter: Promise<AdFilter> | null = null;

  /** `dir`: folder of the operator's lists; null: the built-in list alone. */
  constructor(private readonly dir: string | null) {}

  /** Rejects when the operator's lists cannot be read. */
  filter(): Promise<AdFilter> {
    this.loadedFilter ??= this.load();
    return this.loadedFilter;
  }

  private async load(): Promise<AdFilter> {
    const [library, builtIn] = await Promise.all([import('@ghostery/adblocker'), readFile(BUILT_IN, 'utf8')]);
    if (this.dir === null) {
      const engine = library.FiltersEngine.parse(builtIn, { enableCompression: false });
      return new ListFilter(library, engine, hostPatterns(builtIn));
    }
    const compiled = await compileLists(this.dir, builtIn);
    return new ListFilter(library, library.FiltersEngine.deserialize(compiled), ['*']);
  }
}

class ListFilter implements AdFilter {
  constructor(
    private readonly library: typeof Adblocker,
    private readonly engine: Adblocker.FiltersEngine,
    readonly patterns: readonly string[],
  ) {}

  refuses({ url, resourceType, pageUrl }: AskedResource): boolean {
    const type = requestType(resourceType);
    return this.engine.match(this.library.Request.fromRawDetails({ url, type, sourceUrl: pageUrl })).match;
  }

  boxes(pageUrl: string, names: PageNames): string[] {
    const { hostname, domain } = this.library.Request.fromRawDetails({ url: pageUrl, type: 'main_frame' });
    const { styles } = this.engine.getCosmeticsFilters({ url: pageUrl, hostname, domain, ...names, ...HIDING_ONLY });
    return styles.split(SELECTORS_END).flatMap(selectorLines);
  }
}

/** The filter puts no scripts into pages. */
const HIDING_ONLY = {
  getBaseRules: true,
  getRulesFromHostname: true,
  getRulesFromDOM: true,
  getInjectionRules: false,
  getExtendedRules: false,
};

/** The library writes one selector a line. */
function selectorLines(group: string): string[] {
  return group
    .split(/,?\n/)
    .map((selector) => selector.trim())
    .filter((selector) => selector !== '');
}

/** Patterns wider than the rules. The rules judge the requests that match. */
function hostPatterns(list: string): string[] {
  return [...list.matchAll(HOST_RULE)].map(([, host]) => `*://*${host}*`);
}

function requestType(resourceType: string): Adblocker.RequestType {
  const lower = resourceType.toLowerCase();
  return lower === 'document' ? 'sub_frame' : (lower as Adblocker.RequestType);
}
