/**
 * The end of a job, and its progress on the way there (docs/design/frontier.md, "End", docs/api/crawl.md, "States").
 */
import { progressSubject, type CrawlSpec, type JobProgress } from '@troupe/contracts';
import type { Effect } from '@troupe/actors';
import { owesHistory } from './history.js';
import { isKickoffDone } from './kickoff.js';
import { freeItems, remainingBudget } from './admission.js';
import type { JobMemory, JobState } from './job.state.js';
import { shownHosts, slowWarnings } from './slow-hosts.js';
import { isChild } from './webhook-notice.js';

const PROGRESS_EVERY_MS = 250;

/**
 * Whether the job is done. It is evaluated at the end of every turn from counters of the same transaction, so that a
 * job ends neither early nor never.
 */
export function isDone(state: JobState): boolean {
  if (state.phase !== 'running' || state.inflight > 0) return false;
  if (state.counted >= state.limit) return true;
  return isKickoffDone(state) && state.ready === 0 && state.seeds.next >= state.seeds.total && !owesHistory(state);
}

export function shownTotal(state: JobState): number {
  const open = state.inflight + Math.min(state.ready + (state.seeds.total - state.seeds.next), remainingBudget(state));
  state.shownTotal = Math.max(state.shownTotal, state.counted + open);
  return state.shownTotal;
}

/** The last turn of the client's job: `total` becomes `completed`, even downward. */
export function complete(state: JobState): void {
  state.phase = 'closing';
  state.openSitemaps = {};
  state.pendingSitemaps = [];
  const failed = state.kind === 'crawl' && state.ord === 0 && state.startError !== null;
  state.status = failed ? 'failed' : 'completed';
  state.error = failed ? state.startError : null;
  state.shownTotal = state.counted;
}

export function cancel(state: JobState): void {
  state.phase = 'closing';
  state.status = 'cancelled';
  state.openSitemaps = {};
  state.pendingSitemaps = [];
}

export function failJob(state: JobState, reason: string): void {
  state.phase = 'closing';
  state.status = 'failed';
  state.error = reason;
}

export function jobRow(state: JobState, finished: boolean, wallMs: number): Effect {
  return {
    t: 'row',
    row: {
      op: 'job.update',
      jobNo: state.jobNo,
      status: state.status,
      total: state.status === 'scraping' ? shownTotal(state) : state.shownTotal,
      completed: state.counted,
      credits: state.credits,
      error: state.error,
      warning: finished ? warningOf(state, wallMs) : null,
      seeds: state.seeds.total,
      excluded: state.excluded,
      slowHosts: shownHosts(state),
      finished,
    },
  };
}

/** None for a job that fetches pages for another one, which is billed instead. */
export function billRows(state: JobState): Effect[] {
  if (isChild(state)) return [];
  const { jobNo, team, kind, keyId, credits, ord: pages } = state;
  return [{ t: 'row', row: { op: 'ledger.upsert', jobNo, team, kind, keyId, credits, pages } }];
}

function warningOf(state: JobState, wallMs: number): string | null {
  const warnings: string[] = [];
  if (state.truncated && state.full !== true && state.ready === 0 && state.counted < state.limit) {
    warnings.push('More links were found than could be kept; some pages may be missing.');
  }
  const unjudged = state.excluded['pattern-budget'] ?? 0;
  if (unjudged > 0)
    warnings.push(`${unjudged} links were left out because includePaths and excludePaths took too long to match.`);
  if (state.full === true)
    warnings.push(
      `${freeItems(state)} URLs were forbidden, redirected or out of scope, which is as many as a job of this limit may have: no further ones were taken in.`,
    );
  const robots = state.outcomes.robots ?? 0;
  if (robots > 0)
    warnings.push(`robots.txt forbids ${robots} of the URLs found; see robotsBlocked in the errors call.`);
  if (hasMissedPages(state)) {
    warnings.push('At most one page was found. The start URL is not the root of its site: consider crawlEntireDomain.');
  }
  warnings.push(...slowWarnings(state, wallMs));
  return warnings.length === 0 ? null : warnings.join(' ');
}

/** A crawl that began below the root of its site and found next to nothing there. */
function hasMissedPages(state: JobState): boolean {
  const { kind, status, ord, limit } = state;
  return kind === 'crawl' && status === 'completed' && ord <= 1 && !startsAtRoot(state) && limit > 1;
}

function startsAtRoot(state: JobState): boolean {
  const { scope } = state.spec as CrawlSpec;
  return new URL(scope.base).pathname === '/';
}

/** At most four a second, and one at the end; lossy. */
export function progress(state: JobState, memory: JobMemory, now: number, force: boolean): Effect[] {
  if (!force && memory.progressAt > now) {
    memory.progressDue = true;
    return [];
  }
  memory.progressAt = now + PROGRESS_EVERY_MS;
  memory.progressDue = false;
  const msg: JobProgress = {
    job: state.job,
    status: state.status,
    total: state.shownTotal,
    completed: state.counted,
    ord: state.ord,
    slowHosts: shownHosts(state),
  };
  return [{ t: 'notify', subject: progressSubject(state.job), msg }];
}
