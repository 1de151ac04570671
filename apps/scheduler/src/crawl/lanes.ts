/** Handles the reports of lanes, the lanes that report nothing, and the items that no lane brings to an end. */
import type { Effect, TurnContext } from '@troupe/actors';
import type { FrontierRow, LaneEnd, LaneStarted, PagesDone, PageResult } from '@troupe/contracts';
import { QUEUE_PATIENCE_MS, type Dispatch } from './dispatch.js';
import type { Again } from './findings.js';
import { takeAny } from './frontier-window.js';
import { UNKNOWN_HOST, type JobMemory, type JobState, type LiveLane } from './job.state.js';
import type { JobOptions } from './rules.js';
import { HOST_DOWN, putBack, settle } from './settlement.js';
import { isOutOfPatience, MAX_STRIKES, untried } from './tries.js';

const GIVEN_UP_PER_TURN = 1_000;

/** The parts of a turn that lanes use. */
export interface LaneParts {
  state: JobState;
  memory: JobMemory;
  ctx: TurnContext;
  options: JobOptions;
  dispatch: Dispatch;
  effects: Effect[];
}

export class Lanes {
  /** Something that clients see has changed. */
  changed = false;
  private readonly state: JobState;
  private readonly memory: JobMemory;
  private readonly ctx: TurnContext;
  private readonly options: JobOptions;
  private readonly dispatch: Dispatch;
  private readonly effects: Effect[];

  constructor(parts: LaneParts) {
    this.state = parts.state;
    this.memory = parts.memory;
    this.ctx = parts.ctx;
    this.options = parts.options;
    this.dispatch = parts.dispatch;
    this.effects = parts.effects;
  }

  started({ lane, run }: LaneStarted): void {
    const live = this.memory.lanes.get(lane);
    if (live === undefined || live.row.run === run) return;
    live.row.run = run;
    live.deadlineAt = this.ctx.now + this.dispatch.patienceOf(live);
    this.effects.push({ t: 'row', row: { op: 'lane.started', jobNo: this.state.jobNo, lane, run } });
  }

  heard({ lane, run }: PagesDone): void {
    const live = this.memory.lanes.get(lane);
    if (live === undefined) return;
    live.row.run ??= run;
    live.deadlineAt = this.ctx.now + this.dispatch.patienceOf(live);
  }

  ended(end: LaneEnd): void {
    const live = this.memory.lanes.get(end.lane);
    if (live === undefined) return;
    this.noteDelay(end);
    this.holdHost(live, end);
    this.dispatch.learnPace(live, end.ranMs);
    this.dropLane(live, end.ranMs, end.reason === 'refused');
    this.takeBack(end, live);
    for (const item of live.left) this.handBackItem(item, end);
  }

  check(): void {
    for (const live of [...this.memory.lanes.values()]) {
      if (live.deadlineAt > this.ctx.now) continue;
      if (live.row.run === null && this.state.phase === 'running' && !this.state.paused) this.publishAgain(live);
      else this.giveUp(live);
    }
  }

  /** Ends the ready rows of hosts that have been down for too long, in portions. */
  leaveLostHosts(): void {
    let left = GIVEN_UP_PER_TURN;
    for (const [host, { givenUp }] of this.memory.hosts) {
      if (!givenUp || left === 0) continue;
      const rows = takeAny(this.memory, host, left);
      left -= rows.length;
      for (const row of rows) this.leave(row);
    }
  }

  /** Ends a row of a lost host. Its unit of the limit goes to a URL that can be fetched. */
  private leave(row: FrontierRow): void {
    this.state.ready -= 1;
    const message = `${row.host} has given no good answer for long`;
    const page = { ...failedResult(row, row.attempt), rule: HOST_DOWN, message };
    this.endWith(row, page, { ...this.options, limitCountsFailed: false });
  }

  /** For a lane that met only trouble: its host rests at once, before its pool's next Grant says so. */
  private holdHost({ row }: LiveLane, { reason, retryMs = 0 }: LaneEnd): void {
    if (reason !== 'penalty' || retryMs <= 0) return;
    const view = this.memory.hosts.get(row.host) ?? { ...UNKNOWN_HOST };
    view.holdUntil = Math.max(view.holdUntil, this.ctx.now + retryMs);
    this.memory.hosts.set(row.host, view);
  }

  /**
   * Pages that the fetcher could not show go to one that can; the attempt does not count. A lane with pages of both
   * kinds teaches nothing: its host has both.
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
    if (!isOutOfPatience(this.state, this.ctx.wallMs)) return this.putBack(row, untried(row, retryMs));
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

  /** Ends an item that no lane has any more. */
  private endWith(row: FrontierRow, page: PageResult, options = this.options): void {
    const { state, memory, ctx } = this;
    state.inflight += 1;
    this.changed = true;
    const entry = { page, row, redirectItem: null, again: null };
    this.effects.push(...settle(state, memory, entry, new Set(), { ...options, now: ctx.now }));
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
