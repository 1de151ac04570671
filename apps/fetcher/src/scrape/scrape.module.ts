import { Module } from '@nestjs/common';
import { CacheModule } from '../cache/cache.module.js';
import { PagesModule } from '../pages/pages.module.js';
import { RobotsModule } from '../robots/robots.module.js';
import { SlotsModule } from '../slots/slots.module.js';
import { ScrapeParts, ScrapeRunner } from './scrape-runner.js';
import { SinglePageParts, SinglePages } from './single-pages.js';

@Module({
  imports: [CacheModule, PagesModule, RobotsModule, SlotsModule],
  providers: [ScrapeParts, ScrapeRunner, SinglePageParts, SinglePages],
  exports: [ScrapeRunner, SinglePages],
})
export class ScrapeModule {}
