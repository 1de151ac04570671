import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { TeamSizes } from '@troupe/persistence';
import { CONFIG, watched, type Config } from '@troupe/service';
import { teamActor } from './team.actor.js';

export const TEAM_ACTOR = Symbol('actor of teams');

@Module({
  providers: [
    watched(TeamSizes, 'the sizes of teams were'),
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
