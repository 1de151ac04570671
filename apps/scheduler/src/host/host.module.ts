import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from '@troupe/observability';
import { HostSettings, type LivePool } from '@troupe/persistence';
import { CONFIG, LOG, POOL, type Config } from '@troupe/service';
import { hostActor } from './host.actor.js';

export const HOST_ACTOR = Symbol('actor of hosts');

@Module({
  providers: [
    {
      provide: HostSettings,
      inject: [POOL, LOG],
      useFactory: (pool: LivePool, log: Logger) =>
        HostSettings.watch(pool, (error) => log.warn({ err: error }, 'the settings of hosts were not read')),
    },
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
