/** Ends items: every admitted URL ends once, with one outcome, and counters change in the same turn as the rows. */
import { COUNTED_OUTCOMES, scrapeIdOf, type FrontierRow, type Outcome, type PageResult } from '@troupe/contracts';
import type { Effect } from '@troupe/actors';
import { leaveOut } from './exclusion.js';
import { setAside, unshiftReady } from './frontier-window.js';
import { SEED_ITEM, type JobMemory, type JobState } from './job.state.js';
import type { Again, Settled } from './findings.js';
import { isChild } from './webhook-notice.js';

/** Outcome of an item whose host was down too long. */
export const HOST_DOWN = 'host-down';
const MAX_REASON_CHARS = 500;

export interface SettleOptions {
  /** False: transport failures give their unit of the limit back. */
  limitCountsFailed: boolean;
}

/**
 * Settles a result in flight, in the order of arrival. `admitted` holds the items of markers and links that were new.
 */
export function settle(
  state: JobState,
  memory: JobMemory,
  entry: Settled,
  admitted: ReadonlySet<number>,
  options: SettleOptions & { now: number },
): Effect[] {
  const { page, row } = entry;
  state.inflight -= 1;
  if (entry.again !== null) return putBack(state, memory, row, entry.again, options.now);
  const raced = entry.redirectItem !== null && !admitted.has(entry.redirectItem);
  const outcome: Outcome = raced ? 'redirected' : page.outcome;
  const rule = raced ? page.finalUrl : page.rule;
  if (isChild(state)) noteLoss(state, page, outcome);
  if (row.item === SEED_ITEM && state.kind === 'crawl') followStartPage(state, page, outcome);
  return [
    ...close(state, entry, outcome, rule, options),
    ...(raced ? [] : stored(state, page, outcome)),
    ...(page.excluded === null ? [] : leaveOut(state, memory, page.excluded, page.item)),
  ];
}

/** Puts an item back into the frontier: a failure with tries left, or an item that its lane never started. */
export function putBack(
  state: JobState,
  memory: JobMemory,
  { waitMs: _, ...known }: FrontierRow,
  { attempt, tries, waitMs, rule }: Again,
  now: number,
): Effect[] {
  const row: FrontierRow = { ...known, attempt, tries, st: 0 };
  const { jobNo } = state;
  const { depth, item, browser } = row;
  state.ready += 1;
  if (waitMs > 0) setAside(memory, row, now + waitMs);
  else unshiftReady(memory, row);
  const wait = waitMs > 0 ? { waitMs, rule } : {};
  return [{ t: 'row', row: { op: 'frontier.mark', jobNo, depth, item, st: 0, attempt, browser, tries, ...wait } }];
}

function noteLoss(state: JobState, page: PageResult, outcome: Outcome): void {
  if (outcome !== 'failed' && outcome !== 'robots') return;
  const reason = outcome === 'robots' ? 'robots.txt forbids it' : (page.message ?? page.rule ?? 'unknown');
  state.lostReason ??= `${page.url}: ${reason}`.slice(0, MAX_REASON_CHARS);
}

/** The start page's redirect moves the scope, and its failure may decide how the crawl ends. */
function followStartPage(state: JobState, page: PageResult, outcome: Outcome): void {
  if (outcome === 'failed') state.startError = page.message ?? page.rule ?? 'the start page could not be fetched';
  if (outcome === 'robots') state.startError = `robots.txt of ${page.url} forbids the start page`;
  if (outcome !== 'ok' || state.scope === null || page.finalUrl === page.url) return;
  state.scope = { base: page.finalUrl, version: state.scope.version + 1 };
}

function close(
  state: JobState,
  { page, row }: Settled,
  outcome: Outcome,
  rule: string | null,
  options: SettleOptions,
): Effect[] {
  state.outcomes[outcome] = (state.outcomes[outcome] ?? 0) + 1;
  if (COUNTED_OUTCOMES.has(outcome) && (outcome === 'ok' || options.limitCountsFailed)) state.counted += 1;
  const { jobNo } = state;
  return [
    { t: 'row', row: { op: 'frontier.delete', jobNo, depth: row.depth, item: row.item } },
    {
      t: 'row',
      row: {
        op: 'outcome.insert',
        jobNo,
        item: row.item,
        url: row.url,
        parent: row.parent,
        depth: row.depth,
        outcome,
        rule,
        statusCode: page.statusCode === 0 ? null : page.statusCode,
        bytes: page.bytes,
        ms: page.ms,
        engine: page.engine,
        attempts: attemptsOf(row, page),
      },
    },
  ];
}

/** Number of tries; giving an item up is no further try. */
function attemptsOf({ tries = 0 }: FrontierRow, { attempt, rule }: PageResult): number {
  return rule === HOST_DOWN ? tries : Math.max(attempt, tries + 1);
}

function stored(state: JobState, page: PageResult, outcome: Outcome): Effect[] {
  const { jobNo } = state;
  if (outcome === 'failed' || outcome === 'ok') state.credits += page.credits;
  if (outcome === 'failed') {
    return [
      {
        t: 'row',
        row: {
          op: 'error.insert',
          jobNo,
          id: scrapeIdOf(jobNo, page.item),
          url: page.url,
          code: page.rule === HOST_DOWN ? 'SCRAPE_SITE_ERROR' : (page.rule ?? 'UNKNOWN_ERROR'),
          message: page.message ?? '',
        },
      },
    ];
  }
  if (outcome !== 'ok') return [];
  state.ord += 1;
  return [
    {
      t: 'row',
      row: {
        op: 'page.insert',
        jobNo,
        ord: state.ord,
        item: page.item,
        url: page.url,
        finalUrl: page.finalUrl,
        statusCode: page.statusCode,
        depth: page.depth,
        bytes: page.bytes,
        blob: page.blob,
        inline: page.inline,
        credits: page.credits,
      },
    },
  ];
}
