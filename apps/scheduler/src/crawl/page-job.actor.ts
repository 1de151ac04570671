/**
 * The common part of crawls and batches: both are actors over a frontier of their own (a batch is a crawl with seeds
 * and no discovery). `plan` accepts results that are in flight and collects candidates; `finish` settles, dispatches,
 * and may end the job. Duplicate, late and reordered messages find nothing in flight and change nothing.
 */
import type { ActorDef, Answers, MemoryNeed } from '@troupe/actors';
import { SPEC_LIMITS, type FrontierRow, type JobMemory as StoredMemory, type PageJobKind } from '@troupe/contracts';
import { LATE_COMMANDS } from './commands.js';
import { mendCounters, rowsToCount } from './counters.js';
import { QUEUE_PATIENCE_MS } from './dispatch.js';
import { Findings } from './findings.js';
import { JobTurn } from './finish.js';
import { needsRefill, refill, refillRows } from './frontier-window.js';
import { nextHistory } from './history.js';
import { emptyState, JobMemory, type JobState, type LiveLane } from './job.state.js';
import { plan } from './plan.js';
import { JOB_RULES, type JobOptions, type JobRules } from './rules.js';

export function pageJobActor(
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
    finish: (activation, batch, answers, ctx) => new JobTurn(activation, answers, ctx, options, rules).finish(batch),
    isTerminal: (state) => state.phase === 'over',
    fail: (activation, reason, ctx, lost) =>
      new JobTurn(activation, noAnswers(), ctx, options, rules).fail(reason, lost),
  };
}

/** Answers of a turn that nothing was planned for. */
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

/** After a change of owner it is unknown when a lane was last heard of. It gets its full time again. */
function restoreLanes(memory: JobMemory, loaded: StoredMemory, now: number): void {
  const running = new Map<number, FrontierRow>(loaded.running.map((row) => [row.item, row]));
  // An item that was put back and dispatched again is listed by both lanes. It runs in the newer one.
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
