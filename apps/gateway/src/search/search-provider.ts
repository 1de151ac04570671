/** `SearchProvider` of the installation; null: none is configured. */
export const SEARCH_PROVIDER = Symbol('search provider');
