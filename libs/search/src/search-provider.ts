/** A provider that finds pages. This port is all that the search service knows of it. */

export type SearchSource = 'web' | 'news' | 'images';
export type SearchAge = 'day' | 'week' | 'month' | 'year';

export interface ProviderQuery {
  /** With operators such as `site:`. */
  text: string;
  source: SearchSource;
  /** `en`, `en-US`; null: any. */
  language: string | null;
  maxAge: SearchAge | null;
  /** Leaves out results that are not fit for all readers. */
  safe: boolean;
  /** From 1. */
  page: number;
}

export interface SearchHit {
  /** Absolute, http or https. */
  url: string;
  title: string;
  text: string;
  date: string | null;
  imageUrl: string | null;
  imageSize: { width: number; height: number } | null;
}

export interface SearchHits {
  hits: SearchHit[];
  /** Why there may be fewer hits than there should be. */
  warning: string | null;
}

export interface SearchProvider {
  /** One page of hits, best first; empty after the last. @throws TroupeError SEARCH_FAILED, or the signal's reason */
  search(query: ProviderQuery, signal: AbortSignal): Promise<SearchHits>;
}
