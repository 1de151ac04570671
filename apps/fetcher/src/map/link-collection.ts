import type { MapLink } from '@troupe/contracts';
import { TimeSlice } from '@troupe/observability';
import type { FetchedPage } from '../pages/page-fetcher.js';
import type { MapScope } from './map-scope.js';
import { bestLinks, type LinkSearch } from './map-search.js';
import type { PageTexts } from './page-texts.js';
import type { FeedArticle } from './sitemap-finder.js';

/** Kept in memory for one map, however many links a site has and however long they are. */
const MAX_LINKS = 100_000;
const MAX_CHARS = 32 * 1024 * 1024;

/** Addresses that are judged together. */
const PART = 2_000;

interface Known {
  link: MapLink;
  /** 0: no match of the search. */
  rank: number;
}

/** Links of a map, each once, in the order they were found; titles come with the pages that were read. */
export class LinkCollection {
  private readonly known = new Map<string, Known>();
  private start: Known | null = null;
  private chars = 0;
  private matchCount = 0;

  constructor(
    private readonly scope: MapScope,
    /** null: every link is wanted. */
    private readonly search: LinkSearch | null,
  ) {}

  /** Links so far. */
  get size(): number {
    return this.known.size;
  }

  /** Links so far that match the search. */
  get matches(): number {
    return this.matchCount;
  }

  get isFull(): boolean {
    return this.known.size >= MAX_LINKS || this.chars >= MAX_CHARS;
  }

  /** The page that is listed first, if it belongs to the map. */
  async addStart(url: string): Promise<void> {
    await this.scope.judge([url]);
    this.start = this.take(url);
  }

  add(text: string, base?: string): void {
    if (!this.isFull) this.take(text, base);
  }

  async addAll(texts: Iterable<string>, base?: string): Promise<void> {
    const slice = new TimeSlice();
    for (const part of partsOf(texts)) {
      await this.scope.judge(part, base);
      for (const text of part) {
        this.add(text, base);
        if (slice.isOver) await slice.next();
      }
    }
  }

  /** Adds the articles of a feed, in the feed's words until the page itself is read. */
  async addArticles(articles: readonly FeedArticle[], base: string): Promise<void> {
    const slice = new TimeSlice();
    await this.scope.judge(
      articles.map(({ url }) => url),
      base,
    );
    for (const { url, title } of articles) {
      if (this.isFull) return;
      const known = this.take(url, base);
      if (known !== null && known.link.title === undefined) this.describe(known, { title, description: null });
      if (slice.isOver) await slice.next();
    }
  }

  /** A page that was read, and what it links to. An error page lends neither its title nor its links. */
  async addPage(url: string, page: FetchedPage, texts: PageTexts): Promise<void> {
    if (page.statusCode >= 400) return;
    await this.scope.judge([url]);
    const known = this.take(url);
    if (known !== null) this.describe(known, texts);
    await this.addAll(page.outlinks.map((link) => link.url));
  }

  /** The first link on the site's own host that `done` does not hold. */
  nextBut(done: ReadonlySet<string>): string | null {
    for (const { link } of this.known.values()) if (!done.has(link.url) && this.scope.isHome(link.url)) return link.url;
    return null;
  }

  *urls(): Generator<string> {
    for (const { link } of this.known.values()) yield link.url;
  }

  /** The links of the answer: the start first, or the best matches of the search first. */
  async best(count: number): Promise<MapLink[]> {
    if (this.search !== null) return bestLinks(this.known.values(), count);
    const first = this.start?.link;
    const links = first === undefined ? [] : [first];
    for (const { link } of this.known.values()) {
      if (links.length >= count) break;
      if (link !== first) links.push(link);
    }
    return links;
  }

  /** Adds the link, and returns what is known of it; null when it does not belong to the map. */
  private take(text: string, base?: string): Known | null {
    const accepted = this.scope.accept(text, base);
    if (accepted === null) return null;
    const old = this.known.get(accepted.key);
    if (old !== undefined) return old;
    const link = { url: accepted.url };
    const known = { link, rank: this.rank(link) };
    this.known.set(accepted.key, known);
    this.chars += accepted.url.length;
    if (known.rank > 0) this.matchCount++;
    return known;
  }

  private rank(link: MapLink): number {
    return this.search === null ? 1 : this.search.rank(link);
  }

  private describe(known: Known, { title, description }: Pick<PageTexts, 'title' | 'description'>): void {
    if (title !== null) known.link.title = title;
    if (description !== null) known.link.description = description;
    const before = known.rank;
    known.rank = this.rank(known.link);
    if (before === 0 && known.rank > 0) this.matchCount++;
  }
}

function* partsOf(texts: Iterable<string>): Generator<string[]> {
  let part: string[] = [];
  for (const text of texts) {
    part.push(text);
    if (part.length < PART) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}
