import { dayOf } from '@troupe/contracts';
import { type DaySpan } from '@troupe/persistence';

/** A calendar month in UTC: the billing period of a team's credits. */
export interface BillingMonth extends DaySpan {
  start: Date;
  /** First moment of the next one. */
  end: Date;
}

export function billingMonth(at: Date): BillingMonth {
  const start = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1));
  const end = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1));
  return { start, end, fromDay: dayOf(start.getTime()), toDay: dayOf(end.getTime()) };
}
