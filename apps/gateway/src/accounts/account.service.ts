/**
 * A team's view of its credits and of its work (docs/api/account.md). Free of API versions: the edge chooses the words.
 */
import { Inject, Injectable } from '@nestjs/common';
import { UsageRepository, type ListPage, type ListRange } from '@troupe/persistence';
import { CONFIG } from '@troupe/service';
import { type Caller } from '../auth/caller.js';
import { billingMonth } from '../limits/billing-month.js';
import { TeamActivity } from './team-activity.js';

export interface Credits {
  /** Both null: unlimited. */
  remaining: number | null;
  plan: number | null;
  /** Start of the billing period of the credits; null when they are unlimited. */
  periodStart: Date | null;
  periodEnd: Date | null;
}

export interface Period {
  start: Date;
  end: Date;
  keyName: string | null;
  credits: number;
}

export interface Concurrency {
  /** Pages being fetched. */
  active: number;
  max: number;
}

export interface QueueStatus extends Concurrency {
  /** Pages that wait for a place. */
  waiting: number;
  latestSuccess: Date | null;
}

@Injectable()
export class AccountService {
  constructor(
    @Inject(UsageRepository)
    private readonly usage: Pick<UsageRepository, 'usedIn' | 'byMonth' | 'inWork' | 'latestSuccess'>,
    @Inject(TeamActivity) private readonly activity: Pick<TeamActivity, 'of'>,
    @Inject(CONFIG) private readonly settings: { billing: boolean },
  ) {}

  async credits({ team, creditsLimit }: Caller): Promise<Credits> {
    if (!this.settings.billing || creditsLimit === null)
      return { remaining: null, plan: null, periodStart: null, periodEnd: null };
    const month = billingMonth(new Date());
    const used = await this.usage.usedIn(team, month);
    const remaining = Math.max(0, Math.floor(creditsLimit - used));
    return { remaining, plan: creditsLimit, periodStart: month.start, periodEnd: month.end };
  }

  /** Months with any use, oldest first. */
  async history({ team }: Caller, byKey: boolean, range: ListRange): Promise<ListPage<Period>> {
    const { rows, hasMore } = await this.usage.byMonth(team, byKey, range);
    const periods = rows.map(({ month, keyName, credits, key }) => {
      const { start, end } = billingMonth(month);
      return { start, end, keyName, credits, key };
    });
    return { rows: periods, hasMore };
  }

  async concurrency(caller: Caller): Promise<Concurrency> {
    const { active, max } = await this.work(caller);
    return { active, max };
  }

  async queue(caller: Caller): Promise<QueueStatus> {
    const [work, latestSuccess] = await Promise.all([this.work(caller), this.usage.latestSuccess(caller.team)]);
    return { ...work, latestSuccess };
  }

  private async work({ team, concurrency }: Caller): Promise<Concurrency & { waiting: number }> {
    const [jobs, calls] = await Promise.all([this.usage.inWork(team), this.activity.of(team)]);
    return {
      active: jobs.activePages + calls.active,
      waiting: Math.max(0, jobs.openPages - jobs.activePages) + calls.waiting,
      max: concurrency,
    };
  }
}
