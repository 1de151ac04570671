/**
 * Counters that turns keep step by step, compared with the tables whenever memory is read from them (docs/adr/0050). A
 * difference is a defect: it is corrected and reported.
 */
import type { JobMemory as StoredMemory, MendedCounters } from '@troupe/contracts';
import type { JobMemory, JobState } from './job.state.js';

/** At most so many open rows of a job are counted. In a job with more, the rest is known once so few are left. */
const COUNTED_ROWS = 20_000;

/** undefined: nothing is to be counted. Once all rows are known, a job is not asked again before it is loaded anew. */
export function rowsToCount({ ready, inflight }: JobState, memory: JobMemory | null): number | undefined {
  if (memory === null) return COUNTED_ROWS;
  return memory.isCounted || ready + inflight >= COUNTED_ROWS ? undefined : COUNTED_ROWS;
}

/**
 * Sets `inflight` to the items of living lanes and `ready` to the other open rows.
 * @param asked how many rows `loaded.ready` might have had
 */
export function mendCounters(state: JobState, memory: JobMemory, loaded: StoredMemory, asked: number): void {
  if (state.phase !== 'running') return;
  const was = { inflight: state.inflight, ready: state.ready };
  state.inflight = memory.inflight.size;
  state.ready = readyRows(state, memory, loaded, asked);
  if (was.inflight === state.inflight && was.ready === state.ready) return;
  memory.mended = differenceOf(state, was);
}

function readyRows(state: JobState, memory: JobMemory, { ready, open }: StoredMemory, asked: number): number {
  memory.isCounted ||= ready.length < asked || (open !== undefined && open < COUNTED_ROWS);
  if (ready.length < asked) return ready.length;
  if (open === undefined) return state.ready;
  const known = open - memory.inflight.size;
  return open < COUNTED_ROWS ? known : Math.max(known, state.ready);
}

function differenceOf({ job, inflight, ready }: JobState, was: { inflight: number; ready: number }): MendedCounters {
  return { job, inflight: { was: was.inflight, is: inflight }, ready: { was: was.ready, is: ready } };
}
