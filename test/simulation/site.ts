/** Small random sites with known graphs: what an independent walk says must come out of a crawl. */
import { type Random } from '@troupe/actors';
import type { ScopeSpec } from '@troupe/contracts';

export interface SimPage {
  url: string;
  links: string[];
  /** Links to other sites. */
  external: string[];
  kind: 'ok' | 'robots' | 'broken';
  /** Answers with an error this many times before it is well. */
  flaky: number;
  redirectTo: string | null;
}

export interface SimSite {
  host: string;
  base: string;
  pages: Map<string, SimPage>;
  /** Chunks of the one sitemap file. */
  sitemap: string[][];
  /** URLs of pages that no page and no sitemap names; some link to one another. */
  forgotten: string[];
  /** Text of its robots.txt. */
  robots: string;
}

const HOSTS = ['site.test', 'second.test', 'third.test'];

export class SimWeb {
  readonly sites: SimSite[];
  private readonly pages = new Map<string, SimPage>();

  constructor(random: Random, count: number) {
    this.sites = HOSTS.slice(0, count).map((host, i) => makeSite(random, host, i === 0));
    for (const site of this.sites) {
      for (const page of site.pages.values()) {
        this.pages.set(page.url, page);
        const others = this.sites.filter((other) => other !== site);
        if (others.length > 0 && page.kind === 'ok' && random.chance(0.2)) page.external.push(random.pick(others).base);
      }
    }
  }

  page(url: string): SimPage {
    return this.pages.get(url)!;
  }

  /** What a request for it ends at. */
  target({ redirectTo, url }: SimPage): SimPage {
    return this.page(redirectTo ?? url);
  }

  site(host: string): SimSite {
    return this.sites.find((site) => site.host === host)!;
  }

  get urls(): string[] {
    return [...this.pages.keys()];
  }
}

/** What a reader sees of a page. */
export function textOf(url: string): string {
  return `the page ${url}`;
}

export function storedText(url: string): string {
  return Buffer.from(textOf(url)).toString('base64');
}

/** Without patterns; `isWide`: links to other sites count. */
export function scopeOf(base: string, isWide: boolean): ScopeSpec {
  return {
    base,
    version: 0,
    includePaths: [],
    excludePaths: [],
    regexOnFullUrl: false,
    maxDepth: null,
    maxPathDepth: null,
    entireDomain: true,
    allowExternalLinks: isWide,
    allowSubdomains: false,
    ignoreQueryParameters: false,
    deduplicateSimilarUrls: false,
    sitemap: 'include',
  };
}

function makeSite(random: Random, host: string, isFirst: boolean): SimSite {
  const base = `http://${host}/`;
  const count = isFirst ? random.int(8, 26) : random.int(4, 14);
  const pages = new Map<string, SimPage>();
  const islands = Math.max(2, Math.floor(count / 5));
  const urls = Array.from({ length: count }, () => random.next()).map((roll, i) => urlOf(base, i, roll));
  urls.forEach((url, i) => {
    const island = i >= count - islands;
    const links = new Set<string>();
    // A tree over the mainland keeps everything reachable; islands are reached by sitemap only.
    for (const child of [2 * i + 1, 2 * i + 2]) if (child < count - islands) links.add(urls[child]!);
    for (let k = random.int(0, 3); k > 0; k--) links.add(urls[random.int(0, count - islands - 1)]!);
    if (island) links.clear();
    const roll = i === 0 ? 1 : random.next();
    const kind = url.includes('/private/') ? 'robots' : roll < 0.05 ? 'broken' : 'ok';
    pages.set(url, {
      url,
      links: [...links],
      external: [],
      kind,
      flaky: kind === 'ok' && roll > 0.1 && roll < 0.2 ? random.int(1, 2) : 0,
      redirectTo: kind === 'ok' && roll > 0.9 && i > 2 && !island ? urls[random.int(1, i - 1)]! : null,
    });
  });
  // What a redirect leads to is a plain page: then what a crawl finds does not depend on its order.
  for (const page of pages.values()) {
    const target = page.redirectTo === null ? null : pages.get(page.redirectTo)!;
    if (target !== null && (target.kind !== 'ok' || target.redirectTo !== null)) page.redirectTo = null;
  }
  const inSitemap = urls.slice(count - islands).concat(urls.slice(0, 3));
  const middle = Math.ceil(inSitemap.length / 2);
  return {
    host,
    base,
    pages,
    sitemap: [inSitemap.slice(0, middle), inSitemap.slice(middle)],
    forgotten: isFirst ? addForgotten(random, base, pages) : [],
    robots: `User-agent: *\nDisallow: /private/\nAllow: /private/*.open$\nSitemap: ${base}sitemap.xml\n`,
  };
}

function urlOf(base: string, i: number, roll: number): string {
  if (i === 0) return base;
  return roll < 0.06 ? `${base}private/${i}` : `${base}p/${i}`;
}

function addForgotten(random: Random, base: string, pages: SimSite['pages']): string[] {
  const forgotten = Array.from({ length: random.int(0, 4) }, (_, i) => `${base}old/${i}`);
  forgotten.forEach((url, i) => {
    const links = [`${base}new/${i}`, forgotten[(i + 1) % forgotten.length]!, base].filter(() => random.chance(0.5));
    const plain = { kind: 'ok', flaky: 0, redirectTo: null, external: [] } as const;
    pages.set(url, { ...plain, external: [], url, links });
    pages.set(`${base}new/${i}`, { ...plain, external: [], url: `${base}new/${i}`, links: [] });
  });
  return forgotten;
}

export interface Walk {
  base: string;
  isWide: boolean;
  ignoresRobots: boolean;
  /** Of histories. */
  tracked: readonly string[];
  /** Pages whose tries were used up: nobody saw their links. */
  lost: ReadonlySet<string>;
}

export interface Found {
  /** Whatever the crawl has to know of. */
  discovered: Set<string>;
  /** Addresses at which documents are stored. */
  stored: Set<string>;
  failed: Set<string>;
  forbidden: Set<string>;
  /** Links that were left out. */
  excluded: Set<string>;
}

/** A full crawl: reachable by links from good pages, or named by the sitemap or by histories. */
export function walk(web: SimWeb, { base, isWide, ignoresRobots, tracked, lost }: Walk): Found {
  const site = web.site(new URL(base).host);
  const found: Found = {
    discovered: new Set([base, ...site.sitemap.flat(), ...tracked]),
    stored: new Set(),
    failed: new Set(),
    forbidden: new Set(),
    excluded: new Set(),
  };
  const queue = [...found.discovered];
  const discover = (url: string): void => {
    if (found.discovered.has(url)) return;
    found.discovered.add(url);
    queue.push(url);
  };
  for (let url = queue.shift(); url !== undefined; url = queue.shift()) {
    const page = web.page(url);
    if (page.kind === 'robots' && !ignoresRobots) found.forbidden.add(url);
    else if (page.kind === 'broken' || lost.has(url)) found.failed.add(url);
    else {
      const target = web.target(page);
      found.discovered.add(target.url);
      if (!lost.has(target.url)) found.stored.add(target.url);
      for (const link of target.links) discover(link);
      for (const link of target.external) {
        if (isWide) discover(link);
        else found.excluded.add(link);
      }
    }
  }
  return found;
}
