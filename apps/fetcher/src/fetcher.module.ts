import { Module, type DynamicModule, type Type } from '@nestjs/common';
import { RPC } from '@troupe/contracts';
import { FetcherParts } from './fetcher.parts.js';
import { KickController } from './kickoff/kick.controller.js';
import { browserLaneController } from './lanes/browser-lane.controller.js';
import { LaneController } from './lanes/lane.controller.js';
import { MapController } from './map/map.controller.js';
import { RobotsController } from './robots/robots.controller.js';
import { browserScrapeController } from './scrape/browser-scrape.controller.js';
import { ScrapeController } from './scrape/scrape.controller.js';

const HTTP = [LaneController, KickController, MapController, RobotsController, ScrapeController];
const HTTP_SUBJECTS = ['work.http.hi', 'work.http.lo', 'work.kick.hi', 'work.kick.lo', RPC.fetchHttp, RPC.map];
const BROWSER_SUBJECTS = ['work.browser.hi', 'work.browser.lo', RPC.fetchBrowser];

/** What a fetcher serves; what it is served by is made in `FetcherParts`. */
type Served = Pick<FetcherParts, 'servesHttp' | 'browserPages'>;

/** Subjects that a fetcher would leave lying without a handler. */
export function expectedSubjects({ servesHttp, browserPages }: Served): string[] {
  return [...(servesHttp ? HTTP_SUBJECTS : []), ...(browserPages > 0 ? BROWSER_SUBJECTS : [])];
}

@Module({})
export class FetcherModule {
  static with(parts: FetcherParts): DynamicModule {
    return {
      module: FetcherModule,
      providers: [{ provide: FetcherParts, useValue: parts }],
      controllers: [...(parts.servesHttp ? HTTP : []), ...browserControllers(parts.browserPages)],
    };
  }
}

function browserControllers(pages: number): Type[] {
  return pages > 0 ? [browserLaneController(pages), browserScrapeController(pages)] : [];
}
