import { Module, type DynamicModule } from '@nestjs/common';
import { browserScrapeController } from './scrape/browser-scrape.controller.js';
import { FetcherParts } from './fetcher.parts.js';
import { KickController } from './kickoff/kick.controller.js';
import { LaneController } from './lanes/lane.controller.js';
import { MapController } from './map/map.controller.js';
import { RobotsController } from './robots/robots.controller.js';
import { ScrapeController } from './scrape/scrape.controller.js';

/** The subjects of a fetcher; what serves them is made in `FetcherParts`. */
@Module({})
export class FetcherModule {
  static with(parts: FetcherParts): DynamicModule {
    const controllers = [LaneController, KickController, MapController, RobotsController, ScrapeController];
    return {
      module: FetcherModule,
      providers: [{ provide: FetcherParts, useValue: parts }],
      controllers: parts.browserPages > 0 ? [...controllers, browserScrapeController(parts.browserPages)] : controllers,
    };
  }
}
