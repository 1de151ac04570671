import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { HostSettings } from '@troupe/persistence';
import { CONFIG, watched, type Config } from '@troupe/service';
import { hostActor } from './host.actor.js';

export const HOST_ACTOR = Symbol('actor of hosts');

@Module({
  providers: [
    watched(HostSettings, 'the settings of hosts were'),
    {
      provide: HOST_ACTOR,
      inject: [CONFIG, HostSettings],
      useFactory: (config: Config, settings: HostSettings) =>
        hostActor({
          maxConn: config.hostMaxConn,
          gapMs: config.hostGapMs,
          giveUpMs: config.hostGiveUp * 60_000,
          maxCrawlDelayMs: config.hostMaxCrawlDelay * 1000,
          allowIgnoreRobots: config.allowIgnoreRobots,
          settingOf: (host) => settings.settingOf(host),
        }),
    },
  ],
  exports: [HOST_ACTOR],
})
export class HostModule implements OnApplicationShutdown {
  constructor(@Inject(HostSettings) private readonly settings: HostSettings) {}

  onApplicationShutdown(): void {
    this.settings.stop();
  }
}
