/** `plan` of a page job: selects the results that count, and the URLs that the job would like to know. */
import type { Activation, Incoming, Plan, TurnContext } from '@troupe/actors';
import {
  boundedResult,
  checkSpec,
  SPEC_TOO_LARGE,
  type FrontierRow,
  type HistoryPart,
  type Outlink,
  type PageJobStart,
  type PageResult,
  type ScopeSpec,
  type SitemapChunk,
} from '@troupe/contracts';
import { fingerprintUrl, hasPatterns, hostKey } from '@troupe/frontier';
import { Admission } from './admission.js';
import { didWithoutBrowser } from './browser-need.js';
import { append, notePause } from './commands.js';
import { Findings, type Settled } from './findings.js';
import { WINDOW_ROWS } from './frontier-window.js';
import { foundIn, noteHistory } from './history.js';
import {
  begin,
  HISTORY_KICK,
  scopeOf,
  SEED_ITEM,
  UNKNOWN_HOST,
  type JobMemory,
  type JobState,
  type LiveLane,
} from './job.state.js';
import { defer } from './kickoff.js';
import type { JobRules } from './rules.js';
import { isOutOfPatience, nextTry, ROBOTS_UNREADABLE } from './tries.js';

const SEEDS_PER_TURN = 1_000;

export function plan(
  { state, memory }: Activation<JobState, JobMemory>,
  batch: readonly Incoming[],
  ctx: TurnContext,
  rules: JobRules,
): Plan<Findings> {
  const found = new Findings();
  const admission = new Admission(state, memory, found);
  const proposals = new Proposals({ state, memory, found, admission, ctx, rules });
  for (const { body } of batch) proposals.consider(body);
  proposals.considerHistory();
  return {
    admit: state.phase === 'running' ? [...found.markers, ...found.links] : [],
    seeds: seedRange(state, memory),
    found,
  };
}

interface ProposalParts {
  state: JobState;
  memory: JobMemory;
  found: Findings;
  admission: Admission;
  ctx: TurnContext;
  rules: JobRules;
}

/** A crawl may begin and go on in one drain; the order of messages is kept. */
class Proposals {
  private readonly open = new Map<number, number>();

  private readonly state: JobState;
  private readonly memory: JobMemory;
  private readonly found: Findings;
  private readonly admission: Admission;
  private readonly ctx: TurnContext;
  private readonly rules: JobRules;

  constructor(parts: ProposalParts) {
    this.state = parts.state;
    this.memory = parts.memory;
    this.found = parts.found;
    this.admission = parts.admission;
    this.ctx = parts.ctx;
    this.rules = parts.rules;
  }

  consider(body: Incoming['body']): void {
    switch (body.type) {
      case 'Start':
        return body.kind === 'crawl' || body.kind === 'batch' ? this.start(body) : undefined;
      case 'Cancel':
        return this.cancel();
      case 'Append':
        if (append(this.state, this.memory, body)) this.found.appended = true;
        return;
      case 'Pause':
        return notePause(this.state, this.memory, body);
      case 'HistoryJudged':
        this.memory.kicks.delete(HISTORY_KICK);
        return this.takeHistory(body.part, body.links);
      case 'PagesDone':
      case 'LaneEnd':
        if (body.type === 'LaneEnd' && body.pause !== undefined) notePause(this.state, this.memory, body.pause);
        for (const page of body.pages) this.page(boundedResult(page), body.lane);
        // Fetchers know of a cancel from the gateway: it was asked for, even if its command was lost.
        if (body.type === 'LaneEnd' && body.reason === 'cancel') this.cancel();
        return;
      case 'SitemapChunk':
        return this.sitemapChunk(body);
      // `finish` takes what changes lanes and pools; the rest is for other actors.
      default:
    }
  }

  private sitemapChunk(chunk: SitemapChunk): void {
    const file = this.state.openSitemaps[chunk.file];
    const next = this.open.get(chunk.file) ?? file?.next;
    if (this.state.phase !== 'running' || file === undefined || next !== chunk.chunk) return;
    if (!this.admission.sitemapChunk(chunk, file)) return defer(this.memory, chunk.file, file);
    this.open.set(chunk.file, next + 1);
    this.found.chunks.push(chunk);
  }

  considerHistory(): void {
    const { history } = this.memory;
    this.memory.history = null;
    if (history === null || this.found.cancelled) return;
    const part = foundIn(this.state, history);
    const scope = scopeOf(this.state)!;
    if (part.urls.length > 0 && hasPatterns(scope)) this.found.history = part;
    else this.takeHistory(part.part, linksOf(part.urls, scope));
  }

  private takeHistory(part: HistoryPart, links: readonly Outlink[]): void {
    if (this.state.phase === 'running' && noteHistory(this.state, part)) this.admission.history(links);
  }

  private start(start: PageJobStart): void {
    const { state, found } = this;
    if (state.phase !== 'idle') return;
    const breach = checkSpec(start.spec);
    begin(state, start, breach !== null);
    found.start = start;
    if (state.cancelled === true) return this.cancel();
    if (breach !== null) return void (found.refused = `${SPEC_TOO_LARGE}: ${breach.message}`);
    if (start.kind === 'crawl') this.admission.seed(start.spec.scope.base);
  }

  /** A cancel before the start is remembered: the job ends as soon as it begins. */
  private cancel(): void {
    if (this.state.phase === 'idle') this.state.cancelled = true;
    if (this.state.phase === 'running') this.found.cancelled = true;
  }

  private page(page: PageResult, lane: number): void {
    const { memory, found } = this;
    if (!this.rules.isInFlight(memory, page, lane)) return;
    const flight = memory.inflight.get(page.item);
    if (flight === undefined && this.state.phase !== 'running') return;
    const row = flight?.row ?? rowOf(page);
    memory.inflight.delete(page.item);
    if (flight !== undefined) noteResult(memory.lanes.get(flight.lane), page);
    if (this.state.phase !== 'running' || found.cancelled) return;
    found.settled.push(this.verdict(this.withPatience(page), row));
  }

  private verdict(page: PageResult, row: FrontierRow): Settled {
    const again = nextTry(page, row, this.memory.hosts.get(row.host) ?? UNKNOWN_HOST, this.ctx.now);
    if (again !== null) return { page, row, redirectItem: null, again };
    const redirectItem = this.admission.redirectTarget(page);
    this.admission.outlinks(page);
    return { page, row, redirectItem, again };
  }

  /**
   * A robots.txt that could not be read for long enough forbids its pages. A crawl whose start page cannot be fetched
   * fails soon.
   */
  private withPatience(page: PageResult): PageResult {
    if (!page.retryable || page.rule !== ROBOTS_UNREADABLE) return page;
    if (this.state.kind === 'crawl' && page.item === SEED_ITEM) return { ...page, rule: 'SCRAPE_SITE_ERROR' };
    return isOutOfPatience(this.state, this.ctx.wallMs)
      ? { ...page, outcome: 'robots', rule: null, retryable: false }
      : page;
  }
}

function noteResult(live: LiveLane | undefined, page: PageResult): void {
  if (live === undefined) return;
  live.left.delete(page.item);
  if (didWithoutBrowser(page)) live.didWithout = true;
}

function linksOf(urls: readonly string[], scope: ScopeSpec): Outlink[] {
  return urls.map((url) => ({ url, h: fingerprintUrl(url, scope) }));
}

/** The row as the result itself describes it; used only when the row is not known to be in flight. */
function rowOf(page: PageResult): FrontierRow {
  return {
    depth: page.depth,
    item: page.item,
    host: hostKey(page.url),
    url: page.url,
    h: null,
    parent: null,
    attempt: page.attempt,
    st: 1,
    browser: false,
  };
}

function seedRange(state: JobState, memory: JobMemory): Plan['seeds'] {
  const { next, total } = state.seeds;
  if (state.phase !== 'running' || next >= total || memory.windowSize >= WINDOW_ROWS / 2) return null;
  return { jobNo: state.jobNo, fromOrd: next, toOrd: Math.min(total, next + SEEDS_PER_TURN) };
}
