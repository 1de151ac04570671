import { Module } from '@nestjs/common';
import { CacheModule } from '../cache/cache.module.js';
import { RobotsModule } from '../robots/robots.module.js';
import { ScrapeModule } from '../scrape/scrape.module.js';
import { SlotsModule } from '../slots/slots.module.js';
import { SiteMapper, SiteMapperParts } from './site-mapper.js';
import { SitemapFinder } from './sitemap-finder.js';

@Module({
  imports: [CacheModule, RobotsModule, ScrapeModule, SlotsModule],
  providers: [SiteMapper, SiteMapperParts, SitemapFinder],
  exports: [SiteMapper],
})
export class MapModule {}
