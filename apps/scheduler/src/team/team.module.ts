import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from '@troupe/observability';
import { TeamSizes, type LivePool } from '@troupe/persistence';
import { CONFIG, LOG, POOL, type Config } from '@troupe/service';
import { teamActor } from './team.actor.js';

export const TEAM_ACTOR = Symbol('actor of teams');

@Module({
  providers: [
    {
      provide: TeamSizes,
      inject: [POOL, LOG],
      useFactory: (pool: LivePool, log: Logger) =>
        TeamSizes.watch(pool, (error) => log.warn({ err: error }, 'the sizes of teams were not read')),
    },
    {
      provide: TEAM_ACTOR,
      inject: [CONFIG, TeamSizes],
      useFactory: ({ teamConcurrency }: Config, sizes: TeamSizes) =>
        teamActor({ concurrencyOf: (team) => sizes.concurrencyOf(team) ?? teamConcurrency }),
    },
  ],
  exports: [TEAM_ACTOR],
})
export class TeamModule implements OnApplicationShutdown {
  constructor(@Inject(TeamSizes) private readonly sizes: TeamSizes) {}

  onApplicationShutdown(): void {
    this.sizes.stop();
  }
}
