/** `finish` of a page job: settles, hands out lanes, asks for what it needs, and may end the job. */
import type { Activation, Answers, Effect, Incoming, TurnContext } from '@troupe/actors';
import type { ActorKey, ActorMessage, Candidate, CrawlSpec, ExcludedLinks, FrontierRow } from '@troupe/contracts';
import { hostKey } from '@troupe/frontier';
import { didWithoutBrowser } from './browser-need.js';
import { failedById, receipts, receiptsOfLost, restUntilStart } from './commands.js';
import { billRows, cancel, complete, failJob, jobRow, progress } from './completion.js';
import { Dispatch, fetchUrlOf } from './dispatch.js';
import { leaveOut } from './exclusion.js';
import type { Findings, Settled } from './findings.js';
import { bringBack, nextBack, pushReady, takesNewRows, WINDOW_ROWS } from './frontier-window.js';
import { isHistoryToRead } from './history.js';
import { begin, UNKNOWN_JOB, type JobMemory, type JobState } from './job.state.js';
import { Kickoff } from './kickoff.js';
import { Lanes } from './lanes.js';
import { Pools, poolOfTeam } from './pools.js';
import type { JobOptions, JobRules } from './rules.js';
import { settle } from './settlement.js';
import { noteHosts, noteTrouble } from './slow-hosts.js';
import { hasUntoldPages, tellListener } from './webhook-notice.js';

const MAX_LIFE_MS = 48 * 3_600_000;
const CLOSING_PATIENCE_MS = 10_000;
const CLOSING_LIMIT_MS = 30_000;
const TICK = 'tick';
/** A timer that fires a little early is cheaper than one written in every turn. */
const TICK_SLACK_MS = 50;

export class JobTurn {
  private readonly state: JobState;
  private readonly memory: JobMemory;
  private readonly found: Findings;
  private readonly key: ActorKey;
  private readonly pools: Pools;
  private readonly kickoff: Kickoff;
  private readonly dispatch: Dispatch;
  private readonly lanes: Lanes;
  private readonly effects: Effect[] = [];
  private changed = false;

  constructor(
    activation: Activation<JobState, JobMemory>,
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
    const { effects } = this;
    const dispatch = new Dispatch(key, state, memory, this.pools, ctx.now, agent);
    this.dispatch = dispatch;
    this.lanes = new Lanes({ state, memory, ctx, options, dispatch, effects });
  }

  /** null: robots are not consulted. */
  private agentOf(state: JobState): string | null {
    if (state.kind !== 'crawl' || state.spec === null) return null;
    const spec = state.spec as CrawlSpec;
    return spec.ignoreRobots ? null : (spec.robotsAgent ?? this.options.robotsAgent);
  }

  finish(batch: readonly Incoming[]): Effect[] {
    this.effects.push(...receipts(this.key, batch));
    if (this.state.phase === 'idle') return [...this.effects, ...restUntilStart(this.state, batch)];
    const before = this.state.status;
    const { cancelled, refused } = this.found;
    if (cancelled) cancel(this.state);
    else if (refused !== null) failJob(this.state, refused);
    this.admit();
    for (const { body } of batch) this.apply(body);
    this.lanes.check();
    if (this.state.phase === 'running') this.lanes.leaveLostHosts();
    bringBack(this.memory, this.ctx.now);
    if (this.state.phase === 'running' && this.ctx.wallMs - this.state.createdMs > MAX_LIFE_MS) this.expire();
    if (this.state.phase === 'running' && this.rules.isDone(this.state)) complete(this.state);
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
    // It holds no slots or tokens to hand back.
    if (!hadBegun) state.phase = 'over';
    this.schedule();
    return this.effects;
  }

  /** For a job that has not begun, or that has ended and was to begin again with more seeds. */
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

  /** Markers only had to be marked as seen: their frontier row is removed in the same transaction. */
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
        return this.lanes.started(body);
      case 'PagesDone':
        return this.lanes.heard(body);
      case 'LaneEnd':
        return this.lanes.ended(body);
      case 'SitemapChunk':
        if (this.found.chunks.includes(body)) this.effects.push(...this.kickoff.onChunk(body));
        return;
      case 'Timer':
        if (body.name === TICK) this.memory.tickAt = null;
        return;
      // `plan` has taken the commands; the rest is for other actors.
      default:
    }
  }

  private expire(): void {
    failJob(this.state, 'the job did not finish within 48 hours');
  }

  /** The client's end of the job, then the return of slots and tokens, then rest. */
  private close(before: JobState['status']): void {
    const { state, memory, ctx } = this;
    const ended = before === 'scraping' && state.status !== 'scraping';
    this.changed ||= this.lanes.changed;
    if (noteHosts(state, memory, ctx.wallMs)) this.changed = true;
    if (ended || (this.changed && state.status === 'scraping'))
      this.effects.push(jobRow(state, ended, ctx.wallMs), ...billRows(state));
    if (ended || this.changed || memory.progressDue) this.effects.push(...progress(state, memory, ctx.now, ended));
    this.effects.push(...tellListener(state, memory, ctx.now, ended, this.found.news));
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
    const due = [...this.deadlines(), ...this.hostDeadlines()];
    if (due.length === 0) return;
    const at = Math.max(ctx.now, Math.min(...due));
    if (memory.tickAt !== null && memory.tickAt > ctx.now && memory.tickAt <= at + TICK_SLACK_MS) return;
    memory.tickAt = at;
    this.effects.push({ t: 'timer', name: TICK, inMs: at - ctx.now });
  }

  private deadlines(): number[] {
    const { state, memory, ctx } = this;
    const due = [...memory.lanes.values()].map((live) => live.deadlineAt);
    for (const repeat of memory.repeats.values()) due.push(repeat.at);
    const isRunning = state.phase === 'running';
    if (isRunning && !state.paused) for (const kick of memory.kicks.values()) due.push(kick.at);
    const back = nextBack(memory);
    if (isRunning && back !== null) due.push(back);
    if (memory.nextStartAt > ctx.now) due.push(memory.nextStartAt);
    if (memory.progressDue) due.push(memory.progressAt);
    if (hasUntoldPages(state)) due.push(memory.tellAt);
    due.push(...this.dispatch.idleDeadlines());
    if (state.seeds.next < state.seeds.total && memory.windowSize < WINDOW_ROWS / 2) due.push(ctx.now);
    if (isHistoryToRead(state, memory)) due.push(ctx.now);
    return due;
  }

  /** Hosts that are given up are settled at once, resting ones when their rest ends. */
  private hostDeadlines(): number[] {
    const { state, memory, ctx } = this;
    const due: number[] = [];
    for (const [host, view] of memory.hosts) {
      const isGivenUp = state.phase === 'running' && view.givenUp;
      if (isGivenUp && (memory.window.has(host) || memory.waitingOn.has(host))) due.push(ctx.now);
      const restUntil = Math.max(view.pauseUntil, view.holdUntil);
      if (restUntil > ctx.now && memory.window.has(host)) due.push(restUntil);
    }
    return due;
  }
}

function rowOfCandidate(candidate: Candidate): FrontierRow {
  const { depth, item, host, url, h, parent } = candidate;
  return { depth, item, host, url, h, parent, attempt: 0, st: 0, browser: false };
}
