/** Running sync scrapes of a team over all gateways. Each gateway knows only its own, so all are asked. */
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { type Uuid } from '@troupe/contracts';
import { MemberBoard, type GroupCall } from '@troupe/messaging';
import { TeamTokens } from '../jobs/team-tokens.js';

export interface Activity {
  /** Scrapes that hold a place in the team's concurrency. */
  active: number;
  /** Scrapes that wait for a place. */
  waiting: number;
}

/** `GroupCall<Uuid, Activity>` */
export const ACTIVITY_CALL = Symbol('activity call');

/** A gateway that is slower than this is left out of the sum. */
const WAIT_MS = 250;

@Injectable()
export class TeamActivity implements OnApplicationBootstrap {
  constructor(
    @Inject(ACTIVITY_CALL) private readonly call: Pick<GroupCall<Uuid, Activity>, 'answer' | 'ask'>,
    @Inject(TeamTokens) private readonly tokens: Pick<TeamTokens, 'activity'>,
    @Inject(MemberBoard) private readonly members: Pick<MemberBoard, 'list'>,
  ) {}

  onApplicationBootstrap(): void {
    this.call.answer((team) => this.tokens.activity(team));
  }

  async of(team: Uuid): Promise<Activity> {
    const gateways = this.members.list().filter(({ kind }) => kind === 'gateway').length;
    const answers = await this.call.ask(team, { expected: Math.max(1, gateways), waitMs: WAIT_MS });
    const found = answers.length > 0 ? answers : [this.tokens.activity(team)];
    return {
      active: found.reduce((sum, { active }) => sum + active, 0),
      waiting: found.reduce((sum, { waiting }) => sum + waiting, 0),
    };
  }
}
