import type { Metrics } from '@troupe/observability';

/** What the cache of pages is good for. */
export function cacheCounts(metrics: Metrics): (result: 'hit' | 'miss' | 'away') => void {
  const lookups = metrics.counter({
    name: 'troupe_cache_lookups_total',
    help: 'Pages that the cache was asked for; away: it did not answer',
    labels: ['result'],
  });
  return (result) => lookups.inc({ result });
}
