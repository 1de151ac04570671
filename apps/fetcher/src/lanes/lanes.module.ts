import { Module } from '@nestjs/common';
import { ActorBus, MailBundler } from '@troupe/messaging';
import { OpenItems } from '@troupe/persistence';
import { INSTANCE, overPostgres } from '@troupe/service';
import { CacheModule } from '../cache/cache.module.js';
import { OtherBrowsers } from '../cluster/other-browsers.js';
import { HAS_BROWSER } from '../cluster/process.js';
import { PagesModule } from '../pages/pages.module.js';
import { RobotsModule } from '../robots/robots.module.js';
import { SlotsModule } from '../slots/slots.module.js';
import { HANDS_OVER, LANE_MAIL } from './lane-ports.js';
import { LaneParts } from './lane-run.js';
import { LaneConsumer } from './lane.consumer.js';

@Module({
  imports: [CacheModule, PagesModule, RobotsModule, SlotsModule],
  providers: [
    LaneConsumer,
    LaneParts,
    {
      provide: LANE_MAIL,
      useFactory: (mailboxes: ActorBus, instance: string) => new MailBundler(mailboxes, instance),
      inject: [ActorBus, INSTANCE],
    },
    ...overPostgres(OpenItems),
    {
      provide: HANDS_OVER,
      useFactory: (hasBrowser: boolean, others: OtherBrowsers) => () => !hasBrowser && others.areExpected(),
      inject: [HAS_BROWSER, OtherBrowsers],
    },
  ],
  exports: [LaneConsumer],
})
export class LanesModule {}
