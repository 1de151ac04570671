/**
 * Pages that the team's earlier scrapes have tracked and this crawl has not met (docs/adr/0031). They are read in parts
 * when nothing else is left to fetch. The position is committed with the rows of each part.
 */
import { completeSpec, type HistoryPart, type HistoryRange, type ScopeSpec, type TrackedPage } from '@troupe/contracts';
import { compileScope, fetchUrl, hasPatterns, siteOf, withoutPatterns } from '@troupe/frontier';
import { HISTORY_KICK, scopeOf, type JobMemory, type JobState } from './job.state.js';
import { isKickoffDone } from './kickoff.js';
import type { HistoryFound } from './findings.js';

const PAGES_AT_ONCE = 500;
/** With patterns they are sent to a fetcher, which matches them. */
const PAGES_TO_JUDGE = 200;
const CHARS_TO_JUDGE = 40_000;

/**
 * The crawl is not over before it has read its histories. It reads none when it cannot tell which pages are linked: its
 * start page failed, or links were left out for want of room.
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

/** A part is to be read now: no fetcher is judging one. */
export function isHistoryToRead(state: JobState, memory: JobMemory | null): boolean {
  return isHistoryDue(state) && memory?.kicks.has(HISTORY_KICK) !== true;
}

/**
 * The range to read next. It covers the site of the start page only, even if the crawl may follow links to other sites.
 */
export function nextHistory(state: JobState, memory: JobMemory | null): HistoryRange | null {
  const tag = isHistoryToRead(state, memory) ? tagOf(state) : undefined;
  if (tag === undefined) return null;
  const { team, history } = state;
  const scope = scopeOf(state)!;
  return { team, tag, siteH: siteOf(scope.base), after: history?.after ?? null, limit: pagesAtOnce(scope) };
}

/** A page that this crawl would ask for without its query is another page. @param pages the range of `nextHistory` */
export function foundIn(state: JobState, pages: readonly TrackedPage[]): HistoryFound {
  const whole = scopeOf(state)!;
  const kept = hasPatterns(whole) ? fitting(pages) : pages;
  const isLast = kept.length === pages.length && pages.length < pagesAtOnce(whole);
  const plain = compileScope(withoutPatterns(whole));
  const belongs = ({ url }: TrackedPage): boolean => fetchUrl(url, whole) === url && plain.check(url, 0) === null;
  const urls = kept.filter(belongs).map(({ url }) => url);
  return { part: { after: state.history?.after ?? null, upto: kept.at(-1)?.urlH ?? null, isLast }, urls };
}

/** Notes that a part of the history has been taken in. False: an earlier answer has done so. */
export function noteHistory(state: JobState, { after, upto, isLast }: HistoryPart): boolean {
  const { history = { after: null, isOver: false } } = state;
  if (history.isOver || history.after !== after) return false;
  state.history = { after: upto ?? after, isOver: isLast };
  return true;
}

function pagesAtOnce(scope: ScopeSpec): number {
  return hasPatterns(scope) ? PAGES_TO_JUDGE : PAGES_AT_ONCE;
}

function fitting(pages: readonly TrackedPage[]): readonly TrackedPage[] {
  let chars = 0;
  const end = pages.findIndex(({ url }) => (chars += url.length) > CHARS_TO_JUDGE);
  return end < 0 ? pages : pages.slice(0, Math.max(1, end));
}

/** undefined: no changes are tracked, or nothing is kept of this job. */
function tagOf({ spec, scope }: JobState): string | null | undefined {
  if (spec === null || scope === null) return undefined;
  const { changeTracking, zeroRetention } = completeSpec(spec.scrape);
  return changeTracking === null || zeroRetention ? undefined : changeTracking.tag;
}
