/** URLs that the team's cache knows of a site: one more source of links for its map (docs/api/map.md). */
import { Inject, Injectable } from '@nestjs/common';
import type { Uuid } from '@troupe/contracts';
import { siteOf } from '@troupe/frontier';
import { PageCacheRepository } from '@troupe/persistence';
import { LOG } from '@troupe/service';

const MAX_URLS = 100_000;

@Injectable()
export class KnownUrlsParts {
  @Inject(PageCacheRepository) readonly index!: Pick<PageCacheRepository, 'urlsOf'>;
  @Inject(LOG) readonly log!: { warn(context: object, message: string): void };
}

@Injectable()
export class KnownUrls {
  constructor(private readonly parts: KnownUrlsParts) {}

  /**
   * Known URLs of the same site, subdomains included, the newest first. Empty when the cache cannot be read; never
   * rejects.
   */
  async of(team: Uuid, url: string): Promise<string[]> {
    try {
      return await this.parts.index.urlsOf(team, siteOf(url), MAX_URLS);
    } catch (error) {
      this.parts.log.warn({ err: error }, 'the cache is not readable; the map does without it');
      return [];
    }
  }
}
