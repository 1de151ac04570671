import type { SearchProvider } from './search-provider.js';

/** Settings that name a provider (docs/api/config.md). */
export interface SearchSettings {
  searchProvider?: 'none' | 'searxng';
  searxngUrl?: string;
}

export type OpenProvider = SearchProvider & { close(): Promise<void> };

/** The provider that the installation names; null: none. Its HTTP client is large, so it is not loaded without a provider. */
export async function createSearchProvider(settings: SearchSettings): Promise<OpenProvider | null> {
  const { searchProvider, searxngUrl } = settings;
  if (searchProvider === 'none' || searxngUrl === undefined) return null;
  const { SearxngProvider } = await import('./searxng.provider.js');
  return new SearxngProvider(searxngUrl);
}
