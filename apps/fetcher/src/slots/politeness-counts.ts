import type { Metrics } from '@troupe/observability';
import type { PaceObserver } from './slot-clock.js';

/** Counts how long pages wait for their turn on a host, and requests that came too early. */
export function politenessCounts(metrics: Metrics): PaceObserver {
  const waits = metrics.histogram({
    name: 'troupe_politeness_wait_seconds',
    help: 'Time that a page of a job waits because its host was asked a moment ago',
  });
  const violations = metrics.counter({
    name: 'troupe_politeness_violations_total',
    help: 'Requests that started earlier on their slot than the gap of their host allows',
  });
  return { waited: (ms) => waits.observe(ms / 1000), early: () => violations.inc() };
}
