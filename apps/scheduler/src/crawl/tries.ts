/**
 * Decides on a page that failed for the moment: when it is tried again, or whether that was its last try. Pure.
 *
 * A failure counts (a strike, `attempt`) unless the host is known to be the reason: it is down, or its rate was just
 * cut for the 429s of which this is one. An outage costs its first pages one strike and loses none.
 */
import type { FrontierRow, PageResult } from '@troupe/contracts';
import type { HostView, JobState } from './job.state.js';
import type { Again } from './findings.js';

export const MAX_STRIKES = 3;
/** The limit of all tries, whether they count as strikes or not: the job ends, whatever its hosts do. */
export const MAX_TRIES = 30;
/** Outcome of a page that was not asked for because its host's robots.txt could not be read. */
export const ROBOTS_UNREADABLE = 'robots-unreadable';

/** From this age of a job on, pages that wait for an unreadable robots.txt count as forbidden. */
const ROBOTS_PATIENCE_MS = 24 * 3_600_000;

const WAITS_MS = [2_000, 8_000] as const;
/** A host that answers some URLs and fails others for long is asked rarely. */
const WAITS_DEAF_MS = [30_000, 120_000] as const;
const ROBOTS_WAIT_MS = 5_000;
/** A longer Retry-After is not believed, as for whole hosts. */
const LONGEST_WAIT_MS = 15 * 60_000;
/** Least wait after a Retry-After: a server that says 0 is not asked again at once. */
const SHORTEST_WAIT_MS = 500;
/** For so long after a cut of the rate, 429s count as its effect. */
const CUT_EXCUSES_MS = 60_000;

/** null: it ends with this result. */
export function nextTry(page: PageResult, row: FrontierRow, view: Readonly<HostView>, now: number): Again | null {
  if (!page.retryable) return null;
  if (page.rule === ROBOTS_UNREADABLE) return untried(row, page.retryAfterMs ?? undefined);
  const tries = (row.tries ?? 0) + 1;
  const attempt = isExcused(page, view, now) ? page.attempt - 1 : page.attempt;
  if (attempt >= MAX_STRIKES || tries >= MAX_TRIES) return null;
  return { attempt, tries, waitMs: waitOf(page, attempt, view), rule: 'retry-later' };
}

/** For a page that was not asked for because its host's robots.txt could not be read: neither a try nor a strike. */
export function untried(row: FrontierRow, waitMs = ROBOTS_WAIT_MS): Again {
  return { attempt: row.attempt, tries: row.tries ?? 0, waitMs: bounded(waitMs), rule: ROBOTS_UNREADABLE };
}

function isExcused(page: PageResult, view: Readonly<HostView>, now: number): boolean {
  if (view.state === 'down') return true;
  return page.statusCode === 429 && view.limitedAt !== null && now - view.limitedAt <= CUT_EXCUSES_MS;
}

/** Wait before the next try. A Retry-After counts for the URL that it came with. */
function waitOf(page: PageResult, attempt: number, { deaf }: Readonly<HostView>): number {
  if (page.retryAfterMs !== null) return bounded(page.retryAfterMs);
  const waits = deaf ? WAITS_DEAF_MS : WAITS_MS;
  return attempt <= 1 ? waits[0] : waits[1];
}

function bounded(waitMs: number): number {
  return Math.min(LONGEST_WAIT_MS, Math.max(SHORTEST_WAIT_MS, waitMs));
}

/** True: the job has waited long enough for robots.txt of its hosts. */
export function isOutOfPatience({ createdMs }: JobState, wallMs: number): boolean {
  return wallMs - createdMs > ROBOTS_PATIENCE_MS;
}
