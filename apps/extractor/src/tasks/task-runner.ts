/**
 * Steps of jobs: done once, recorded, then told to the job's actor. A step whose record is there is only told again, so a
 * task that comes twice, or to a successor of an extractor that died, asks no site and no model a second time.
 */
import { randomUUID } from 'node:crypto';
import {
  errorToWire,
  isTroupeError,
  timeoutSignal,
  TroupeError,
  type ModelBusy,
  type ModelDone,
  type ModelTask,
  type ModelWork,
  type Tracer,
  type Uuid,
} from '@troupe/contracts';
import { publishWithRetry, type ActorBus, type CancelBoard } from '@troupe/messaging';
import type { ModelStep, ModelSteps } from '@troupe/persistence';
import { ModelError } from '../models/model.js';
import type { RecordedResult, StepResult, TaskHandler } from './task.js';

export type TaskHandlers = {
  [What in ModelWork['what']]?: TaskHandler<Extract<ModelWork, { what: What }>>;
};

export interface TaskRunnerParts {
  instance: string;
  steps: Pick<ModelSteps, 'find' | 'record'>;
  mailboxes: Pick<ActorBus, 'publishActor'>;
  cancels: Pick<CancelBoard, 'isCancelled' | 'onCancel'>;
  handlers: TaskHandlers;
  /** @default nothing is recorded */
  tracer?: Tracer;
  /** How often the actor hears of a step in work. @default 20_000 */
  busyMs?: number;
  /** How long a step in work may go on once the process drains. @default 8_000 */
  graceMs?: number;
}

/** undefined: the message is settled. */
export type TaskEnd = void | { retryMs: number };

const BUSY_MS = 20_000;
const GRACE_MS = 8_000;
/** Wait before another extractor takes up the work of a stopping one. */
const HANDED_BACK_MS = 500;

/** A step in work here. */
interface Run {
  job: Uuid;
  abort: AbortController;
}

export class TaskRunner {
  private readonly runs = new Map<string, Run>();
  private readonly unlisten: () => void;
  private draining = false;

  constructor(private readonly parts: TaskRunnerParts) {
    this.unlisten = parts.cancels.onCancel((job) => this.cancelled(job));
  }

  /** Resolves when the actor was told, or when the result is no longer wanted; throws to ask for redelivery. */
  async run(task: ModelTask): Promise<TaskEnd> {
    if (this.draining) return { retryMs: HANDED_BACK_MS };
    const key = `${task.jobNo} ${task.step}`;
    // A repeat that came while the step is in work here: its end is told by the run that is under way.
    if (this.runs.has(key) || this.parts.cancels.isCancelled(task.job)) return;
    const run: Run = { job: task.job, abort: new AbortController() };
    this.runs.set(key, run);
    try {
      return await this.work(task, run.abort.signal);
    } finally {
      this.runs.delete(key);
    }
  }

  /** Begins no further step; those in work have a short while, then they are handed back. */
  drain(): void {
    this.draining = true;
    this.unlisten();
    setTimeout(() => {
      for (const { abort } of this.runs.values()) abort.abort(new Draining());
    }, this.parts.graceMs ?? GRACE_MS).unref();
  }

  private async work(task: ModelTask, signal: AbortSignal): Promise<TaskEnd> {
    const known = await this.parts.steps.find(task.jobNo, task.step);
    if (known !== null) return this.tellRecorded(task, known);
    const timeout = timeoutSignal(Math.max(1, Math.min(task.deadlineMs, MAX_TIMER_MS)));
    const until = AbortSignal.any([signal, timeout]);
    const done = await this.whileTelling(task, () => this.attempt(task, until));
    if (signal.aborted) return signal.reason instanceof Draining ? { retryMs: HANDED_BACK_MS } : undefined;
    if ('error' in done) return this.tellFailure(task, done.error, timeout.aborted);
    const { outcome, value, tokens, credits } = done;
    const result: RecordedResult = { outcome, value };
    return this.tellRecorded(
      task,
      await this.parts.steps.record(task.jobNo, { step: task.step, tokens, credits, result }),
    );
  }

  private async attempt(task: ModelTask, signal: AbortSignal): Promise<StepResult | { error: unknown }> {
    try {
      return await this.handle(task, signal);
    } catch (error) {
      return { error };
    }
  }

  private handle(task: ModelTask, signal: AbortSignal): Promise<StepResult> {
    const handler: TaskHandler<ModelWork> | undefined = this.parts.handlers[task.work.what];
    if (handler === undefined) throw new TroupeError('NOT_SUPPORTED', `No extractor knows ${task.work.what}`);
    return handler.run(task, signal);
  }

  private async whileTelling<T>({ actor, step, attempt }: ModelTask, work: () => Promise<T>): Promise<T> {
    const body: ModelBusy = { type: 'ModelBusy', step, attempt };
    // A level message: a lost one is made up for by the next.
    const tell = (): void => void this.publish(actor, body).catch(() => undefined);
    tell();
    const timer = setInterval(tell, this.parts.busyMs ?? BUSY_MS);
    try {
      return await work();
    } finally {
      clearInterval(timer);
    }
  }

  private tellRecorded({ actor, step, attempt }: ModelTask, { tokens, credits, result }: ModelStep): Promise<void> {
    const { outcome } = result as RecordedResult;
    return this.publish(actor, { type: 'ModelDone', step, attempt, tokens, credits, error: null, outcome });
  }

  private tellFailure({ actor, step, attempt }: ModelTask, error: unknown, isLate: boolean): Promise<void> {
    const tokens = error instanceof ModelError ? error.tokens.prompt + error.tokens.answer : 0;
    const wire = errorToWire(isLate && !isTroupeError(error) ? outOfTime(error) : error);
    // An unforeseen error may be a database that restarts: the actor bounds how often it is tried.
    const known = isTroupeError(error) ? wire : { ...wire, retryable: !isLate };
    return this.publish(actor, { type: 'ModelDone', step, attempt, tokens, credits: 0, error: known, outcome: null });
  }

  private publish(to: ModelTask['actor'], body: ModelBusy | ModelDone): Promise<void> {
    const from = `w/${this.parts.instance}` as const;
    const trace = this.parts.tracer?.active();
    const envelope = { id: `w.${randomUUID()}`, type: body.type, v: 1, from, to, n: null, body, trace };
    return publishWithRetry(this.parts.mailboxes, envelope);
  }

  private cancelled(job: Uuid): void {
    for (const run of this.runs.values()) if (run.job === job) run.abort.abort(new JobCancelled());
  }
}

/** Longest time that a timer of the runtime can count. */
const MAX_TIMER_MS = 2 ** 31 - 1;

class Draining extends Error {}
class JobCancelled extends Error {}

function outOfTime(cause: unknown): TroupeError {
  return new TroupeError('SCRAPE_TIMEOUT', 'The job ran out of time', { cause });
}
