/** Commands of a gateway to a started job: append seeds, pause, resume. All of them are levels: the newest wins. */
import { parseActorKey, type ActorKey, type ActorMessage, type Append, type PauseNews } from '@troupe/contracts';
import type { Effect, Incoming } from '@troupe/actors';
import type { JobMemory, JobState } from './job.state.js';

/** Commands that also reach a job that is over: a completed batch opens again, and every command needs its receipt. */
export const LATE_COMMANDS = ['Append', 'Pause', 'Cancel'] as const;

/** A cancel that came before its job waits so long for the start. */
const START_PATIENCE_MS = 3_600_000;
export const EARLY_CANCEL = 'early-cancel';

/** True when a batch that takes seeds has new ones. A batch that has not begun remembers them. */
export function append(state: JobState, memory: JobMemory, { toOrd }: Append): boolean {
  const hasFailed = state.status === 'cancelled' || state.status === 'failed';
  if (hasFailed || toOrd <= state.seeds.total) return false;
  state.seeds.total = toOrd;
  state.limit = toOrd;
  if (state.status === 'completed') reopen(state, memory);
  return true;
}

function reopen(state: JobState, memory: JobMemory): void {
  state.phase = 'running';
  state.status = 'scraping';
  memory.closingSince = null;
  memory.released.clear();
}

/** Fetchers drop the kickoff work of a paused job: after the pause it is asked for anew. */
export function notePause(state: JobState, memory: JobMemory, { v, paused }: PauseNews): void {
  if (v <= state.pauseV) return;
  state.pauseV = v;
  state.paused = paused;
  if (!paused) memory.kicks.clear();
}

/**
 * Receipts, by which the commands of a batch of messages are not sent again. Start is recorded under the id of its job.
 */
export function receipts(key: ActorKey, batch: readonly Incoming[]): Effect[] {
  return batch.flatMap(({ body }): Effect[] => {
    if (body.type === 'Start') return [startReceipt(key)];
    if (body.type === 'Cancel') return body.cmd === undefined ? [] : [receipt(body.cmd)];
    return body.type === 'Append' || body.type === 'Pause' ? [receipt(body.cmd)] : [];
  });
}

/** For an actor that was cancelled before its start: it ends with its start, or after an hour without one. */
export function restUntilStart(state: { phase: string; cancelled?: boolean }, batch: readonly Incoming[]): Effect[] {
  const isTooLate = batch.some(({ body }) => body.type === 'Timer' && body.name === EARLY_CANCEL);
  if (state.cancelled === true && isTooLate) state.phase = 'over';
  const isNew = batch.some(({ body }) => body.type === 'Cancel');
  return isNew ? [{ t: 'timer', name: EARLY_CANCEL, inMs: START_PATIENCE_MS }] : [];
}

/**
 * Receipts of a message that cannot be handled. Neither it nor the start of its job, which fails, is to be sent again.
 */
export function receiptsOfLost(key: ActorKey, lost: ActorMessage | null): Effect[] {
  const own = lost === null || lost.type === 'Start' ? [] : receipts(key, [{ from: key, body: lost }]);
  return [startReceipt(key), ...own];
}

/** Fails a job of which only the id is known. */
export function failedById(key: ActorKey, error: string): Effect {
  return { t: 'row', row: { op: 'job.fail', job: parseActorKey(key).id, error } };
}

function startReceipt(key: ActorKey): Effect {
  return receipt(parseActorKey(key).id);
}

function receipt(id: string): Effect {
  return { t: 'row', row: { op: 'command.delete', id } };
}
