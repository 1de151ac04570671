/** A search in the model's words: no optionals, no defaults, no wire version. */
import { type ScrapeSpec } from '@troupe/contracts';
import { type SearchAge, type SearchSource } from '@troupe/search';

export type SearchCategory = 'github' | 'research' | 'pdf' | 'developer';

export interface SourceSpec {
  source: SearchSource;
  /** `en`, `en-US`; null: any. */
  language: string | null;
  maxAge: SearchAge | null;
}

export interface SearchSpec {
  query: string;
  /** Per source. */
  limit: number;
  sources: SourceSpec[];
  /** Empty: pages of every kind. */
  categories: SearchCategory[];
  /** Hosts with their subdomains; at most one of the lists is not empty. */
  includeDomains: string[];
  excludeDomains: string[];
  /** Results that would be refused to a scrape are left out. */
  dropsForbidden: boolean;
  /** The provider leaves explicit results out. */
  safe: boolean;
  /** null: results are not scraped. */
  scrape: ScrapeSpec | null;
  timeoutMs: number;
}
