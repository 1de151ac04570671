import { Module, type DynamicModule, type Type } from '@nestjs/common';
import { RPC } from '@troupe/contracts';
import { ClusterModule } from './cluster/cluster.module.js';
import { servesHttp, type FetcherProcess } from './cluster/process.js';
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

type Serving = Pick<FetcherProcess, 'config' | 'here'>;

/** Subjects that a fetcher would leave lying without a handler. */
export function expectedSubjects(process: Serving): string[] {
  const browser = process.here.browsers === null ? [] : BROWSER_SUBJECTS;
  return [...(servesHttp(process.config) ? HTTP_SUBJECTS : []), ...browser];
}

@Module({ imports: [KickoffModule, LanesModule, MapModule, RobotsModule, ScrapeModule] })
export class FetcherModule {
  static of(process: FetcherProcess): DynamicModule {
    return {
      module: FetcherModule,
      imports: [ClusterModule.with(process)],
      controllers: [...(servesHttp(process.config) ? HTTP : []), ...browserControllers(process)],
    };
  }
}

/** They take as many pages as the browser opens at once. */
function browserControllers({ config, here }: Serving): Type[] {
  if (here.browsers === null) return [];
  const { concurrency } = browserConcurrency(config.browserConcurrency);
  return [browserLaneController(concurrency), browserScrapeController(concurrency)];
}
