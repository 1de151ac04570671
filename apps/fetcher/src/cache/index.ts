export { CacheLookups } from './cache-lookups.js';
export { CacheWriter } from './cache-writer.js';
export { KnownUrls } from './known-urls.js';
export { Flights, type FlightQuestion, type OwnFlight } from './flights.js';
export { PageCache, CacheView, type CacheUse, type Remembered } from './page-cache.js';
