import type { Metrics } from '@troupe/observability';
import type { PageCacheParts } from './page-cache.js';

/** Counts hits, misses and failures of the page cache. */
export function cacheCounts(metrics: Metrics): Required<Pick<PageCacheParts, 'onLookUp' | 'onConfirm'>> {
  const naming = {
    name: 'troupe_cache_lookups_total',
    help: 'Pages that the cache was asked for; away: it did not answer',
  } as const;
  const lookups = metrics.counterOf(naming, 'result', ['hit', 'miss', 'away']);
  const confirmed = metrics.counter({
    name: 'troupe_cache_revalidated_total',
    help: 'Pages of the cache that were too old and of which their site said that they have not changed',
  });
  return { onLookUp: (result) => lookups.inc(result), onConfirm: () => confirmed.inc() };
}

/** Counts scrapes that had their page from another one. */
export function flightCounts(metrics: Metrics): () => void {
  const shared = metrics.counter({
    name: 'troupe_scrapes_shared_total',
    help: 'Scrapes that were given the page of another scrape, under way or just ended',
  });
  return () => shared.inc();
}
