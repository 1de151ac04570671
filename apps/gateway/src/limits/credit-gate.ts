/**
 * Decides whether a team can pay for its request (docs/api/limits.md, "Credits"). Credits are charged when pages
 * finish, by the ledger; here they are only looked at.
 *
 * A gateway reads a team's use at most every 5 s, and counts the work that it has let in since as used. So a team can
 * overdraw its credits by the work under way when they run out, and by the work that other gateways let in within 5 s.
 */
import { Inject, Injectable, Optional } from '@nestjs/common';
import { type Uuid } from '@troupe/contracts';
import { UsageRepository } from '@troupe/persistence';
import { CONFIG } from '@troupe/service';
import { LRUCache } from 'lru-cache';
import { type Caller } from '../auth/caller.js';
import { ApiError } from '../errors/api-error.js';
import { billingMonth } from './billing-month.js';

const FRESH_MS = 5_000;
const MAX_TEAMS = 10_000;

interface Use {
  used: number;
  /** Credits of requests admitted here since `used` was read. */
  sinceThen: number;
}

export type Payer = Pick<Caller, 'team' | 'creditsLimit'>;

@Injectable()
export class CreditGate {
  private readonly uses: LRUCache<Uuid, Use>;
  private readonly reading = new Map<Uuid, Promise<Use>>();

  /** @param now monotonic milliseconds */
  constructor(
    @Inject(UsageRepository) private readonly usage: Pick<UsageRepository, 'usedIn'>,
    @Inject(CONFIG) private readonly settings: { billing: boolean },
    @Optional() now: () => number = () => performance.now(),
  ) {
    const perf = { now };
    this.uses = new LRUCache({ max: MAX_TEAMS, ttl: FRESH_MS, ttlResolution: 0, perf });
  }

  /** Lets a request in that will cost at least `credits`. @throws ApiError 402 */
  async charge(payer: Payer, credits: number): Promise<void> {
    if (!this.counts(payer)) return;
    const use = await this.useOf(payer.team);
    const left = leftOf(payer, use);
    if (left < credits) throw insufficient(credits, left);
    use.sinceThen += credits;
  }

  /** At most `limit` pages, and as many as the team can pay for. @throws ApiError 402 when that is none */
  async affordable(payer: Payer, limit: number): Promise<number> {
    if (!this.counts(payer)) return limit;
    const left = leftOf(payer, await this.useOf(payer.team));
    if (left < 1) throw insufficient(1, left);
    return Math.min(limit, left);
  }

  private counts(payer: Payer): payer is Payer & { creditsLimit: number } {
    return this.settings.billing && payer.creditsLimit !== null;
  }

  private useOf(team: Uuid): Use | Promise<Use> {
    return this.uses.get(team) ?? this.reading.get(team) ?? this.read(team);
  }

  private read(team: Uuid): Promise<Use> {
    const reading = this.usage
      .usedIn(team, billingMonth(new Date()))
      .then((used) => {
        const use = { used, sinceThen: 0 };
        this.uses.set(team, use);
        return use;
      })
      .finally(() => this.reading.delete(team));
    this.reading.set(team, reading);
    return reading;
  }
}

function leftOf({ creditsLimit }: { creditsLimit: number }, { used, sinceThen }: Use): number {
  return Math.max(0, Math.floor(creditsLimit - used - sinceThen));
}

function insufficient(needed: number, left: number): ApiError {
  const unit = needed === 1 ? 'credit' : 'credits';
  return new ApiError(402, `Insufficient credits: this request needs ${needed} ${unit}, and the team has ${left} left`);
}
