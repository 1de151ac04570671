import { Module, type DynamicModule, type Type } from '@nestjs/common';
import { RPC } from '@troupe/contracts';
import type { ServiceContext } from '@troupe/observability';
import { ServiceModule, type Config } from '@troupe/service';
import type { BrowsersHere } from './cluster/browsers-here.js';
import { ClusterModule } from './cluster/cluster.module.js';
import { servesHttp } from './cluster/process.js';
import { browserConcurrency } from './browser/chromium.js';
import { KickController } from './kickoff/kick.controller.js';
import { KickoffModule } from './kickoff/kickoff.module.js';
import { browserLaneController } from './lanes/browser-lane.controller.js';
import { LaneController } from './lanes/lane.controller.js';
import { LanesModule } from './lanes/lanes.module.js';
import { MapController } from './map/map.controller.js';
import { MapModule } from './map/map.module.js';
import { RobotsController } from './robots/robots.controller.js';
import { RobotsModule } from './robots/robots.module.js';
import { browserScrapeController } from './scrape/browser-scrape.controller.js';
import { ScrapeController } from './scrape/scrape.controller.js';
import { ScrapeModule } from './scrape/scrape.module.js';

const HTTP = [LaneController, KickController, MapController, RobotsController, ScrapeController];
const HTTP_SUBJECTS = ['work.http.hi', 'work.http.lo', 'work.kick.hi', 'work.kick.lo', RPC.fetchHttp, RPC.map];
const BROWSER_SUBJECTS = ['work.browser.hi', 'work.browser.lo', RPC.fetchBrowser];

/** Connections to Postgres are for robots.txt, the blocklist, the cache of pages and their histories. */
const NEEDS = { poolSize: 4, blobs: true, member: 'fetcher' };

/** Subjects that a fetcher would leave lying without a handler. */
export function expectedSubjects(config: Config, here: BrowsersHere): string[] {
  const browser = here.browsers === null ? [] : BROWSER_SUBJECTS;
  return [...(servesHttp(config) ? HTTP_SUBJECTS : []), ...browser];
}

@Module({ imports: [KickoffModule, LanesModule, MapModule, RobotsModule, ScrapeModule] })
export class FetcherModule {
  static of(context: ServiceContext<Config>, here: BrowsersHere): DynamicModule {
    return {
      module: FetcherModule,
      imports: [ServiceModule.with(context, NEEDS), ClusterModule.with(here)],
      controllers: [...(servesHttp(context.config) ? HTTP : []), ...browserControllers(context.config, here)],
    };
  }
}

/** They take as many pages as the browser opens at once. */
function browserControllers(config: Config, here: BrowsersHere): Type[] {
  if (here.browsers === null) return [];
  const { concurrency } = browserConcurrency(config.browserConcurrency);
  return [browserLaneController(concurrency), browserScrapeController(concurrency)];
}
