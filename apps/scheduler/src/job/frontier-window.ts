/** The in-memory part of the frontier: undispatched rows by host. A cache of the table, never more. */
import type { FrontierRow } from '@troupe/contracts';
import type { JobMemory, JobState } from './job.state.js';

export const WINDOW_ROWS = 5_000;

/** True when the window may lack rows that the table has, and is low: read again before the next turn. */
export function needsRefill(state: JobState, memory: JobMemory): boolean {
  return state.ready > memory.windowSize && memory.windowSize < WINDOW_ROWS / 2;
}

/** Whether newly admitted rows belong behind what the window holds. */
export function isComplete(state: JobState, memory: JobMemory): boolean {
  return state.ready === memory.windowSize;
}

export function pushReady(memory: JobMemory, row: FrontierRow): void {
  const rows = memory.window.get(row.host);
  memory.windowSize += 1;
  if (rows === undefined) memory.window.set(row.host, [row]);
  else rows.push(row);
}

/** A row that was in a lane comes first again. */
export function unshiftReady(memory: JobMemory, row: FrontierRow): void {
  const rows = memory.window.get(row.host);
  memory.windowSize += 1;
  if (rows === undefined) memory.window.set(row.host, [row]);
  else rows.unshift(row);
}

export function takeReady(memory: JobMemory, host: string, count: number): FrontierRow[] {
  const rows = memory.window.get(host) ?? [];
  const taken = rows.splice(0, count);
  memory.windowSize -= taken.length;
  memory.window.delete(host);
  // Back of the line: hosts take turns.
  if (rows.length > 0) memory.window.set(host, rows);
  return taken;
}

export function readyOn(memory: JobMemory, host: string): number {
  return memory.window.get(host)?.length ?? 0;
}

export function refill(memory: JobMemory, rows: readonly FrontierRow[]): void {
  memory.window.clear();
  memory.windowSize = 0;
  for (const row of rows) pushReady(memory, row);
}
