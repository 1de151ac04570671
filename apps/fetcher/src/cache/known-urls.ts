/** URLs that the team's cache knows of a site: one more source of links for its map (docs/api/map.md). */
import type { Uuid } from '@troupe/contracts';
import { siteOf } from '@troupe/frontier';
import type { PageCacheRepository } from '@troupe/persistence';

const MAX_URLS = 100_000;

export interface KnownUrlsParts {
  index: Pick<PageCacheRepository, 'urlsOf'>;
  log: { warn(context: object, message: string): void };
}

export class KnownUrls {
  constructor(private readonly parts: KnownUrlsParts) {}

  /** Of the URL's site, subdomains included, the newest first. Nothing when the cache cannot be read: never rejects. */
  async of(team: Uuid, url: string): Promise<string[]> {
    try {
      return await this.parts.index.urlsOf(team, siteOf(url), MAX_URLS);
    } catch (error) {
      this.parts.log.warn({ err: error }, 'the cache is not readable; the map does without it');
      return [];
    }
  }
}
