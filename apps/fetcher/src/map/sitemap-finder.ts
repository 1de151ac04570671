/** Sitemaps of a site: those that robots.txt names, `/sitemap.xml`, and the files their indexes lead to. */
import { canonicalize, SitemapReader } from '@troupe/frontier';
import { MAX_SITEMAP_BYTES, readSitemap } from '../kickoff/sitemap-source.js';
import type { RobotsRules } from '../robots/robots-rules.js';
import type { ExpressFetch } from '../slots/express-fetch.js';

export interface FinderRequest {
  headers: Record<string, string>;
  endsAt: number;
  signal: AbortSignal;
}

const MAX_FILES = 50;
const PARALLEL_FILES = 4;
const MAX_FEED_BYTES = 5 * 1024 * 1024;

export class SitemapFinder {
  constructor(
    private readonly fetch: Pick<ExpressFetch, 'get'>,
    private readonly robots: Pick<RobotsRules, 'describe'>,
  ) {}

  /** Addresses as written. Files that cannot be read count for nothing. */
  async collect(url: string, request: FinderRequest & { maxItems: number }): Promise<string[]> {
    const { file } = await this.robots.describe(url);
    const search = new FileSearch([...file.sitemaps, new URL('/sitemap.xml', url).href]);
    for (let files = search.take(PARALLEL_FILES); files.length > 0; files = search.take(PARALLEL_FILES)) {
      await Promise.all(files.map((address) => this.#readInto(search, address, request)));
      if (search.found.length >= request.maxItems || request.signal.aborted) break;
    }
    return search.found.slice(0, request.maxItems);
  }

  /** Addresses of the articles of an RSS or Atom feed. */
  async feed(url: string, request: FinderRequest): Promise<string[]> {
    const body = await this.#get(url, MAX_FEED_BYTES, request);
    if (body === null) return [];
    const reader = new SitemapReader();
    return [...reader.write(Buffer.from(body).toString('utf8')), ...reader.end()].map(({ loc }) => loc);
  }

  async #readInto(search: FileSearch, address: string, request: FinderRequest & { maxItems: number }): Promise<void> {
    const body = await this.#get(address, MAX_SITEMAP_BYTES, request);
    if (body === null) return;
    for await (const { items } of readSitemap(body)) {
      for (const { type, loc } of items) {
        if (type === 'sitemap') search.offer(loc, address);
        else search.found.push(loc);
      }
      if (search.found.length >= request.maxItems) return;
    }
  }

  /** null for whatever cannot be read in time. */
  async #get(url: string, maxBytes: number, { headers, endsAt, signal }: FinderRequest): Promise<Uint8Array | null> {
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
        robots: null,
      });
      return statusCode < 400 ? body : null;
    } catch {
      return null;
    }
  }
}

/** Files still to read, each once, and what the others held. */
class FileSearch {
  readonly found: string[] = [];
  readonly #seen = new Set<string>();
  readonly #queue: string[] = [];

  constructor(files: string[]) {
    for (const file of files) this.offer(file);
  }

  offer(address: string, base?: string): void {
    const url = canonicalize(address, base);
    if (url === null || this.#seen.has(url) || this.#seen.size >= MAX_FILES) return;
    this.#seen.add(url);
    this.#queue.push(url);
  }

  take(count: number): string[] {
    return this.#queue.splice(0, count);
  }
}
