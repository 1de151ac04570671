/**
 * Walks a known site by its description and says how each URL of a crawl must end. It knows the interface specification
 * and the description, and nothing of the product.
 *
 * The walk is one page at a time, a crawl is not: the oracle refuses sites on which the order of two fetches could
 * change the result (`AmbiguousSiteError`), so that its answer is the only right one.
 */
import { absolute, identity, isInScope, withoutQuery, type CrawlRules } from './addresses.js';
import {
  textOf,
  type HostResources,
  type Link,
  type Page,
  type Resource,
  type Robots,
  type Sitemap,
} from './resource.js';

export interface ExpectedOutcome {
  url: string;
  outcome: 'ok' | 'failed' | 'robots' | 'redirected';
  /** HTTP status of the document; null without a document. */
  status: number | null;
  /** Error code of a failed page. */
  code: string | null;
  /** `metadata.url` of the document, without anything of the fragment. */
  finalUrl: string;
  /** What its markdown must hold; empty for error pages and files. */
  texts: string[];
}

export interface Expectation {
  status: 'completed' | 'failed';
  /** By URL; one for every URL that is ever admitted. */
  outcomes: Map<string, ExpectedOutcome>;
  /** Sitemap files that must be listed in the errors. */
  brokenSitemaps: Set<string>;
  /** Never to be requested: what robots.txt forbids, as link or as redirect target. */
  forbidden: Set<string>;
}

export interface KnownSiteDescription {
  origins: readonly string[];
  resources: readonly HostResources[];
}

export interface OracleOptions {
  /** Agent name in robots.txt. @default 'troupe' */
  agent?: string;
  /** False: pages made by scripts fail. @default true */
  hasBrowser?: boolean;
}

/** Thrown when the order of fetches could change what a crawl returns. */
export class AmbiguousSiteError extends Error {}

export function expectCrawl(site: KnownSiteDescription, rules: CrawlRules, options: OracleOptions = {}): Expectation {
  return new Walk(site, rules, options).run();
}

const MAX_REDIRECTS = 20;
const MAX_ATTEMPTS = 3;
const READABLE = /^(text\/|application\/(json|xml))/;

interface Visit {
  url: string;
  depth: number;
  /** The page whose links named it; null for the start page and for sitemaps. */
  finder: Visit | null;
  isStart: boolean;
}

/** Who made an identity known, under which spelling, how deep. */
interface Known {
  url: string;
  depth: number;
  finder: Visit | 'start' | 'sitemap';
}

type Arrival =
  | { type: 'refused'; outcome: 'robots' | 'redirected' }
  | { type: 'failed'; code: string }
  | { type: 'document'; url: string; status: number; texts: string[]; links: string[] };

class Walk {
  private readonly known = new Map<string, Known>();
  private readonly queue: Visit[] = [];
  private readonly expectation: Expectation = {
    status: 'completed',
    outcomes: new Map(),
    brokenSitemaps: new Set(),
    forbidden: new Set(),
  };
  private readonly agent: string;
  private readonly hasBrowser: boolean;
  private base: string;

  constructor(
    private readonly site: KnownSiteDescription,
    private readonly rules: CrawlRules,
    { agent = 'troupe', hasBrowser = true }: OracleOptions,
  ) {
    this.agent = agent;
    this.hasBrowser = hasBrowser;
    const start = absolute(rules.url, rules.url)!;
    this.base = rules.ignoreQueryParameters === true ? withoutQuery(start) : start;
  }

  run(): Expectation {
    const start: Visit = { url: this.base, depth: 0, finder: null, isStart: true };
    this.known.set(identity(start.url, this.rules), { url: start.url, depth: 0, finder: 'start' });
    this.visit(start);
    if (this.rules.sitemap !== 'skip') this.readSitemaps();
    for (let next = this.queue.shift(); next !== undefined; next = this.queue.shift()) this.visit(next);
    const first = this.expectation.outcomes.get(start.url)!;
    const hasDocument = [...this.expectation.outcomes.values()].some(({ outcome }) => outcome === 'ok');
    if (first.outcome !== 'ok' && !hasDocument) this.expectation.status = 'failed';
    return this.expectation;
  }

  // ---- pages

  private visit(visit: Visit): void {
    const arrival = this.follow(visit);
    if (arrival.type === 'refused') return this.end(visit, { outcome: arrival.outcome });
    if (arrival.type === 'failed') return this.end(visit, { outcome: 'failed', code: arrival.code });
    if (this.arriveElsewhere(visit, arrival.url)) return this.end(visit, { outcome: 'redirected' });
    if (visit.isStart) this.base = arrival.url;
    const { status, url, texts, links } = arrival;
    this.end(visit, { outcome: 'ok', status, finalUrl: url, texts });
    if (this.rules.sitemap === 'only') return;
    for (const link of links) this.discover(link, visit.depth + 1, visit);
  }

  private end(visit: Visit, outcome: Partial<ExpectedOutcome> & Pick<ExpectedOutcome, 'outcome'>): void {
    const { url } = visit;
    this.expectation.outcomes.set(url, { url, status: null, code: null, finalUrl: url, texts: [], ...outcome });
  }

  /** True when the address a redirect ended at was known already. */
  private arriveElsewhere(visit: Visit, url: string): boolean {
    const key = identity(url, this.rules);
    if (key === identity(visit.url, this.rules)) return false;
    const known = this.known.get(key);
    if (known === undefined) {
      this.known.set(key, { url, depth: visit.depth, finder: visit });
      return false;
    }
    if (!isCertainlyBefore(known, visit))
      throw new AmbiguousSiteError(`${visit.url} redirects to ${url}, found elsewhere`);
    return true;
  }

  private follow(visit: Visit): Arrival {
    const trail = new Set<string>();
    let url = visit.url;
    if (this.isForbidden(url)) return { type: 'refused', outcome: 'robots' };
    for (;;) {
      trail.add(url);
      const target = this.targetOf(url);
      if (target === null) return this.read(url);
      if (trail.has(target) || trail.size > MAX_REDIRECTS) return { type: 'failed', code: 'SCRAPE_TOO_MANY_REDIRECTS' };
      if (!visit.isStart && !this.belongs(target, visit.depth)) return { type: 'refused', outcome: 'redirected' };
      if (this.isForbidden(target)) return { type: 'refused', outcome: 'robots' };
      url = target;
    }
  }

  /** Where a redirect or a quick meta refresh leads. */
  private targetOf(url: string): string | null {
    const resource = this.at(url);
    if (resource?.type === 'redirect') return absolute(resource.to, url);
    if (resource?.type !== 'page' || resource.refresh === undefined || resource.refresh.seconds > 5) return null;
    const target = absolute(resource.refresh.to, url);
    return target === url ? null : target;
  }

  private read(url: string): Arrival {
    const resource = this.at(url);
    const document = (status: number): Arrival => ({ type: 'document', url, status, texts: [], links: [] });
    switch (resource?.type) {
      case undefined:
        return document(404);
      case 'page':
        return this.readPage(url, resource);
      case 'busy':
        return resource.times < MAX_ATTEMPTS
          ? this.readPage(url, resource.page)
          : { type: 'failed', code: 'SCRAPE_SITE_ERROR' };
      case 'error':
        return document(resource.status);
      case 'file':
        return this.readFile(url, resource);
      default:
        return document(200);
    }
  }

  private readPage(url: string, page: Page): Arrival {
    if (page.isScripted === true && !this.hasBrowser) return { type: 'failed', code: 'SCRAPE_EMPTY' };
    return { type: 'document', url, status: 200, texts: textsOf(url, page), links: followedLinks(url, page) };
  }

  private readFile(url: string, { contentType, body, links = [] }: Extract<Resource, { type: 'file' }>): Arrival {
    if (!READABLE.test(contentType)) return { type: 'failed', code: 'SCRAPE_UNSUPPORTED_FILE_ERROR' };
    if (body.byteLength === 0) return { type: 'failed', code: 'SCRAPE_EMPTY' };
    return { type: 'document', url, status: 200, texts: [], links: absoluteLinks(links, url) };
  }

  // ---- discovery

  private discover(target: string, depth: number, finder: Visit | 'sitemap'): void {
    const url = this.rules.ignoreQueryParameters === true ? withoutQuery(target) : target;
    if (!this.belongs(url, depth)) return;
    const key = identity(url, this.rules);
    const known = this.known.get(key);
    if (known !== undefined) return this.checkOrder(known, { url, depth, finder });
    this.known.set(key, { url, depth, finder });
    this.queue.push({ url, depth, finder: finder === 'sitemap' ? null : finder, isStart: false });
  }

  private checkOrder(known: Known, again: Known): void {
    const isSame =
      known.url === again.url && (this.rules.maxDiscoveryDepth === undefined || known.depth === again.depth);
    const isCertain =
      again.finder === 'sitemap' ? known.finder === again.finder : isCertainlyBefore(known, again.finder as Visit);
    if (!isSame && !isCertain) throw new AmbiguousSiteError(`${again.url} is found twice, in no certain order`);
  }

  private belongs(url: string, depth: number): boolean {
    const isStart = identity(url, this.rules) === identity(this.base, this.rules);
    return isStart || isInScope(url, depth, this.base, this.rules);
  }

  // ---- robots.txt and sitemaps

  private isForbidden(url: string): boolean {
    const { origin, pathname, search } = new URL(url);
    const robots = this.at(`${origin}/robots.txt`);
    if (robots?.type !== 'robots') return false;
    const isForbidden = forbids(robots, this.agent, pathname + search);
    if (isForbidden) this.expectation.forbidden.add(url);
    return isForbidden;
  }

  private readSitemaps(): void {
    const robots = this.at(new URL('/robots.txt', this.base).href);
    const announced = robots?.type === 'robots' ? (robots.sitemaps ?? []) : [];
    const isGuess = announced.length === 0;
    const files = isGuess ? [new URL('/sitemap.xml', this.base).href] : [...announced];
    const read = new Set<string>();
    for (let file = files.shift(); file !== undefined; file = files.shift()) {
      if (read.has(file)) continue;
      read.add(file);
      const resource = this.at(file);
      if (resource?.type === 'sitemap') this.readSitemap(file, resource, files);
      else if (!isGuess) this.expectation.brokenSitemaps.add(file);
    }
  }

  private readSitemap(file: string, { urls = [], files = [], damage }: Sitemap, pending: string[]): void {
    if (damage !== undefined) this.expectation.brokenSitemaps.add(file);
    if (damage === 'noise') return;
    pending.push(...files);
    for (const url of urls) {
      const target = absolute(url, file);
      if (target !== null) this.discover(target, 0, 'sitemap');
    }
  }

  private at(url: string): Resource | undefined {
    const { origin, pathname, search } = new URL(url);
    return this.site.resources[this.site.origins.indexOf(origin)]?.[pathname + search];
  }
}

/** Longest matching rule of the most specific group wins; a tie allows. */
function forbids({ groups }: Robots, agent: string, path: string): boolean {
  const named = groups.filter((group) => group.agent.toLowerCase() === agent);
  const chosen = named.length > 0 ? named : groups.filter((group) => group.agent === '*');
  const longest = (rules: string[]): number =>
    Math.max(-1, ...rules.filter((rule) => path.startsWith(rule)).map((rule) => rule.length));
  const allow = longest(chosen.flatMap((group) => group.allow ?? []));
  return longest(chosen.flatMap((group) => group.disallow ?? [])) > allow;
}

/** Whatever is fetched at the same time, `known` was known when `visit` ended. */
function isCertainlyBefore(known: Known, visit: Visit): boolean {
  if (known.finder === 'start') return true;
  for (let at: Visit | null = visit; at !== null; at = at.finder) if (at === known.finder) return true;
  return false;
}

function followedLinks(url: string, { links, robotsMeta = '', robotsTag = '', base }: Page): string[] {
  if (/nofollow|none/i.test(`${robotsMeta} ${robotsTag}`)) return [];
  return absoluteLinks(links.flatMap(followedHref), base === undefined ? url : new URL(base, url).href);
}

function absoluteLinks(hrefs: string[], base: string): string[] {
  return hrefs.flatMap((href) => (href.startsWith('#') ? [] : (absolute(href, base) ?? [])));
}

function followedHref(link: Link): string[] {
  if (typeof link === 'string') return [link];
  return /\bnofollow\b/.test(link.rel) ? [] : [link.href];
}

function textsOf(url: string, page: Page): string[] {
  const { pathname, search } = new URL(url);
  return [textOf(pathname + search), ...(page.foreign === undefined ? [] : [page.foreign.text])];
}
