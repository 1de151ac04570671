import type { Metrics } from '@troupe/observability';
import { WITHOUT } from '../cluster/browsers-here.js';
import { RETIRE_REASONS, type BrowserObserver } from './browser-life.js';
import type { BrowserPool } from './browser-pool.js';

/**
 * Counts the starts and ends of browsers and tabs.
 *
 * @param sandboxed null: no browser is wanted here @param log told when browsers go without their sandbox after all
 */
export function browserCounts(
  metrics: Metrics,
  sandboxed: boolean | null,
  log: { warn(message: string): void },
): BrowserObserver {
  const sandbox = { name: 'troupe_browser_sandboxed', help: 'Whether Chromium has its sandbox: 1, or 0' } as const;
  let isSandboxed = sandboxed === true;
  if (sandboxed !== null) metrics.watch(sandbox, () => Number(isSandboxed));
  const launched = metrics.counter({ name: 'troupe_browser_launches_total', help: 'Browsers that were started' });
  const retired = metrics.counterOf(
    {
      name: 'troupe_browser_retired_total',
      help: 'Browsers that had served long enough, held too much memory, or were ended because a page hung',
    },
    'reason',
    RETIRE_REASONS,
  );
  const crashed = metrics.counter({
    name: 'troupe_browser_crashes_total',
    help: 'Pages whose tab or browser crashed',
  });
  return {
    launched: () => launched.inc(),
    retired: (reason) => retired.inc(reason),
    crashed: () => crashed.inc(),
    unsandboxed: (why) => {
      isSandboxed = false;
      log.warn(`${WITHOUT}: ${why}`);
    },
  };
}

/** Gauges of the open browsers and tabs. */
export function watchBrowsers(metrics: Metrics, pool: Pick<BrowserPool, 'counts'>): void {
  const browsers = { name: 'troupe_browsers', help: 'Browsers that run' } as const;
  metrics.watch(browsers, () => pool.counts().browsers);
  const memory = { name: 'troupe_browser_memory_bytes', help: 'Memory of all browsers, as last looked at' } as const;
  metrics.watch(memory, () => pool.counts().memoryBytes);
  const tabs = metrics.gauge({
    name: 'troupe_browser_tabs',
    help: 'Tabs by what they do: they show a page, are kept for the next page of a job, or opened ahead of need',
    labels: ['state'],
  });
  metrics.onScrape(() => {
    const { busy, parked, warm } = pool.counts();
    tabs.set({ state: 'busy' }, busy);
    tabs.set({ state: 'parked' }, parked);
    tabs.set({ state: 'warm' }, warm);
  });
}
