/** A small random site with a known graph: what an independent walk says must come out of a crawl. */
import type { Random } from '@troupe/actors';

export interface SimPage {
  url: string;
  links: string[];
  kind: 'ok' | 'robots' | 'broken';
  /** Answers with an error this many times before it is well. */
  flaky: number;
  redirectTo: string | null;
}

export interface SimSite {
  base: string;
  pages: Map<string, SimPage>;
  /** Chunks of the one sitemap file. */
  sitemap: string[][];
  /** URLs of pages that no page and no sitemap names; some link to one another. */
  forgotten: string[];
}

export function makeSite(random: Random, count: number): SimSite {
  const base = 'http://site.test/';
  const urlOf = (i: number) => (i === 0 ? base : `${base}p/${i}`);
  const pages = new Map<string, SimPage>();
  const islands = Math.max(2, Math.floor(count / 5));
  for (let i = 0; i < count; i++) {
    const island = i >= count - islands;
    const links = new Set<string>();
    // A tree over the mainland keeps everything reachable; islands are reached by sitemap only.
    for (const child of [2 * i + 1, 2 * i + 2]) if (child < count - islands) links.add(urlOf(child));
    for (let k = random.int(0, 3); k > 0; k--) links.add(urlOf(random.int(0, count - islands - 1)));
    if (island) links.clear();
    const roll = i === 0 ? 1 : random.next();
    pages.set(urlOf(i), {
      url: urlOf(i),
      links: [...links],
      kind: roll < 0.06 ? 'robots' : roll < 0.1 ? 'broken' : 'ok',
      flaky: roll > 0.1 && roll < 0.2 ? random.int(1, 2) : 0,
      redirectTo: roll > 0.9 && i > 2 && !island ? urlOf(random.int(1, i - 1)) : null,
    });
  }
  // What a redirect leads to is a plain page: then what a crawl finds does not depend on its order.
  for (const page of pages.values()) {
    const target = page.redirectTo === null ? null : pages.get(page.redirectTo)!;
    if (target !== null && (target.kind !== 'ok' || target.redirectTo !== null)) page.redirectTo = null;
  }
  const inSitemap = [...pages.keys()].slice(count - islands).concat([...pages.keys()].slice(0, 3));
  const middle = Math.ceil(inSitemap.length / 2);
  const forgotten = Array.from({ length: random.int(0, 4) }, (_, i) => `${base}old/${i}`);
  forgotten.forEach((url, i) => {
    const links = [`${base}new/${i}`, forgotten[(i + 1) % forgotten.length]!, base].filter(() => random.chance(0.5));
    const plain = { kind: 'ok', flaky: 0, redirectTo: null } as const;
    pages.set(url, { ...plain, url, links });
    pages.set(`${base}new/${i}`, { ...plain, url: `${base}new/${i}`, links: [] });
  });
  return { base, pages, sitemap: [inSitemap.slice(0, middle), inSitemap.slice(middle)], forgotten };
}

/**
 * Final pages of a full crawl: reachable by links from ok pages, or named by the sitemap or by histories.
 * @param lost pages whose tries were used up: nobody saw their links
 */
export function expectedPages(
  site: SimSite,
  lost: ReadonlySet<string> = new Set(),
  tracked: readonly string[] = [],
): { ok: Set<string>; failed: Set<string>; discovered: Set<string> } {
  const discovered = new Set<string>([site.base, ...site.sitemap.flat(), ...tracked]);
  const ok = new Set<string>();
  const failed = new Set<string>();
  const queue = [...discovered];
  for (let url = queue.shift(); url !== undefined; url = queue.shift()) {
    const page = site.pages.get(url)!;
    if (page.kind === 'robots') continue;
    if (page.kind === 'broken' || lost.has(url)) {
      failed.add(url);
      continue;
    }
    const target = page.redirectTo === null ? page : site.pages.get(page.redirectTo)!;
    const known = page.redirectTo !== null && discovered.has(page.redirectTo);
    if (page.redirectTo !== null && !known) discovered.add(page.redirectTo);
    if (!known) ok.add(page.redirectTo ?? url);
    for (const link of known ? [] : target.links) {
      if (discovered.has(link)) continue;
      discovered.add(link);
      queue.push(link);
    }
  }
  return { ok, failed, discovered };
}
