/** Sync scrapes of a team in work over all gateways: each knows its own only, so all are asked. */
import { type Uuid } from '@troupe/contracts';
import { type GroupCall } from '@troupe/messaging';
import { type TeamTokens } from '../jobs/team-tokens.js';

export interface Activity {
  /** Scrapes that hold a place in the team's concurrency. */
  active: number;
  /** Scrapes that wait for one. */
  waiting: number;
}

export interface TeamActivityParts {
  call: Pick<GroupCall<Uuid, Activity>, 'answer' | 'ask'>;
  tokens: Pick<TeamTokens, 'activity'>;
  /** Live gateways, this one included. */
  gateways(): number;
}

/** A gateway that is slower than this is left out of the sum. */
const WAIT_MS = 250;

export class TeamActivity {
  constructor(private readonly parts: TeamActivityParts) {}

  start(): void {
    this.parts.call.answer((team) => this.parts.tokens.activity(team));
  }

  async of(team: Uuid): Promise<Activity> {
    const answers = await this.parts.call.ask(team, { expected: Math.max(1, this.parts.gateways()), waitMs: WAIT_MS });
    const found = answers.length > 0 ? answers : [this.parts.tokens.activity(team)];
    return {
      active: found.reduce((sum, { active }) => sum + active, 0),
      waiting: found.reduce((sum, { waiting }) => sum + waiting, 0),
    };
  }
}
