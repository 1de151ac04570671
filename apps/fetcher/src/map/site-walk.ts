/** A short, polite breadth-first walk for sites that announce too little of themselves: ≤ 20 pages, ≤ 10 s. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FetchedPage } from '../pages/page-fetcher.js';
import type { LinkCollection } from './link-collection.js';

export interface SiteWalkOptions {
  links: LinkCollection;
  isEnough(): boolean;
  fetchPage(url: string, budgetMs: number): Promise<FetchedPage>;
  fetchFeed(url: string): Promise<string[]>;
  /** Least time from page start to page start. */
  gapMs: number;
  endsAt: number;
  signal: AbortSignal;
}

const MAX_PAGES = 20;
const MAX_FEEDS = 3;
const MAX_WALK_MS = 10_000;

export class SiteWalk {
  readonly #endsAt: number;

  constructor(private readonly options: SiteWalkOptions) {
    this.#endsAt = Math.min(options.endsAt, performance.now() + MAX_WALK_MS);
  }

  /** Adds what it finds. Pages that fail are passed over. */
  async run(base: string, start: FetchedPage): Promise<void> {
    await this.#readFeeds(base, start);
    const walked = new Set([base]);
    for (let page = 0; page < MAX_PAGES && this.#goesOn(); page++) {
      const next = this.options.links.list().find(({ url }) => !walked.has(url));
      if (next === undefined) return;
      walked.add(next.url);
      const startedAt = performance.now();
      await this.#readPage(next.url);
      await this.#rest(startedAt + this.options.gapMs - performance.now());
    }
  }

  #goesOn(): boolean {
    return performance.now() < this.#endsAt && !this.options.signal.aborted && !this.options.isEnough();
  }

  async #readFeeds(base: string, start: FetchedPage): Promise<void> {
    for (const feed of feedsOf(base, start).slice(0, MAX_FEEDS)) {
      if (!this.#goesOn()) return;
      for (const url of await this.options.fetchFeed(feed)) this.options.links.add(url, feed);
    }
  }

  async #readPage(url: string): Promise<void> {
    try {
      this.options.links.addPage(url, await this.options.fetchPage(url, Math.max(1, this.#endsAt - performance.now())));
    } catch {
      // A page that cannot be read stays a link.
    }
  }

  async #rest(ms: number): Promise<void> {
    if (ms > 0) await sleep(ms, undefined, { signal: this.options.signal }).catch(() => undefined);
  }
}

const FEED_LINK = /<link\b[^>]*\btype\s*=\s*["']?application\/(?:rss|atom)\+xml[^>]*>/gi;

/** Feeds that the page's head announces, absolute. */
function feedsOf(base: string, page: FetchedPage): string[] {
  const { rawHtml } = JSON.parse(Buffer.from(page.document).toString('utf8')) as { rawHtml?: string };
  const tags = (rawHtml ?? '').match(FEED_LINK) ?? [];
  const hrefs = tags.map((tag) => /\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))/i.exec(tag));
  return hrefs.flatMap((match) => {
    const url =
      match === null ? null : URL.parse((match[1] ?? match[2] ?? match[3] ?? '').replaceAll('&amp;', '&'), base);
    return url === null ? [] : [url.href];
  });
}
