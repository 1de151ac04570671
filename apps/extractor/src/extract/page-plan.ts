/** The pages that an extract job reads, as work for jobs that fetch them. Pure. */
import type { ActorKey, BatchSpec, CrawlSpec, ExtractSpec } from '@troupe/contracts';
import { canonicalize, hostKey } from '@troupe/frontier';

/** Pages below an address, found by following links. */
export interface SitePlan {
  kind: 'crawl';
  /** Canonical. */
  url: string;
  limit: number;
  /** null: any number of hops. */
  maxDepth: number | null;
}

/** Pages that are known. */
export interface ListPlan {
  kind: 'batch';
  /** Each once, in the order in which their facts shall stand. */
  urls: string[];
}

export type ChildPlan = SitePlan | ListPlan;

/** The record of a plan. It is made before anything is started, so that a second try starts the same jobs. */
export interface PagePlan {
  children: ChildPlan[];
  warnings: string[];
}

export interface Entries {
  pages: string[];
  /** Addresses whose sub-pages are all wanted. */
  sites: string[];
}

/** Ends an entry that means the pages below it. */
const WILDCARD = /\/\*$/;

export function entriesOf({ urls }: Pick<ExtractSpec, 'urls'>): Entries {
  const sites = urls.filter((url) => WILDCARD.test(url)).map((url) => url.replace(WILDCARD, '/'));
  return { pages: urls.filter((url) => !WILDCARD.test(url)), sites };
}

/** Addresses that can be fetched: each page once, in its first spelling. */
export function distinctPages(urls: readonly string[]): string[] {
  const pages = new Map<string, string>();
  for (const url of urls) {
    const canonical = canonicalize(url);
    if (canonical !== null && !pages.has(canonical)) pages.set(canonical, url);
  }
  return [...pages.values()];
}

export type ChildOrder =
  { kind: 'crawl'; spec: CrawlSpec } | { kind: 'batch'; spec: BatchSpec; urls: { url: string; host: string }[] };

/** The job that carries a plan out for `parent`. */
export function childOrder(plan: ChildPlan, asked: ExtractSpec, parent: ActorKey): ChildOrder {
  if (plan.kind === 'crawl') return { kind: 'crawl', spec: crawlSpec(plan, asked, parent) };
  const urls = plan.urls.flatMap((url) => {
    const canonical = canonicalize(url);
    return canonical === null ? [] : [{ url, host: hostKey(canonical) }];
  });
  const spec: BatchSpec = { maxConcurrency: null, scrape: asked.scrape, webhook: null, parent };
  return { kind: 'batch', spec, urls };
}

function crawlSpec({ url, limit, maxDepth }: SitePlan, asked: ExtractSpec, parent: ActorKey): CrawlSpec {
  return {
    url,
    scope: {
      base: url,
      version: 0,
      includePaths: [],
      excludePaths: [],
      regexOnFullUrl: false,
      maxDepth,
      maxPathDepth: null,
      entireDomain: false,
      allowExternalLinks: asked.allowExternalLinks,
      allowSubdomains: asked.includeSubdomains,
      ignoreQueryParameters: false,
      deduplicateSimilarUrls: true,
      sitemap: asked.ignoreSitemap || maxDepth !== null ? 'skip' : 'include',
    },
    limit,
    delayMs: 0,
    maxConcurrency: null,
    ignoreRobots: false,
    robotsAgent: null,
    scrape: asked.scrape,
    webhook: null,
    parent,
  };
}
