/** Turns the outcome of an item into the `PageResult` for its job. Pure. */
import { REVALIDATED, type LaneItem, type PageResult, type TroupeError } from '@troupe/contracts';
import type { FetchedPage } from '../pages/page-fetcher.js';
import type { Refusal } from '../slots/hop-guard.js';
import type { RobotsUnreadableError } from '../robots/robots-rules.js';

/** Rule of an item that waits for robots.txt; not an error code. */
const ROBOTS_UNREADABLE = 'robots-unreadable';

export interface PageContext {
  item: LaneItem;
  scopeVersion: number;
  /** Time since the item was begun, in ms. */
  ms: number;
}

function blank({ item, scopeVersion, ms }: PageContext): Omit<PageResult, 'outcome'> {
  return {
    item: item.item,
    attempt: item.attempt,
    depth: item.depth,
    rule: null,
    message: null,
    statusCode: 0,
    url: item.url,
    finalUrl: item.url,
    finalH: null,
    retryable: false,
    retryAfterMs: null,
    bytes: 0,
    inline: null,
    blob: null,
    credits: 0,
    engine: null,
    ms: Math.round(ms),
    scopeVersion,
    outlinks: [],
    excluded: null,
  };
}

/** The place of its document is filled in later. */
export function okResult(
  context: PageContext,
  page: FetchedPage,
  place: Pick<PageResult, 'finalUrl' | 'finalH'>,
): PageResult {
  return {
    ...blank(context),
    outcome: 'ok',
    rule: page.revalidated === true ? REVALIDATED : null,
    statusCode: page.statusCode,
    ...place,
    credits: page.credits,
    bytes: page.documentBytes,
    engine: page.engine,
    outlinks: page.outlinks,
    excluded: page.excluded,
  };
}

/** Failures are free, except a request for a host that does not exist (docs/api/limits.md, "Credits"). */
export function failedResult(
  context: PageContext,
  error: TroupeError,
  retryAfterMs: number | null,
  statusCode: number,
): PageResult {
  return {
    ...blank(context),
    outcome: 'failed',
    rule: error.code,
    message: error.message,
    statusCode,
    credits: error.code === 'SCRAPE_DNS_RESOLUTION_ERROR' ? 1 : 0,
    retryable: error.retryable,
    retryAfterMs: error.retryable ? retryAfterMs : null,
  };
}

/** It is not known yet whether the page may be fetched. */
export function unreadableResult(context: PageContext, error: RobotsUnreadableError): PageResult {
  return { ...failedResult(context, error, error.retryMs, 0), rule: ROBOTS_UNREADABLE, credits: 0 };
}

export function refusedResult(context: PageContext, refusal: Refusal): PageResult {
  return { ...blank(context), outcome: refusal.outcome, rule: refusal.url, finalUrl: refusal.url };
}
