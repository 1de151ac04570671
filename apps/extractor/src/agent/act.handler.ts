/**
 * One move of an agent: a model is shown the request and what was seen so far, and calls a tool or answers. The result
 * of a tool is recorded with the step and shown in the next one. A model never gets its tools, its budget or its orders
 * from a page: results are data blocks, and the tools are chosen here.
 */
import { tokenCredits, TOKENS_PER_CREDIT } from '@troupe/contracts';
import type { ModelSteps } from '@troupe/persistence';
import type { LanguageModel, ModelAnswer, Models } from '../models/model.js';
import type { StepResult, TaskHandler } from '../tasks/task.js';
import {
  doneBefore,
  STEP_PREFIX,
  stepsOf,
  type AgentAction,
  type AgentStep,
  type AgentStepValue,
  type Observation,
} from './agent-step.js';
import { MeteredModel } from './metered-model.js';
import { ANSWER_INSTRUCTIONS, FREE_ANSWER, MOVE_INSTRUCTIONS, requestOf } from './prompts.js';
import { ToolRefusal, type ActTask, type AgentTool, type ToolContext, type ToolResult } from './tools/agent-tool.js';
import { failureCredits } from './tools/page-visit.js';
import { transcriptOf } from './transcript.js';

export interface ActParts {
  models: Models;
  steps: Pick<ModelSteps, 'list' | 'keepResult'>;
  /** Tools that an agent may use; `answer` is always there. */
  toolsFor(spec: ActTask['work']['spec']): readonly AgentTool[];
  /** Monotonic milliseconds. @default performance.now */
  now?: () => number;
}

/** Name under which the last step is recorded. */
const ANSWER = 'answer';
/** Part of the remaining credits that one question may cost at most. */
const BUDGET_SHARE = 1 / 3;
const MIN_DATA_TOKENS = 1_000;
/** Data that the last answer may look at when the credits are used up. */
const LAST_DATA_TOKENS = 6_000;
const MAX_SHOWN_INPUT_CHARS = 4_000;

/** The context of one step. */
interface Move extends ToolContext {
  model: MeteredModel;
  steps: AgentStep[];
  /** Credits used when the step began. */
  creditsUsed: number;
}

interface Call {
  action: string;
  input: Record<string, unknown>;
}
type Choice = { answer: Pick<ModelAnswer, 'value' | 'notes'> } | Call;

export class ActHandler implements TaskHandler<ActTask['work']> {
  private readonly now: () => number;

  constructor(private readonly parts: ActParts) {
    this.now = parts.now ?? (() => performance.now());
  }

  async run(task: ActTask, signal: AbortSignal): Promise<StepResult> {
    const move = await this.prepare(task, signal);
    const choice = task.work.creditsLeft > 0 ? await this.choose(move) : { answer: await this.lastAnswer(move) };
    return 'answer' in choice ? this.finish(move, choice.answer) : this.act(move, choice);
  }

  private async prepare(task: ActTask, signal: AbortSignal): Promise<Move> {
    const startedMs = this.now();
    const { team, jobNo, deadlineMs, work } = task;
    const [model, recorded] = await Promise.all([
      this.parts.models.of(team),
      this.parts.steps.list(jobNo, STEP_PREFIX),
    ]);
    return {
      task,
      model: new MeteredModel(model),
      steps: stepsOf(recorded).filter(({ n }) => n < work.n),
      creditsUsed: recorded.reduce((sum, { credits }) => sum + credits, 0) + tokenCredits(sumOfTokens(recorded)),
      maxTokens: dataTokens(model, work.creditsLeft),
      leftMs: () => deadlineMs - (this.now() - startedMs),
      signal,
    };
  }

  /** @throws ModelError when the model gives neither a call nor an answer that fits */
  private async choose(move: Move): Promise<Choice> {
    const tools = this.parts.toolsFor(move.task.work.spec).map(({ tool }) => tool);
    const asked = { ...questionOf(move), instructions: MOVE_INSTRUCTIONS, tools };
    const answer = await move.model.ask(asked, limitsOf(move));
    const call = answer.toolCalls[0];
    return call === undefined ? { answer } : { action: call.name, input: call.arguments };
  }

  /** Asks for the answer from the present observations, without tools. */
  private lastAnswer(move: Move): Promise<ModelAnswer> {
    const asked = { ...questionOf(move), instructions: ANSWER_INSTRUCTIONS };
    return move.model.ask(asked, limitsOf(move));
  }

  private async finish(move: Move, { value, notes }: Pick<ModelAnswer, 'value' | 'notes'>): Promise<StepResult> {
    await this.parts.steps.keepResult(move.task.jobNo, { data: value, sources: {} });
    const step = { action: { action: ANSWER, input: {} }, observation: { text: '', url: null }, credits: 0 };
    return result(move, step, { end: 'answered', warning: notes.length === 0 ? null : notes.join(' ') });
  }

  private async act(move: Move, { action, input }: Call): Promise<StepResult> {
    const { observation, credits } = await this.use(move, { action, input });
    const step = { action: { action, input: shownInput(input) }, observation, credits };
    return result(move, step, { end: null, warning: null });
  }

  private async use(move: Move, { action, input }: Call): Promise<ToolResult> {
    const tool = this.parts.toolsFor(move.task.work.spec).find(({ tool }) => tool.name === action);
    if (tool === undefined) return refused(`There is no tool "${action}"`);
    const earlier = doneBefore(move.steps, { action, input: shownInput(input) });
    if (earlier !== undefined) return refused(`This was done in step ${earlier.n} already`);
    try {
      return await tool.run(input, move);
    } catch (error) {
      move.signal.throwIfAborted();
      return failed(error);
    }
  }
}

function questionOf({ task, steps, model, maxTokens }: Move) {
  return {
    purpose: 'agent',
    team: task.team,
    request: requestOf(task.work.spec),
    schema: task.work.spec.schema ?? FREE_ANSWER,
    data: transcriptOf(steps, model, maxTokens),
  };
}

function limitsOf({ leftMs, signal }: Move) {
  return { deadlineMs: Math.max(1, Math.floor(leftMs())), signal };
}

function dataTokens({ contextTokens }: LanguageModel, creditsLeft: number): number {
  if (creditsLeft <= 0) return Math.min(contextTokens, LAST_DATA_TOKENS);
  const share = Math.floor(creditsLeft * TOKENS_PER_CREDIT * BUDGET_SHARE);
  return Math.min(contextTokens, Math.max(MIN_DATA_TOKENS, share));
}

function sumOfTokens(recorded: readonly { tokens: number }[]): number {
  return recorded.reduce((sum, { tokens }) => sum + tokens, 0);
}

interface Made {
  action: Omit<AgentAction, 'creditsUsed'>;
  observation: Observation;
  credits: number;
}

function result(
  { model, creditsUsed }: Move,
  { action, observation, credits }: Made,
  end: { end: 'answered' | null; warning: string | null },
): StepResult {
  const value: AgentStepValue = { action: { creditsUsed, ...action }, observation };
  return { outcome: { what: 'acted', ...end }, value, tokens: model.tokens, credits };
}

function refused(text: string, credits = 0): ToolResult {
  return { observation: { url: null, text }, credits };
}

function failed(error: unknown): ToolResult {
  if (error instanceof ToolRefusal) return refused(error.message, error.credits);
  const reason = error instanceof Error ? error.message : String(error);
  return refused(`This did not work: ${reason}`, failureCredits(error));
}

/** The arguments come from the model and may have any size. */
function shownInput(input: Record<string, unknown>): Record<string, unknown> {
  return JSON.stringify(input).length <= MAX_SHOWN_INPUT_CHARS ? input : { note: 'too long to be kept' };
}
