/** The recorded steps of an agent: an action each, and its observation. */
import type { ModelStep } from '@troupe/persistence';
import { isDeepStrictEqual } from 'node:util';

/** The `data` of an `agent.action` event. */
export interface AgentAction {
  /** Cost of the run when the action was chosen. */
  creditsUsed: number;
  action: string;
  input: Record<string, unknown>;
}

/** The outcome of an action. Its text is not trusted. */
export interface Observation {
  /** Address of the text; null: it is our own. */
  url: string | null;
  text: string;
}

export interface AgentStep {
  n: number;
  action: AgentAction;
  observation: Observation;
}

/** `value` of the recorded result of a step. */
export type AgentStepValue = Omit<AgentStep, 'n'>;

export const STEP_PREFIX = 'act/';

export function stepsOf(recorded: readonly ModelStep[]): AgentStep[] {
  return recorded
    .map(({ step, result }) => ({
      n: Number(step.slice(STEP_PREFIX.length)),
      ...(result as { value: AgentStepValue }).value,
    }))
    .sort((a, b) => a.n - b.n);
}

/** An earlier step that did the same, so that it need not be repeated. */
export function doneBefore(
  steps: readonly AgentStep[],
  { action, input }: Pick<AgentAction, 'action' | 'input'>,
): AgentStep | undefined {
  return steps.find((step) => step.action.action === action && isDeepStrictEqual(step.action.input, input));
}
