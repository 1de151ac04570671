import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { OpenBlobs } from '@troupe/blob-store';
import { FlightBoard, NatsLink, Rpc } from '@troupe/messaging';
import { Metrics, type Logger } from '@troupe/observability';
import { PageCacheRepository } from '@troupe/persistence';
import { BLOBS, CONFIG, INSTANCE, LOG, overPostgres, type Config } from '@troupe/service';
import { cacheCounts, flightCounts } from './cache-counts.js';
import { CacheLookups } from './cache-lookups.js';
import { CacheWriter } from './cache-writer.js';
import { FlightAnswers } from './flight-answers.js';
import { Flights } from './flights.js';
import { KnownUrls, KnownUrlsParts } from './known-urls.js';
import { PageCache } from './page-cache.js';

@Module({
  providers: [
    ...overPostgres(PageCacheRepository),
    {
      provide: CacheWriter,
      useFactory: (index: PageCacheRepository, blobs: OpenBlobs, config: Config, log: Logger) =>
        new CacheWriter({ index, blobs: blobs.cache, maxBytes: config.cacheMaxMb * 1_000_000, log }),
      inject: [PageCacheRepository, BLOBS, CONFIG, LOG],
    },
    {
      provide: PageCache,
      useFactory: createCache,
      inject: [PageCacheRepository, CacheWriter, BLOBS, CONFIG, LOG, Metrics],
    },
    {
      provide: Flights,
      useFactory: (config: Config, link: NatsLink, instance: string, rpc: Rpc, metrics: Metrics, log: Logger) =>
        new Flights({
          board: config.cacheMaxMb > 0 ? new FlightBoard(link, instance) : null,
          rpc,
          onShared: flightCounts(metrics),
          log,
        }),
      inject: [CONFIG, NatsLink, INSTANCE, Rpc, Metrics, LOG],
    },
    FlightAnswers,
    KnownUrls,
    KnownUrlsParts,
  ],
  exports: [Flights, KnownUrls, PageCache],
})
export class CacheModule implements OnApplicationShutdown {
  constructor(@Inject(CacheWriter) private readonly writer: CacheWriter) {}

  onApplicationShutdown(): Promise<void> {
    return this.writer.drain();
  }
}

function createCache(
  index: PageCacheRepository,
  writer: CacheWriter,
  blobs: OpenBlobs,
  config: Config,
  log: Logger,
  metrics: Metrics,
): PageCache {
  const lookups = config.cacheMaxMb > 0 ? new CacheLookups(index) : null;
  return new PageCache({ lookups, writer, blobs: blobs.cache, log, ...cacheCounts(metrics) });
}
