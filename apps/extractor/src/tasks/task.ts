/** Does a step of a job. The caller has looked for the step's record before, and writes it afterwards. */
import type { ModelDone, ModelTask, ModelWork } from '@troupe/contracts';

export interface StepResult {
  /** Outcome for the job. It is told again whenever the task comes again. */
  outcome: NonNullable<ModelDone['outcome']>;
  /** Value for later steps of the job. */
  value: unknown;
  tokens: number;
  /** Credits for the pages that the step had scraped. */
  credits: number;
}

/** `model_step.result` */
export type RecordedResult = Pick<StepResult, 'outcome' | 'value'>;

export interface TaskHandler<W extends ModelWork> {
  /** @throws TroupeError, `retryable` when the step may be tried again; a ModelError names the tokens that were used */
  run(task: ModelTask & { work: W }, signal: AbortSignal): Promise<StepResult>;
}
