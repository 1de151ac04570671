import { Inject, Injectable } from '@nestjs/common';
import { UsageRepository } from '@troupe/persistence';
import { type Caller } from '../auth/caller.js';
import { ApiError } from '../errors/api-error.js';
import { CreditGate } from './credit-gate.js';

/** Pages that the running jobs of a team may have open before no further job is taken (docs/api/limits.md). */
const MIN_OPEN_PAGES = 50_000;
const OPEN_PAGES_PER_PLACE = 2_000;
const QUEUE_RETRY_S = 60;

/** Whether a team may have more work recorded: its queue has room and its credits are there. */
@Injectable()
export class WorkGate {
  constructor(
    @Inject(UsageRepository) private readonly work: Pick<UsageRepository, 'openPages'>,
    @Inject(CreditGate) private readonly credits: Pick<CreditGate, 'charge' | 'affordable'>,
  ) {}

  /** Lets work in that will cost at least `credits`. @throws ApiError 429, 402 */
  async charge(caller: Caller, credits: number): Promise<void> {
    await this.checkQueue(caller);
    await this.credits.charge(caller, credits);
  }

  /** The number of `limit` pages that the team can pay for. @throws ApiError 429; 402 when it is none */
  async affordable(caller: Caller, limit: number): Promise<number> {
    await this.checkQueue(caller);
    return this.credits.affordable(caller, limit);
  }

  /**
   * @throws ApiError 429 while the team has as many open pages as may wait; the job that fills the queue is taken whole
   */
  private async checkQueue({ team, concurrency }: Caller): Promise<void> {
    const most = Math.max(MIN_OPEN_PAGES, OPEN_PAGES_PER_PLACE * concurrency);
    if ((await this.work.openPages(team)) < most) return;
    throw new ApiError(429, `Rate limit exceeded: ${most} pages of this team are waiting already`, {
      retryAfterS: QUEUE_RETRY_S,
    });
  }
}
