import type { SearchProvider } from './search-provider.js';
import { SearxngProvider } from './searxng.provider.js';

/** Settings that name a provider (spec/config.md). */
export interface SearchSettings {
  searchProvider?: 'none' | 'searxng';
  searxngUrl?: string;
}

export type OpenProvider = SearchProvider & { close(): Promise<void> };

/** The provider that the installation names; null: none. */
export function createSearchProvider({ searchProvider, searxngUrl }: SearchSettings): OpenProvider | null {
  return searchProvider === 'none' || searxngUrl === undefined ? null : new SearxngProvider(searxngUrl);
}
