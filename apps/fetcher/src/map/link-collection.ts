import type { MapLink } from '@troupe/contracts';
import type { FetchedPage } from '../pages/page-fetcher.js';
import type { MapScope } from './map-scope.js';

/** Links of a map, each once, in the order they were found; titles come with the pages that were read. */
export class LinkCollection {
  readonly #links = new Map<string, MapLink>();

  constructor(
    private readonly scope: MapScope,
    private readonly max: number,
  ) {}

  /** True when the link is new and belongs to the map. */
  add(text: string, base?: string): boolean {
    const accepted = this.scope.accept(text, base);
    if (accepted === null || this.#links.has(accepted.key) || this.#links.size >= this.max) return false;
    this.#links.set(accepted.key, { url: accepted.url });
    return true;
  }

  /** A page that was read, and what it links to. An error page lends neither its title nor its links. */
  addPage(url: string, page: FetchedPage | null): void {
    this.add(url);
    if (page === null || page.statusCode >= 400) return;
    this.#describe(url, page);
    for (const link of page.outlinks) this.add(link.url);
  }

  list(): MapLink[] {
    return [...this.#links.values()];
  }

  #describe(url: string, page: FetchedPage): void {
    const accepted = this.scope.accept(url);
    const link = accepted === null ? undefined : this.#links.get(accepted.key);
    if (link === undefined) return;
    const { title, description } = metadataOf(page);
    if (title !== null) link.title = title;
    if (description !== null) link.description = description;
  }
}

function metadataOf(page: FetchedPage): { title: string | null; description: string | null } {
  const { metadata } = JSON.parse(Buffer.from(page.document).toString('utf8')) as {
    metadata?: Record<string, unknown>;
  };
  return { title: text(metadata?.['title']) ?? page.title, description: text(metadata?.['description']) };
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}
