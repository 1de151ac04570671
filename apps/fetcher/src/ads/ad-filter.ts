/**
 * What a page asked for without advertising may not load, and which boxes are taken off it. The built-in list names hosts
 * only, so the browser itself tells which requests are of interest; lists of the operator are asked about each request.
 */
import type * as Adblocker from '@ghostery/adblocker';
import { AD_HOSTS, BOXES, CONSENT_HOSTS } from './built-in-list.js';
import { compileLists } from './list-compiler.js';

/** Words by which boxes of a page can be known. */
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

const BUILT_IN = [AD_HOSTS, CONSENT_HOSTS, BOXES].join('\n');
const HOST_RULE = /^\|\|([a-z0-9.-]+)\^/gm;
const SELECTORS_END = /\{[^}]*\}/;

/** Compiles the lists when the first page asks, once per process. */
export class AdLists {
  #filter: Promise<AdFilter> | null = null;

  /** `dir`: of the operator's lists; null: the built-in one alone. */
  constructor(private readonly dir: string | null) {}

  /** Rejects when the operator's lists cannot be read. */
  filter(): Promise<AdFilter> {
    this.#filter ??= this.#load();
    return this.#filter;
  }

  async #load(): Promise<AdFilter> {
    const library = await import('@ghostery/adblocker');
    if (this.dir === null) {
      const engine = library.FiltersEngine.parse(BUILT_IN, { enableCompression: false });
      return new ListFilter(library, engine, hostPatterns());
    }
    const compiled = await compileLists(this.dir, BUILT_IN);
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

/** No scripts are put into pages. */
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

/** Wider than the rules, which are asked about what matches. */
function hostPatterns(): string[] {
  return [...BUILT_IN.matchAll(HOST_RULE)].map(([, host]) => `*://*${host}*`);
}

function requestType(resourceType: string): Adblocker.RequestType {
  const lower = resourceType.toLowerCase();
  return lower === 'document' ? 'sub_frame' : (lower as Adblocker.RequestType);
}
