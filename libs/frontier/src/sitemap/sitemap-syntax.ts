/** Longer addresses are passed over. */
export const MAX_LOC_CHARS = 2048;
/** Longer titles are cut. */
export const MAX_TITLE_CHARS = 500;

export interface SitemapItem {
  /** `sitemap`: another file to read. */
  type: 'url' | 'sitemap';
  /** As written, trimmed; not yet resolved or canonical. */
  loc: string;
  /** An article of a feed, whose address may be relative to the feed; those of sitemaps must be absolute. */
  inFeed?: true;
  /** Title of the article, where a feed gives one. */
  title?: string;
}

/** One syntax of sitemaps: fed with pieces of text, it reports what it finds to the function it was made with. */
export interface SitemapSyntax {
  readonly broken: boolean;
  write(text: string): void;
  end(): void;
}
