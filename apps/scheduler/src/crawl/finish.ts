/**
 * The state machine of a crawl and of a batch (a batch is a crawl with seeds and no discovery).
 *
 * `plan` accepts results that are in flight and collects candidates; `finish` settles, dispatches, and may end the
 * job. Duplicate, late and reordered messages find nothing in flight and change nothing.
 */
import type { ActorDef, Activation, Answers, Effect, Incoming, MemoryNeed, Plan, TurnContext } from '@troupe/actors';
import type {
  ActorKey,
  ActorMessage,
  Candidate,
  CrawlSpec,
  ExcludedLinks,
  FrontierRow,
  HistoryPart,
  PageJobKind,
  JobMemory as StoredMemory,
  LaneEnd,
  LaneStarted,
  PagesDone,
  PageResult,
  Outlink,
  PageJobStart,
  ScopeSpec,
} from '@troupe/contracts';
import { boundedResult, checkSpec, SPEC_TOO_LARGE, SPEC_LIMITS } from '@troupe/contracts';
import { CLAIM_RULES, type ClaimRules } from '@troupe/politeness';
import { fingerprintUrl, hasPatterns, hostKey } from '@troupe/frontier';
import { Admission } from './admission.js';
import { append, failedById, LATE_COMMANDS, notePause, receiptsOfLost, receipts, restUntilStart } from './commands.js';
import { billRows, cancel, failJob, finish, isDone, jobRow, progress } from './completion.js';
import { mendCounters, rowsToCount } from './counters.js';
import { Dispatch, fetchUrlOf, QUEUE_PATIENCE_MS } from './dispatch.js';
import {
  bringBack,
  needsRefill,
  nextBack,
  pushReady,
  refill,
  refillRows,
  takeAny,
  takesNewRows,
  WINDOW_ROWS,
} from './frontier-window.js';
import { Findings, type Again, type Settled } from './findings.js';
import { foundIn, isHistoryToRead, nextHistory, noteHistory } from './history.js';
import {
  emptyState,
  HISTORY_KICK,
  JobMemory,
  scopeOf,
  SEED_ITEM,
  UNKNOWN_HOST,
  UNKNOWN_JOB,
  type JobState,
  type LiveLane,
} from './job.state.js';
import { defer, Kickoff } from './kickoff.js';
import { Pools, poolOfTeam } from './pools.js';
import { leaveOut } from './exclusion.js';
import { HOST_DOWN, putBack, settle } from './settlement.js';
import { noteHosts, noteTrouble } from './slow-hosts.js';
import { MAX_STRIKES, nextTry, ROBOTS_UNREADABLE, untried } from './tries.js';
import { trimmedSpec } from './trimmed-spec.js';
import { hasUntoldPages, tellListener } from './webhook-notice.js';

/** Decisive checks by name, so that the simulation can plant a wrong one and see that it is caught. */
export interface JobRules {
  isInFlight(memory: JobMemory, page: PageResult, lane: number): boolean;
  isDone(state: JobState): boolean;
  claims: ClaimRules;
}

/**
 * A result that wants another try belongs to the lane that has the item: of an earlier lane it was taken in before, and is
 * told again. A result for good is one whichever lane it comes from.
 */
function isInFlight(memory: JobMemory, page: PageResult, lane: number): boolean {
  const found = memory.inflight.get(page.item);
  return found !== undefined && (!page.retryable || found.lane === lane);
}

export const JOB_RULES: JobRules = {
  isInFlight,
  isDone,
  claims: CLAIM_RULES,
};

export interface JobOptions {
  /** Agent name matched against robots.txt. */
  robotsAgent: string;
  limitCountsFailed: boolean;
}

const SEEDS_PER_TURN = 1_000;
const MAX_LIFE_MS = 48 * 3_600_000;
/** At this age of a job what still waits for a robots.txt that cannot be read counts as forbidden. */
const ROBOTS_PATIENCE_MS = 24 * 3_600_000;
const GIVEN_UP_PER_TURN = 1_000;
const CLOSING_PATIENCE_MS = 10_000;
const CLOSING_LIMIT_MS = 30_000;
const TICK = 'tick';
/** A timer that fires a little early is cheaper than one written in every turn. */
const TICK_SLACK_MS = 50;

type JobActivation = Activation<JobState, JobMemory>;

export function jobActor(
  kind: PageJobKind,
  options: JobOptions,
  rules: JobRules = JOB_RULES,
): ActorDef<JobState, JobMemory, Findings> {
  return {
    kind,
    version: 1,
    vital: ['Start', 'Append', 'PagesDone', 'LaneEnd'],
    wakesOn: LATE_COMMANDS,
    restarts: false,
    keepsTrace: true,
    broughtBytes: SPEC_LIMITS.bytes,
    init: () => emptyState(kind),
    need: ({ state, memory }) => need(state, memory),
    remember,
    plan: (activation, batch, ctx) => plan(activation, batch, ctx, rules),
    finish: (activation, batch, answers, ctx) => new JobTurn(activation, answers, ctx, options, rules).run(batch),
    isTerminal: (state) => state.phase === 'over',
    fail: (activation, reason, ctx, lost) =>
      new JobTurn(activation, noAnswers(), ctx, options, rules).fail(reason, lost),
  };
}

/** Of a turn that nothing was planned for. */
function noAnswers(): Answers<Findings> {
  return { admitted: new Set(), seeds: [], found: new Findings() };
}

function need(state: JobState, memory: JobMemory | null): MemoryNeed | null {
  if (state.phase === 'idle' || state.phase === 'over') return null;
  const history = nextHistory(state, memory);
  if (memory !== null && !needsRefill(state, memory) && history === null) return null;
  const countUpTo = rowsToCount(state, memory);
  return { jobNo: state.jobNo, ready: refillRows(memory), ...(history === null ? {} : { history }), countUpTo };
}

function remember(state: JobState, loaded: StoredMemory | null, memory: JobMemory | null, now: number): JobMemory {
  const target = memory ?? new JobMemory();
  if (loaded === null) return target;
  const asked = refillRows(memory);
  target.history = loaded.history ?? null;
  refill(target, loaded.ready, now);
  if (memory === null) restoreLanes(target, loaded, now);
  mendCounters(state, target, loaded, asked);
  return target;
}

/** After a change of owner nobody knows when a lane was last heard of: it gets its full time again. */
function restoreLanes(memory: JobMemory, loaded: StoredMemory, now: number): void {
  const running = new Map<number, FrontierRow>(loaded.running.map((row) => [row.item, row]));
  // An item that was put back and dispatched again is listed by both lanes: it runs in the newer one.
  for (const row of [...loaded.lanes].sort((a, b) => b.lane - a.lane)) {
    const left = new Set<number>();
    let cls: LiveLane['cls'] = 'http';
    for (const { item } of row.items) {
      const frontierRow = running.get(item);
      if (frontierRow === undefined || memory.inflight.has(item)) continue;
      left.add(item);
      if (frontierRow.browser) cls = 'browser';
      memory.inflight.set(item, { row: frontierRow, lane: row.lane });
    }
    memory.lanes.set(row.lane, {
      row,
      left,
      deadlineAt: now + QUEUE_PATIENCE_MS,
      publishes: 1,
      cls,
      didWithout: false,
    });
    memory.lanesByHost.set(row.host, (memory.lanesByHost.get(row.host) ?? 0) + 1);
  }
}

// ------------------------------------------------------------------------------------------------ plan

function plan(
  { state, memory }: JobActivation,
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
        // Fetchers know of a cancel from the gateway: it was said, whatever became of the command.
        if (body.type === 'LaneEnd' && body.reason === 'cancel') this.cancel();
        return;
      case 'SitemapChunk': {
        const file = this.state.openSitemaps[body.file];
        const next = this.open.get(body.file) ?? file?.next;
        if (this.state.phase !== 'running' || file === undefined || next !== body.chunk) return;
        if (!this.admission.sitemapChunk(body, file)) return defer(this.memory, body.file, file);
        this.open.set(body.file, next + 1);
        this.found.chunks.push(body);
      }
    }
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

  /** Before the start it is remembered: the job ends as soon as it begins. */
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

  /** Rules that could not be read for so long forbid. A crawl whose start page cannot be had is to fail before long. */
  private withPatience(page: PageResult): PageResult {
    if (!page.retryable || page.rule !== ROBOTS_UNREADABLE) return page;
    if (this.state.kind === 'crawl' && page.item === SEED_ITEM) return { ...page, rule: 'SCRAPE_SITE_ERROR' };
    return isOutOfPatience(this.state, this.ctx) ? { ...page, outcome: 'robots', rule: null, retryable: false } : page;
  }
}

function isOutOfPatience({ createdMs }: JobState, { wallMs }: TurnContext): boolean {
  return wallMs - createdMs > ROBOTS_PATIENCE_MS;
}

function noteResult(live: LiveLane | undefined, page: PageResult): void {
  if (live === undefined) return;
  live.left.delete(page.item);
  if (didWithoutBrowser(page)) live.didWithout = true;
}

function linksOf(urls: readonly string[], scope: ScopeSpec): Outlink[] {
  return urls.map((url) => ({ url, h: fingerprintUrl(url, scope) }));
}

function didWithoutBrowser({ outcome, engine }: PageResult): boolean {
  return outcome === 'ok' && engine !== null && engine !== 'browser';
}

/** What a result says of its own row; used only when the row is not known to be in flight. */
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

/** @param isLost it will come to nothing: its wishes are not kept */
function begin(state: JobState, start: PageJobStart, isLost = false): void {
  state.phase = 'running';
  state.job = start.job;
  state.jobNo = start.jobNo;
  state.team = start.team;
  state.keyId = start.keyId;
  state.createdMs = start.createdMs;
  state.spec = isLost ? trimmedSpec(start.spec) : start.spec;
  if (start.kind === 'crawl') {
    const { base, version } = start.spec.scope;
    state.scope = { base, version };
    state.limit = start.spec.limit;
    return;
  }
  // Seeds may have been appended before this came.
  state.seeds.total = Math.max(start.total, state.seeds.total);
  state.limit = state.seeds.total;
}

function seedRange(state: JobState, memory: JobMemory): Plan['seeds'] {
  const { next, total } = state.seeds;
  if (state.phase !== 'running' || next >= total || memory.windowSize >= WINDOW_ROWS / 2) return null;
  return { jobNo: state.jobNo, fromOrd: next, toOrd: Math.min(total, next + SEEDS_PER_TURN) };
}

// ------------------------------------------------------------------------------------------------ finish

class JobTurn {
  private readonly state: JobState;
  private readonly memory: JobMemory;
  private readonly found: Findings;
  private readonly key: ActorKey;
  private readonly pools: Pools;
  private readonly kickoff: Kickoff;
  private readonly dispatch: Dispatch;
  private readonly effects: Effect[] = [];
  private changed = false;

  constructor(
    activation: JobActivation,
    private readonly answers: Answers<Findings>,
    private readonly ctx: TurnContext,
    private readonly options: JobOptions,
    private readonly rules: JobRules,
  ) {
    const { state, memory, key } = activation;
    const agent = this.agentOf(state);
    this.state = state;
    this.memory = memory;
    this.found = answers.found;
    this.key = key;
    this.pools = new Pools(key, state, memory, ctx.now, rules.claims, agent);
    if (memory.mended !== null) this.effects.push({ t: 'mended', counters: memory.mended });
    memory.mended = null;
    this.kickoff = new Kickoff(key, state, memory, ctx.now, agent ?? options.robotsAgent);
    this.dispatch = new Dispatch(key, state, memory, this.pools, ctx.now, agent);
  }

  /** null: robots are not consulted. */
  private agentOf(state: JobState): string | null {
    if (state.kind !== 'crawl' || state.spec === null) return null;
    const spec = state.spec as CrawlSpec;
    return spec.ignoreRobots ? null : (spec.robotsAgent ?? this.options.robotsAgent);
  }

  run(batch: readonly Incoming[]): Effect[] {
    this.effects.push(...receipts(this.key, batch));
    if (this.state.phase === 'idle') return [...this.effects, ...restUntilStart(this.state, batch)];
    const before = this.state.status;
    const { cancelled, refused } = this.found;
    if (cancelled) cancel(this.state);
    else if (refused !== null) failJob(this.state, refused);
    this.admit();
    for (const { body } of batch) this.apply(body);
    this.checkLanes();
    if (this.state.phase === 'running') this.leaveLostHosts();
    bringBack(this.memory, this.ctx.now);
    if (this.state.phase === 'running' && this.ctx.wallMs - this.state.createdMs > MAX_LIFE_MS) this.expire();
    if (this.state.phase === 'running' && this.rules.isDone(this.state)) finish(this.state);
    if (this.state.phase === 'running')
      this.effects.push(...this.kickoff.ask(), ...this.kickoff.judge(this.found.history));
    this.effects.push(...this.dispatch.run());
    this.close(before);
    this.schedule();
    return this.effects;
  }

  /** The job's row is failed in every phase, unless the job has ended. */
  fail(reason: string, lost: ActorMessage | null): Effect[] {
    const { state } = this;
    const before = state.status;
    const error = `internal error: ${reason}`;
    const hadBegun = state.phase !== 'idle';
    this.effects.push(...receiptsOfLost(this.key, lost));
    if (!hadBegun && lost?.type === 'Start' && lost.kind === state.kind) begin(state, lost, true);
    if (state.phase === 'running') failJob(state, error);
    else this.failById(error, lost);
    if (hadBegun || state.jobNo !== UNKNOWN_JOB) this.close(before);
    // It holds nothing that would have to be handed back.
    if (!hadBegun) state.phase = 'over';
    this.schedule();
    return this.effects;
  }

  /** Of a job that has not begun, or that has ended and was to begin again with more seeds. */
  private failById(error: string, lost: ActorMessage | null): void {
    this.effects.push(failedById(this.key, error));
    if (this.state.phase === 'idle' || lost?.type === 'Append')
      Object.assign(this.state, { status: 'failed', error } satisfies Partial<JobState>);
  }

  /** New rows enter the window when it holds everything that came before them. */
  private admit(): void {
    const { state, found, answers } = this;
    if (found.start !== null || found.appended) this.changed = true;
    for (const chunk of found.chunks) this.exclude(chunk.excluded, null);
    for (const { excluded, parent } of found.refiltered) this.exclude(excluded, parent);
    for (const { page } of found.settled) if (page.excluded !== null) this.changed = true;
    for (const candidate of found.links)
      if (answers.admitted.has(candidate.item)) this.addReady(rowOfCandidate(candidate));
    for (const marker of found.markers) this.closeMarker(marker);
    if (state.phase === 'running') {
      for (const { ord, url } of answers.seeds) this.addSeed(ord, url);
    }
    for (const entry of found.settled) this.settle(entry);
  }

  private settle(entry: Settled): void {
    this.changed = true;
    const { state, memory, options, answers } = this;
    this.learnEngine(entry);
    noteTrouble(state, entry.row.host, entry.page);
    this.effects.push(...settle(state, memory, entry, answers.admitted, { ...options, now: this.ctx.now }));
  }

  private exclude(excluded: ExcludedLinks | null, parent: number | null): void {
    if (excluded === null) return;
    this.changed = true;
    this.effects.push(...leaveOut(this.state, this.memory, excluded, parent));
  }

  /** A lane that met nothing but trouble: its host gets time at once, before its pool's next Grant says so. */
  private holdHost({ row }: LiveLane, { reason, retryMs = 0 }: LaneEnd): void {
    if (reason !== 'penalty' || retryMs <= 0) return;
    const view = this.memory.hosts.get(row.host) ?? { ...UNKNOWN_HOST };
    view.holdUntil = Math.max(view.holdUntil, this.ctx.now + retryMs);
    this.memory.hosts.set(row.host, view);
  }

  /** What is ready on hosts that have been down for too long ends, in portions. */
  private leaveLostHosts(): void {
    let left = GIVEN_UP_PER_TURN;
    for (const [host, { givenUp }] of this.memory.hosts) {
      if (!givenUp || left === 0) continue;
      const rows = takeAny(this.memory, host, left);
      left -= rows.length;
      for (const row of rows) this.leave(row);
    }
  }

  /** The unit of the limit goes to a URL that can be had. */
  private leave(row: FrontierRow): void {
    this.state.ready -= 1;
    const message = `${row.host} has given no good answer for long`;
    const page = { ...failedResult(row, row.attempt), rule: HOST_DOWN, message };
    this.endWith(row, page, { ...this.options, limitCountsFailed: false });
  }

  private learnEngine({ page, row }: Settled): void {
    if (didWithoutBrowser(page)) this.memory.browserNeed.sufficed(row.host, this.state.spec!.scrape);
  }

  private addReady(row: FrontierRow): void {
    const { state, memory } = this;
    const isKept = takesNewRows(state, memory);
    state.ready += 1;
    state.discovered += 1;
    this.changed = true;
    if (isKept) pushReady(memory, row);
  }

  private addSeed(ord: number, url: string): void {
    this.state.seeds.next = ord + 1;
    this.addReady({
      depth: 0,
      item: ord,
      host: hostKey(fetchUrlOf(url)),
      url,
      h: null,
      parent: null,
      attempt: 0,
      st: 0,
      browser: false,
    });
  }

  /** Markers only had to be seen: their frontier row goes in the same transaction. */
  private closeMarker(marker: Candidate): void {
    const { state, answers } = this;
    if (!answers.admitted.has(marker.item)) return;
    this.effects.push({
      t: 'row',
      row: { op: 'frontier.delete', jobNo: state.jobNo, depth: marker.depth, item: marker.item },
    });
    const sitemap = this.found.sitemapMarkers.get(marker.item);
    if (sitemap !== undefined) state.pendingSitemaps.push(sitemap);
  }

  private apply(body: Incoming['body']): void {
    switch (body.type) {
      case 'Grant':
        if (this.pools.onGrant(body)) this.dispatch.touch(body.pool);
        return;
      case 'RobotsDone':
        return this.kickoff.onRobots(body);
      case 'LaneStarted':
        return this.laneStarted(body);
      case 'PagesDone':
        return this.laneHeard(body);
      case 'LaneEnd':
        return this.laneEnd(body);
      case 'SitemapChunk':
        if (this.found.chunks.includes(body)) this.effects.push(...this.kickoff.onChunk(body));
        return;
      case 'Timer':
        if (body.name === TICK) this.memory.tickAt = null;
    }
  }

  private laneStarted({ lane, run }: LaneStarted): void {
    const live = this.memory.lanes.get(lane);
    if (live === undefined || live.row.run === run) return;
    live.row.run = run;
    live.deadlineAt = this.ctx.now + this.dispatch.patienceOf(live);
    this.effects.push({ t: 'row', row: { op: 'lane.started', jobNo: this.state.jobNo, lane, run } });
  }

  private laneHeard({ lane, run }: PagesDone): void {
    const live = this.memory.lanes.get(lane);
    if (live === undefined) return;
    live.row.run ??= run;
    live.deadlineAt = this.ctx.now + this.dispatch.patienceOf(live);
  }

  private laneEnd(end: LaneEnd): void {
    const live = this.memory.lanes.get(end.lane);
    if (live === undefined) return;
    this.noteDelay(end);
    this.holdHost(live, end);
    this.dispatch.learnPace(live, end.ranMs);
    this.dropLane(live, end.ranMs, end.reason === 'refused');
    this.takeBack(end, live);
    for (const item of live.left) this.handBackItem(item, end);
  }

  /**
   * Pages that the fetcher could not show go to one that can; the attempt does not count. Of a lane with pages of both kinds
   * nothing is learned: its host has both.
   */
  private takeBack({ browser = [] }: LaneEnd, live: LiveLane): void {
    for (const item of browser) {
      const found = live.left.has(item) ? this.memory.inflight.get(item) : undefined;
      if (found === undefined) continue;
      found.row = { ...found.row, browser: true };
      if (!live.didWithout) this.memory.browserNeed.handedBack(found.row.host, this.state.spec!.scrape);
    }
  }

  /** `delay` counts from start to start: the end of a page is a safe witness of its start. */
  private noteDelay(end: LaneEnd): void {
    const { spec } = this.state;
    if (spec === null || !('delayMs' in spec) || spec.delayMs === 0) return;
    const pageMs = end.pages[0]?.ms ?? 0;
    this.memory.nextStartAt = this.ctx.now - pageMs + spec.delayMs;
  }

  private dropLane(live: LiveLane, ranMs: number, lost: boolean): void {
    this.dispatch.endLane(live, ranMs, lost);
    this.effects.push({ t: 'row', row: { op: 'lane.delete', jobNo: this.state.jobNo, lane: live.row.lane } });
  }

  private handBackItem(item: number, { robotsUnreadable = false, retryMs }: LaneEnd): void {
    const found = this.memory.inflight.get(item);
    if (!robotsUnreadable || found === undefined) return this.release(item, false);
    this.endFlight(item);
    if (this.state.phase !== 'running') return;
    const { row } = found;
    if (!isOutOfPatience(this.state, this.ctx)) return this.putBack(row, untried(row, retryMs));
    this.endWith(row, { ...failedResult(row, row.attempt), outcome: 'robots', rule: null });
  }

  /** An item without a result goes back; one that was running when its lane died has spent an attempt. */
  private release(item: number, spent: boolean): void {
    const found = this.memory.inflight.get(item);
    if (found === undefined) return;
    this.endFlight(item);
    const { row } = found;
    const attempt = row.attempt + (spent ? 1 : 0);
    if (this.state.phase !== 'running') return;
    if (attempt < MAX_STRIKES) {
      const tries = (row.tries ?? 0) + (spent ? 1 : 0);
      return this.putBack(row, { attempt, tries, waitMs: 0, rule: null });
    }
    this.endWith(row, failedResult(row, attempt));
  }

  private endFlight(item: number): void {
    this.memory.inflight.delete(item);
    this.state.inflight -= 1;
    this.changed = true;
  }

  private putBack(row: FrontierRow, again: Again): void {
    this.effects.push(...putBack(this.state, this.memory, row, again, this.ctx.now));
  }

  /** The end of an item that no lane has any more. */
  private endWith(row: FrontierRow, page: PageResult, options = this.options): void {
    const { state, memory, ctx } = this;
    state.inflight += 1;
    this.changed = true;
    const entry = { page, row, redirectItem: null, again: null };
    this.effects.push(...settle(state, memory, entry, new Set(), { ...options, now: ctx.now }));
  }

  private checkLanes(): void {
    for (const live of [...this.memory.lanes.values()]) {
      if (live.deadlineAt > this.ctx.now) continue;
      if (live.row.run === null && this.state.phase === 'running' && !this.state.paused) this.publishAgain(live);
      else this.giveUp(live);
    }
  }

  private publishAgain(live: LiveLane): void {
    live.publishes += 1;
    live.deadlineAt = this.ctx.now + Math.min(900_000, QUEUE_PATIENCE_MS * 2 ** (live.publishes - 1));
    this.effects.push(this.dispatch.work(live));
  }

  private giveUp(live: LiveLane): void {
    this.dropLane(live, 0, true);
    let running = live.row.run !== null;
    for (const item of live.left) {
      this.release(item, running);
      running = false;
    }
  }

  private expire(): void {
    failJob(this.state, 'the job did not finish within 48 hours');
  }

  /** The client's end of the job, then the return of slots and tokens, then rest. */
  private close(before: JobState['status']): void {
    const { state, memory, ctx } = this;
    const ended = before === 'scraping' && state.status !== 'scraping';
    if (noteHosts(state, memory, ctx.wallMs)) this.changed = true;
    if (ended || (this.changed && state.status === 'scraping'))
      this.effects.push(jobRow(state, ended, ctx.wallMs), ...billRows(state));
    if (ended || this.changed || memory.progressDue) this.effects.push(...progress(state, memory, ctx.now, ended));
    this.effects.push(...tellListener(state, memory, ctx.now, ended));
    if (state.phase !== 'closing') return;
    if (ended) {
      for (const live of memory.lanes.values())
        live.deadlineAt = Math.min(live.deadlineAt, ctx.now + CLOSING_PATIENCE_MS);
    }
    this.handBack();
  }

  /** Over when every pool has confirmed the return, or after a while: pools forget the silent anyway. */
  private handBack(): void {
    const { state, memory, ctx } = this;
    memory.closingSince ??= ctx.now;
    if (memory.lanes.size > 0) return;
    const returned = Object.keys(state.hosts).length === 0 && memory.released.has(poolOfTeam(state));
    if (returned || ctx.now - memory.closingSince > CLOSING_LIMIT_MS) state.phase = 'over';
  }

  /** One timer for everything that is due later. */
  private schedule(): void {
    const { state, memory, ctx } = this;
    if (state.phase === 'over') return;
    const due = [...memory.lanes.values()].map((live) => live.deadlineAt);
    for (const repeat of memory.repeats.values()) due.push(repeat.at);
    if (state.phase === 'running' && !state.paused) for (const kick of memory.kicks.values()) due.push(kick.at);
    const isRunning = state.phase === 'running';
    for (const [host, view] of memory.hosts) {
      if (isRunning && view.givenUp && (memory.window.has(host) || memory.waitingOn.has(host))) due.push(ctx.now);
      const restUntil = Math.max(view.pauseUntil, view.holdUntil);
      if (restUntil > ctx.now && memory.window.has(host)) due.push(restUntil);
    }
    const back = nextBack(memory);
    if (isRunning && back !== null) due.push(back);
    if (memory.nextStartAt > ctx.now) due.push(memory.nextStartAt);
    if (memory.progressDue) due.push(memory.progressAt);
    if (hasUntoldPages(state)) due.push(memory.tellAt);
    due.push(...this.dispatch.idleDeadlines());
    if (state.seeds.next < state.seeds.total && memory.windowSize < WINDOW_ROWS / 2) due.push(ctx.now);
    if (isHistoryToRead(state, memory)) due.push(ctx.now);
    if (due.length === 0) return;
    const at = Math.max(ctx.now, Math.min(...due));
    if (memory.tickAt !== null && memory.tickAt > ctx.now && memory.tickAt <= at + TICK_SLACK_MS) return;
    memory.tickAt = at;
    this.effects.push({ t: 'timer', name: TICK, inMs: at - ctx.now });
  }
}

function rowOfCandidate(candidate: Candidate): FrontierRow {
  const { depth, item, host, url, h, parent } = candidate;
  return { depth, item, host, url, h, parent, attempt: 0, st: 0, browser: false };
}

function failedResult(row: FrontierRow, attempt: number): PageResult {
  return {
    item: row.item,
    attempt,
    depth: row.depth,
    outcome: 'failed',
    rule: 'SCRAPE_TIMEOUT',
    message: `no result after ${attempt} attempts`,
    statusCode: 0,
    url: row.url,
    finalUrl: row.url,
    finalH: null,
    retryable: false,
    retryAfterMs: null,
    bytes: 0,
    inline: null,
    blob: null,
    credits: 0,
    engine: null,
    ms: 0,
    scopeVersion: 0,
    outlinks: [],
    excluded: null,
  };
}
