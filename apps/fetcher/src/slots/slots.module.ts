import { Inject, Module, type OnApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { PenaltyBoard } from '@troupe/messaging';
import { Metrics } from '@troupe/observability';
import { HostSettings } from '@troupe/persistence';
import { CONFIG, watched, type Config } from '@troupe/service';
import { PENALTIES } from '../cluster/ports.js';
import { HttpModule } from '../http/http.module.js';
import { politenessCounts } from './politeness-counts.js';
import { DelayNews, DelayNewsParts } from './delay-news.js';
import { ExpressFetch, ExpressFetchParts } from './express-fetch.js';
import { ExpressSlots, ExpressSlotsParts } from './express-slots.js';
import { HostReports, HostReportsParts } from './host-reports.js';
import { HostTreatment } from './host-treatment.js';
import { SlotClock } from './slot-clock.js';

const OWN = [DelayNews, ExpressFetch, ExpressSlots, HostReports];

@Module({
  imports: [HttpModule],
  providers: [
    ...OWN,
    DelayNewsParts,
    ExpressFetchParts,
    ExpressSlotsParts,
    HostReportsParts,
    watched(HostSettings, 'the settings of hosts were'),
    {
      provide: PENALTIES,
      useFactory: (board: PenaltyBoard, settings: HostSettings, config: Config) =>
        new HostTreatment({
          board,
          settings,
          expressConn: config.hostExpressConn,
          maxCrawlDelayMs: config.hostMaxCrawlDelay * 1000,
        }),
      inject: [PenaltyBoard, HostSettings, CONFIG],
    },
    {
      provide: SlotClock,
      useFactory: (metrics: Metrics) => new SlotClock(undefined, politenessCounts(metrics)),
      inject: [Metrics],
    },
  ],
  exports: [...OWN, PENALTIES, SlotClock],
})
export class SlotsModule implements OnModuleDestroy, OnApplicationShutdown {
  constructor(
    private readonly reports: HostReports,
    @Inject(HostSettings) private readonly settings: HostSettings,
  ) {}

  onModuleDestroy(): Promise<void> {
    return this.reports.flush();
  }

  onApplicationShutdown(): void {
    this.settings.stop();
  }
}
