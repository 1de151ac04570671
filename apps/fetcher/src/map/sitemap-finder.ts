/** Sitemaps of a site: those that robots.txt names, `/sitemap.xml`, and the files their indexes lead to. */
import { Inject, Injectable } from '@nestjs/common';
import { canonicalize, type SitemapItem } from '@troupe/frontier';
import { ROBOTS_AGENT } from '../cluster/process.js';
import { MAX_SITEMAP_BYTES, readSitemap } from '../kickoff/sitemap-source.js';
import { RobotsRules } from '../robots/robots-rules.js';
import { ExpressFetch } from '../slots/express-fetch.js';

export interface FeedArticle {
  /** As written. */
  url: string;
  title: string | null;
}

export interface FinderRequest {
  headers: Record<string, string>;
  endsAt: number;
  signal: AbortSignal;
}

/** The URLs that one piece of a file names. */
export interface FoundUrls {
  /** Canonical. */
  urls: string[];
  /** Entries that are no absolute http(s) address. */
  unusable: number;
}

/** Resolves to whether more are wanted. */
export type TakeUrls = (found: FoundUrls) => Promise<boolean>;

/** Files read for one map. The protocol allows 50,000 URLs a file, but many sites cut theirs smaller. */
const MAX_FILES = 500;
const PARALLEL_FILES = 3;
const MAX_FEED_BYTES = 5 * 1024 * 1024;

@Injectable()
export class SitemapFinder {
  constructor(
    @Inject(ExpressFetch) private readonly fetch: Pick<ExpressFetch, 'get'>,
    @Inject(RobotsRules) private readonly robots: Pick<RobotsRules, 'describe' | 'rulesFor'>,
    /** Matched against robots.txt for files that it does not name itself. */
    @Inject(ROBOTS_AGENT) private readonly robotsAgent: string,
  ) {}

  /** True when any file named a URL. Files that cannot be read count for nothing. */
  async collect(url: string, request: FinderRequest, take: TakeUrls): Promise<boolean> {
    const { file } = await this.robots.describe(url);
    const search = new FileSearch(file.sitemaps, [new URL('/sitemap.xml', url).href]);
    let isFound = false;
    let isOver = false;
    const read = async (address: string): Promise<void> => {
      for await (const found of this.read(search, address, request)) {
        isFound ||= found.urls.length > 0;
        isOver ||= !(await take(found));
        if (isOver) return;
      }
    };
    for (let files = search.take(PARALLEL_FILES); files.length > 0; files = search.take(PARALLEL_FILES)) {
      await Promise.all(files.map(read));
      if (isOver || request.signal.aborted) break;
    }
    return isFound;
  }

  /** Articles of an RSS or Atom feed. */
  async feed(url: string, request: FinderRequest): Promise<FeedArticle[]> {
    const body = await this.get(url, { maxBytes: MAX_FEED_BYTES, isAnnounced: false }, request);
    const found: FeedArticle[] = [];
    if (body === null) return found;
    for await (const { items } of readSitemap(body))
      found.push(...items.map(({ loc, title = null }) => ({ url: loc, title })));
    return found;
  }

  private async *read(search: FileSearch, address: string, request: FinderRequest): AsyncGenerator<FoundUrls> {
    const isAnnounced = search.isAnnounced(address);
    const body = await this.get(address, { maxBytes: MAX_SITEMAP_BYTES, isAnnounced }, request);
    if (body === null) return;
    for await (const { items } of readSitemap(body)) {
      yield sortOut(items, address, (file) => search.enqueue(file));
      if (request.signal.aborted) return;
    }
  }

  /** null for a file that cannot be read in time. */
  private async get(
    url: string,
    { maxBytes, isAnnounced }: { maxBytes: number; isAnnounced: boolean },
    { headers, endsAt, signal }: FinderRequest,
  ): Promise<Uint8Array | null> {
    const timeoutMs = endsAt - performance.now();
    if (timeoutMs <= 0 || signal.aborted) return null;
    try {
      const { statusCode, body } = await this.fetch.get({
        url,
        headers,
        timeoutMs,
        maxBytes,
        skipTlsVerification: true,
        signal,
        // A file that robots.txt names is meant to be read, whatever its rules say about the path.
        robots: isAnnounced ? null : { agent: this.robotsAgent, rules: this.robots },
      });
      return statusCode < 400 ? body : null;
    } catch {
      return null;
    }
  }
}

function sortOut(items: readonly SitemapItem[], file: string, enqueue: (file: string) => void): FoundUrls {
  const found: FoundUrls = { urls: [], unusable: 0 };
  for (const { type, loc, inFeed } of items) {
    const url = canonicalize(loc, inFeed ? file : undefined);
    if (url === null) found.unusable++;
    else if (type === 'url') found.urls.push(url);
    else enqueue(url);
  }
  return found;
}

/** Files still to read, each once. */
class FileSearch {
  private readonly announced: Set<string>;
  private readonly seen = new Set<string>();
  private readonly queue: string[] = [];

  constructor(announced: readonly string[], guessed: readonly string[]) {
    for (const file of announced) this.enqueue(file);
    this.announced = new Set(this.seen);
    for (const file of guessed) this.enqueue(file);
  }

  isAnnounced(file: string): boolean {
    return this.announced.has(file);
  }

  enqueue(address: string): void {
    const url = canonicalize(address);
    if (url === null || this.seen.has(url) || this.seen.size >= MAX_FILES) return;
    this.seen.add(url);
    this.queue.push(url);
  }

  take(count: number): string[] {
    return this.queue.splice(0, count);
  }
}
