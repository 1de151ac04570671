export { createSearchProvider, type OpenProvider, type SearchSettings } from './create-provider.js';
export * from './search-provider.js';
