/** A short, polite breadth-first walk for sites that announce too little of themselves: ≤ 20 pages, ≤ 10 s. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FetchedPage } from '../pages/page-fetcher.js';
import type { LinkCollection } from './link-collection.js';
import { readTexts } from './page-texts.js';
import type { FeedArticle } from './sitemap-finder.js';

export interface SiteWalkOptions {
  links: LinkCollection;
  isEnough(): boolean;
  fetchPage(url: string, budgetMs: number): Promise<FetchedPage>;
  fetchFeed(url: string): Promise<FeedArticle[]>;
  /** Least time from page start to page start. */
  gapMs: number;
  endsAt: number;
  signal: AbortSignal;
}

const MAX_PAGES = 20;
const MAX_FEEDS = 3;
const MAX_WALK_MS = 10_000;
/** Where sites keep feeds that they do not announce; asked one after another until one is there. */
const USUAL_FEEDS = ['/feed', '/rss.xml', '/atom.xml', '/feed.xml', '/index.xml'];

export class SiteWalk {
  private readonly endsAt: number;

  constructor(private readonly options: SiteWalkOptions) {
    this.endsAt = Math.min(options.endsAt, performance.now() + MAX_WALK_MS);
  }

  /** Adds what it finds. Pages and feeds that fail are passed over. */
  async run(base: string, announcedFeeds: string[]): Promise<void> {
    if (announcedFeeds.length > 0) await this.readFeeds(announcedFeeds);
    else await this.guessFeed(base);
    const walked = new Set([base]);
    for (let page = 0; page < MAX_PAGES && this.goesOn(); page++) {
      const next = this.options.links.nextBut(walked);
      if (next === null) return;
      walked.add(next);
      const startedAt = performance.now();
      await this.readPage(next);
      await this.rest(startedAt + this.options.gapMs - performance.now());
    }
  }

  private goesOn(): boolean {
    return performance.now() < this.endsAt && !this.options.signal.aborted && !this.options.isEnough();
  }

  private async readFeeds(feeds: string[]): Promise<void> {
    for (const feed of [...new Set(feeds)].slice(0, MAX_FEEDS)) {
      if (this.goesOn()) await this.readFeed(feed);
    }
  }

  private async guessFeed(base: string): Promise<void> {
    for (const path of USUAL_FEEDS) {
      if (!this.goesOn() || (await this.readFeed(new URL(path, base).href))) return;
    }
  }

  /** True when there was something in it. */
  private async readFeed(feed: string): Promise<boolean> {
    const articles = await this.options.fetchFeed(feed);
    await this.options.links.addArticles(articles, feed);
    return articles.length > 0;
  }

  private async readPage(url: string): Promise<void> {
    try {
      const page = await this.options.fetchPage(url, Math.max(1, this.endsAt - performance.now()));
      await this.options.links.addPage(url, page, readTexts(page));
    } catch {
      // A page that cannot be read stays a link.
    }
  }

  private async rest(ms: number): Promise<void> {
    if (ms > 0) await sleep(ms, undefined, { signal: this.options.signal }).catch(() => undefined);
  }
}
