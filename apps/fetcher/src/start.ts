import type { HealthChecks, RunningService, ServiceContext } from '@troupe/observability';
import { listen, type Config } from '@troupe/service';
import { findBrowsersHere, serves } from './cluster/browsers-here.js';
import { servesHttp } from './cluster/process.js';
import { expectedSubjects, FetcherModule } from './fetcher.module.js';
import { LaneConsumer } from './lanes/lane.consumer.js';

const NO_BROWSER =
  'no browser found: pages that need scripts go to fetchers with one, or are fetched without (set CHROMIUM_PATH)';
const UNSYNCED = 'BLOB_SYNC=off: a power cut may cost documents of results that are listed already';

export async function startFetcher(context: ServiceContext<Config>): Promise<RunningService> {
  const { config, log } = context;
  const here = await findBrowsersHere(config, log);
  const { checks, drain } = await listen(FetcherModule.of(context, here), context, {
    maxInFlight: config.fetcherConcurrency,
    capacity: config.fetcherConcurrency,
    expects: expectedSubjects(config, here),
    draining: LaneConsumer,
  });
  if (config.blobStore === 'fs' && !config.blobSync) log.warn(UNSYNCED);
  if (here.browsers === null && config.fetcherClasses.length === 0) log.warn(NO_BROWSER);
  return { checks: { ...checks, ...browserCheck(config, here) }, drain };
}

/** A fetcher that is to do nothing but show pages is of no use without a browser. */
function browserCheck(config: Config, { absence }: { absence: string }): HealthChecks {
  if (!serves(config, 'browser')) return {};
  const check = async (): Promise<void> => {
    if (absence !== '') throw new Error(absence);
  };
  return { browser: servesHttp(config) ? { optional: check } : check };
}
