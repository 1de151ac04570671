import type { Metrics } from '@troupe/observability';

/** What the cache of pages is good for. */
export function cacheCounts(metrics: Metrics): (result: 'hit' | 'miss' | 'away') => void {
  const naming = {
    name: 'troupe_cache_lookups_total',
    help: 'Pages that the cache was asked for; away: it did not answer',
  } as const;
  const lookups = metrics.counterOf(naming, 'result', ['hit', 'miss', 'away']);
  return (result) => lookups.inc(result);
}
