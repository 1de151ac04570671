/**
 * Hands the steps of a job to the extractors and hears of them: each open step has a deadline that survives a restart,
 * so a lost task or a dead extractor costs time, never the job. A step ends once; later messages about it are ignored.
 */
import type { Effect, TurnContext } from '@troupe/actors';
import type { ActorKey, ErrorWire, ModelBusy, ModelDone, ModelTask, ModelWork, WorkPriority } from '@troupe/contracts';
import type { ModelJobState, OpenStep } from './model-job.state.js';

/** A task that no extractor has taken up is handed out again after this, then after twice as long, … */
export const QUEUE_PATIENCE_MS = 60_000;
const MAX_PATIENCE_MS = 900_000;
/**
 * Extractors report every twenty seconds on a running task. This is longer than the queue needs to give a dead
 * extractor's task to another one, which is the cheaper way.
 */
export const SILENCE_MS = 90_000;
/** Pauses after passing errors; a step that fails after the last one is given up. */
export const BACKOFF_MS = [2_000, 10_000, 30_000, 90_000];

const TIMER_PREFIX = 'step.';

/** How a step ended: recorded by the extractor, or given up. */
export type StepEnd =
  | { step: string; outcome: NonNullable<ModelDone['outcome']>; error: null }
  | { step: string; outcome: null; error: ErrorWire };

export interface DeskParts {
  key: ActorKey;
  state: ModelJobState;
  ctx: TurnContext;
  /** The work of a step, the same at every attempt. */
  workOf(step: string): { work: ModelWork; prio: WorkPriority };
  effects: Effect[];
}

export class StepDesk {
  constructor(private readonly parts: DeskParts) {}

  /** Hands out a step that was never begun. */
  begin(step: string): void {
    const open: OpenStep = { attempt: 1, unheard: 0, inWork: false, failures: 0, waiting: false, counted: 0 };
    this.parts.state.steps[step] = open;
    this.send(step, open);
  }

  busy({ step }: ModelBusy): void {
    const open = this.parts.state.steps[step];
    if (open === undefined || open.waiting) return;
    open.inWork = true;
    open.unheard = 0;
    this.setTimer(step, SILENCE_MS);
  }

  /** null: the step goes on, or was over before. */
  done({ step, attempt, tokens, credits, error, outcome }: ModelDone): StepEnd | null {
    const { state } = this.parts;
    const open = state.steps[step];
    if (open === undefined) return null;
    const hasResult = error === null && outcome !== null;
    if (hasResult || attempt > open.counted) {
      open.counted = Math.max(open.counted, attempt);
      state.tokens += tokens;
      state.pageCredits += credits;
    }
    if (hasResult) {
      this.close(step);
      return { step, outcome, error: null };
    }
    // A newer attempt is under way or waits for its time.
    if (attempt < open.attempt || open.waiting) return null;
    return this.failed(step, open, error ?? NO_ANSWER);
  }

  /** A timer of this desk; null: the step goes on, or the timer is another's. */
  timer(name: string): StepEnd | null {
    if (!name.startsWith(TIMER_PREFIX)) return null;
    const step = name.slice(TIMER_PREFIX.length);
    const open = this.parts.state.steps[step];
    if (open === undefined) return null;
    if (open.inWork) return this.failed(step, open, FELL_SILENT);
    if (!open.waiting) {
      open.attempt += 1;
      open.unheard += 1;
    }
    this.send(step, open);
    return null;
  }

  /** The results of the steps are no longer wanted. */
  drop(): void {
    for (const step of Object.keys(this.parts.state.steps)) this.close(step);
  }

  private failed(step: string, open: OpenStep, error: ErrorWire): StepEnd | null {
    const pauseMs = BACKOFF_MS[open.failures];
    if (!error.retryable || pauseMs === undefined) {
      this.close(step);
      return { step, outcome: null, error };
    }
    open.failures += 1;
    open.attempt += 1;
    open.unheard = 0;
    open.inWork = false;
    open.waiting = true;
    this.setTimer(step, pauseMs);
    return null;
  }

  private close(step: string): void {
    delete this.parts.state.steps[step];
    this.setTimer(step, null);
  }

  private send(step: string, open: OpenStep): void {
    const { key, state, ctx, workOf, effects } = this.parts;
    const { job, jobNo, team, keyId, createdMs } = state;
    const { work, prio } = workOf(step);
    const { attempt } = open;
    const deadlineMs = Math.max(0, createdMs + state.spec!.timeoutMs - ctx.wallMs);
    const msg: ModelTask = {
      type: 'ModelTask',
      actor: key,
      job,
      jobNo,
      team,
      keyId,
      step,
      attempt,
      deadlineMs,
      work,
    };
    open.waiting = false;
    effects.push({ t: 'work', cls: 'llm', prio, id: `llm.${job}.${step}.${attempt}`, msg });
    this.setTimer(step, Math.min(MAX_PATIENCE_MS, QUEUE_PATIENCE_MS * 2 ** open.unheard));
  }

  private setTimer(step: string, inMs: number | null): void {
    this.parts.effects.push({ t: 'timer', name: TIMER_PREFIX + step, inMs });
  }
}

const NO_ANSWER: ErrorWire = {
  code: 'UNKNOWN_ERROR',
  message: 'the extractor gave no answer',
  retryable: true,
  httpStatus: 500,
};
const FELL_SILENT: ErrorWire = {
  code: 'UNKNOWN_ERROR',
  message: 'the extractor stopped in the middle of the work, again and again',
  retryable: true,
  httpStatus: 500,
};
