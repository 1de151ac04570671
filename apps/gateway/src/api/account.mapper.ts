/** The words of the account calls that are the same in every version (docs/api/account.md). */
import { TroupeError } from '@troupe/contracts';
import { type Concurrency, type Credits, type Period, type QueueStatus } from '../accounts/account.service.js';

/** Clients want an integer where there is no limit. */
export const UNLIMITED = 99_999_999;
export const TOKENS_PER_CREDIT = 15;

export interface Balance {
  remaining: number;
  plan: number;
  billingPeriodStart: string | null;
  billingPeriodEnd: string | null;
}

export function creditBalance(credits: Credits): Balance {
  return balance(credits, 1);
}

export function tokenBalance(credits: Credits): Balance {
  return balance(credits, TOKENS_PER_CREDIT);
}

function balance({ remaining, plan, periodStart, periodEnd }: Credits, unit: number): Balance {
  return {
    remaining: remaining === null ? UNLIMITED : remaining * unit,
    plan: plan === null ? UNLIMITED : plan * unit,
    billingPeriodStart: periodStart?.toISOString() ?? null,
    billingPeriodEnd: periodEnd?.toISOString() ?? null,
  };
}

export function creditPeriod(period: Period) {
  return { ...frame(period), creditsUsed: period.credits };
}

export function tokenPeriod(period: Period) {
  return { ...frame(period), tokensUsed: period.credits * TOKENS_PER_CREDIT };
}

function frame({ start, end, keyName }: Period) {
  const key = keyName === null ? {} : { apiKey: keyName };
  return { startDate: start.toISOString(), endDate: end.toISOString(), ...key };
}

/** Flat, because the body is handed to users as it is. */
export function concurrencyBody({ active, max }: Concurrency) {
  return { success: true, concurrency: active, maxConcurrency: max };
}

export function queueBody({ active, waiting, max, latestSuccess }: QueueStatus) {
  return {
    success: true,
    jobsInQueue: active + waiting,
    activeJobsInQueue: active,
    waitingJobsInQueue: waiting,
    maxConcurrency: max,
    mostRecentSuccess: latestSuccess?.toISOString() ?? null,
  };
}

export interface HistoryQuery {
  byApiKey?: string;
  timeRange?: string;
}

/** Whether the months are split by key. @throws TroupeError NOT_SUPPORTED for other spans than months */
export function asksByKey({ byApiKey, timeRange }: HistoryQuery): boolean {
  if (timeRange !== undefined)
    throw new TroupeError('NOT_SUPPORTED', 'Not supported by this version: timeRange', {
      details: { options: ['timeRange'] },
    });
  return byApiKey === 'true';
}
