/** The in-memory part of the frontier: undispatched rows by host. It is only a cache of the table. */
import type { FrontierRow } from '@troupe/contracts';
import type { JobMemory, JobState } from './job.state.js';

export const WINDOW_ROWS = 5_000;

/** True when the window may lack rows that the table has, and is low: read again before the next turn. */
export function needsRefill(state: JobState, memory: JobMemory): boolean {
  return state.ready > inMemory(memory) && memory.windowSize < WINDOW_ROWS / 2;
}

/** Rows to read for a full window: those that wait are among the first. */
export function refillRows(memory: JobMemory | null): number {
  return WINDOW_ROWS + (memory?.waiting.size ?? 0);
}

function inMemory({ windowSize, waiting }: JobMemory): number {
  return windowSize + waiting.size;
}

/** Whether a newly admitted row belongs behind what the window holds: it lacks nothing of the table, and has room. */
export function takesNewRows(state: JobState, memory: JobMemory): boolean {
  return state.ready === inMemory(memory) && memory.windowSize < WINDOW_ROWS;
}

export function pushReady(memory: JobMemory, row: FrontierRow): void {
  const rows = memory.window.get(row.host);
  count(memory, row, 1);
  if (rows === undefined) memory.window.set(row.host, [row]);
  else rows.push(row);
}

/** A row that was in a lane comes first again. */
export function unshiftReady(memory: JobMemory, row: FrontierRow): void {
  const rows = memory.window.get(row.host);
  count(memory, row, 1);
  if (rows === undefined) memory.window.set(row.host, [row]);
  else rows.unshift(row);
}

/** The first `most` rows of a host that `isWanted`, in their order. */
export function takeReady(
  memory: JobMemory,
  host: string,
  most: number,
  isWanted: (row: FrontierRow) => boolean,
): FrontierRow[] {
  const rows = memory.window.get(host) ?? [];
  const taken: FrontierRow[] = [];
  const passedOver: FrontierRow[] = [];
  let seen = 0;
  for (; seen < rows.length && taken.length < most; seen++) {
    const row = rows[seen]!;
    (isWanted(row) ? taken : passedOver).push(row);
  }
  rows.splice(0, seen, ...passedOver);
  for (const row of taken) count(memory, row, -1);
  memory.window.delete(host);
  // The host goes to the end: hosts take turns.
  if (rows.length > 0) memory.window.set(host, rows);
  return taken;
}

export function readyOn(memory: JobMemory, host: string): number {
  return memory.window.get(host)?.length ?? 0;
}

/** Ready rows of a host that no fetcher without a browser has handed back. */
export function plainOn(memory: JobMemory, host: string): number {
  return readyOn(memory, host) - (memory.browserRows.get(host) ?? 0);
}

/** As `plainOn`, of all hosts. */
export function plainReady(memory: JobMemory): number {
  let browserRows = 0;
  for (const rows of memory.browserRows.values()) browserRows += rows;
  return memory.windowSize - browserRows;
}

export function refill(memory: JobMemory, rows: readonly FrontierRow[], now: number): void {
  memory.window.clear();
  memory.browserRows.clear();
  memory.waiting.clear();
  memory.waitingOn.clear();
  memory.windowSize = 0;
  for (const row of rows) {
    if (row.waitMs) setAside(memory, row, now + row.waitMs);
    else pushReady(memory, row);
  }
}

/** A ready row that is not tried before `until`. */
export function setAside(memory: JobMemory, row: FrontierRow, until: number): void {
  memory.waiting.set(row.item, { row, until });
  memory.waitingOn.set(row.host, (memory.waitingOn.get(row.host) ?? 0) + 1);
}

/** Rows whose time has come are the first of their hosts again. */
export function bringBack(memory: JobMemory, now: number): void {
  for (const { row, until } of [...memory.waiting.values()]) {
    if (until > now) continue;
    forgetWait(memory, row);
    unshiftReady(memory, row);
  }
}

/** Time at which the next waiting row may be tried; null: none waits. */
export function nextBack({ waiting }: JobMemory): number | null {
  let next: number | null = null;
  for (const { until } of waiting.values()) if (next === null || until < next) next = until;
  return next;
}

/** Ready rows of a host, whether they wait or not. */
export function takeAny(memory: JobMemory, host: string, most: number): FrontierRow[] {
  const rows = takeReady(memory, host, most, () => true);
  if (memory.waitingOn.has(host)) {
    for (const { row } of [...memory.waiting.values()]) {
      if (rows.length >= most) break;
      if (row.host !== host) continue;
      forgetWait(memory, row);
      rows.push(row);
    }
  }
  return rows;
}

function forgetWait(memory: JobMemory, row: FrontierRow): void {
  memory.waiting.delete(row.item);
  const left = (memory.waitingOn.get(row.host) ?? 1) - 1;
  if (left > 0) memory.waitingOn.set(row.host, left);
  else memory.waitingOn.delete(row.host);
}

function count(memory: JobMemory, row: FrontierRow, step: 1 | -1): void {
  memory.windowSize += step;
  if (!row.browser) return;
  const rows = (memory.browserRows.get(row.host) ?? 0) + step;
  if (rows > 0) memory.browserRows.set(row.host, rows);
  else memory.browserRows.delete(row.host);
}
