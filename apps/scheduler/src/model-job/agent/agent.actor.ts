/**
 * `agent/<job>`: one move after another, each made by an extractor, until one of them is the answer. Moves and credits
 * are bounded: an agent that has used them up is asked for its answer with what it has seen.
 */
import type { ActorDef } from '@troupe/actors';
import { actStep, tokenCredits, type AgentSpec, type ModelWork, type WorkPriority } from '@troupe/contracts';
import { modelJobActor, type Course, type ModelJobMemory, type Move } from '../model-job.actor.js';
import { warn } from '../model-job.state.js';
import type { StepEnd } from '../step-desk.js';
import { emptyAgent, type AgentState } from './agent.state.js';

export interface AgentOptions {
  /** Limit of a run that names none. */
  maxCredits: number;
}

/** Moves of a run, the answer among them. */
export const MAX_MOVES: Record<AgentSpec['effort'], number> = { low: 10, medium: 20, high: 40 };

const CREDITS_USED_UP = 'The credits of the run were used up: the answer was made of what had been found until then.';
const MOVES_USED_UP = 'The steps of the run were used up: the answer was made of what had been found until then.';

export function agentActor(options: AgentOptions): ActorDef<AgentState, ModelJobMemory> {
  return modelJobActor(courseFor(options));
}

function courseFor(options: AgentOptions): Course<AgentState> {
  return {
    kind: 'agent',
    empty: emptyAgent,
    workOf: (state) => ({ work: nextMove(state, options), prio: PRIO }),
    settle: (state, end) => settle(state, end, options),
    next,
    progress: ({ done, spec }) => ({ total: MAX_MOVES[spec!.effort], completed: done }),
    shownEvents: ({ done, answered }) => (answered ? done - 1 : done),
  };
}

/** The rest of the run waits for each move. */
const PRIO: WorkPriority = 'hi';

function nextMove(state: AgentState, options: AgentOptions): ModelWork {
  const n = state.done + 1;
  const creditsLeft = n >= MAX_MOVES[state.spec!.effort] ? 0 : creditsLeftOf(state, options);
  return { what: 'act', spec: state.spec!, n, creditsLeft };
}

function creditsLeftOf({ spec, tokens, pageCredits }: AgentState, { maxCredits }: AgentOptions): number {
  return Math.max(0, (spec!.maxCredits ?? maxCredits) - tokenCredits(tokens) - pageCredits);
}

function settle(state: AgentState, { outcome, error }: StepEnd, options: AgentOptions): void {
  if (outcome === null) {
    state.fatal = error.message;
    return;
  }
  state.done += 1;
  warn(state, outcome.warning);
  state.answered = outcome.what === 'acted' && outcome.end === 'answered';
  if (state.answered) return;
  if (creditsLeftOf(state, options) === 0) warn(state, CREDITS_USED_UP);
  else if (state.done + 1 === MAX_MOVES[state.spec!.effort]) warn(state, MOVES_USED_UP);
}

function next(state: AgentState): Move {
  if (state.fatal !== null) return { end: { status: 'failed', error: state.fatal } };
  if (state.answered) return { end: { status: 'completed', error: null } };
  if (state.done >= MAX_MOVES[state.spec!.effort])
    return { end: { status: 'failed', error: 'The agent did not come to an answer' } };
  const step = actStep(state.done + 1);
  return { begin: state.steps[step] === undefined ? [step] : [] };
}
