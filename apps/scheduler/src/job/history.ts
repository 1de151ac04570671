/**
 * Pages that the team's earlier scrapes have tracked and this crawl has not met (docs/adr/0031). They are asked for when
 * nothing else is left to fetch, in parts; how far that went is committed with the rows of each part.
 */
import { completeSpec, type HistoryRange, type TrackedPage } from '@troupe/contracts';
import { siteOf } from '@troupe/frontier';
import { scopeOf, type JobState } from './job.state.js';
import { isKickoffDone } from './kickoff.js';

const PAGES_AT_ONCE = 500;
/** Each is matched within the turn: the dearest pattern takes some 0.2 ms for an address, and ten of them fill the budget. */
const PAGES_OF_ONE_PATTERN = 200;
const MOST_FULL_PATTERNS = 10;

/**
 * The crawl is not over before it has looked into its histories. It looks into none when it cannot tell what is linked: its
 * start page was not to be had, or links were left out for want of room.
 */
export function owesHistory(state: JobState): boolean {
  const hasSeenLinks = state.startError === null && !state.truncated;
  return hasSeenLinks && tagOf(state) !== undefined && state.history?.isOver !== true;
}

/** Everything that was linked or named has been fetched, and there is something left of the limit. */
export function isHistoryDue(state: JobState): boolean {
  const { phase, paused, inflight, ready, counted, limit } = state;
  const mayGoOn = phase === 'running' && !paused && counted < limit;
  return mayGoOn && inflight === 0 && ready === 0 && owesHistory(state) && isKickoffDone(state);
}

/** What to read next: of the site of the start page only, whatever other sites the crawl may follow links to. */
export function nextHistory(state: JobState): HistoryRange | null {
  const tag = isHistoryDue(state) ? tagOf(state) : undefined;
  if (tag === undefined) return null;
  const { team, scope, history } = state;
  return { team, tag, siteH: siteOf(scope!.base), after: history?.after ?? null, limit: pagesAtOnce(state) };
}

export function noteHistory(state: JobState, pages: readonly TrackedPage[]): void {
  const after = pages.at(-1)?.urlH ?? state.history?.after ?? null;
  state.history = { after, isOver: pages.length < pagesAtOnce(state) };
}

/** The patterns of a crawl stay the same until it ends. */
function pagesAtOnce(state: JobState): number {
  const scope = scopeOf(state);
  const patterns = scope === null ? 0 : scope.includePaths.length + scope.excludePaths.length;
  if (patterns === 0) return PAGES_AT_ONCE;
  return Math.floor(PAGES_OF_ONE_PATTERN / Math.min(patterns, MOST_FULL_PATTERNS));
}

/** undefined: no changes are tracked, or nothing is kept of this job. */
function tagOf({ spec, scope }: JobState): string | null | undefined {
  if (spec === null || scope === null) return undefined;
  const { changeTracking, zeroRetention } = completeSpec(spec.scrape);
  return changeTracking === null || zeroRetention ? undefined : changeTracking.tag;
}
