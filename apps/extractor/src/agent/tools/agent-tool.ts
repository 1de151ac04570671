/** A tool of an agent. A tool that fails says so in its observation; it never ends the run. */
import type { ModelTask, ModelWork } from '@troupe/contracts';
import type { LanguageModel, Tool } from '../../models/model.js';
import type { Observation } from '../agent-step.js';

export type ActTask = ModelTask & { work: Extract<ModelWork, { what: 'act' }> };

export interface ToolContext {
  task: ActTask;
  /** A model that counts its tokens. */
  model: LanguageModel;
  /** The most text that one question may hold. */
  maxTokens: number;
  /** Remaining time of the step. */
  leftMs(): number;
  signal: AbortSignal;
}

export interface ToolResult {
  observation: Observation;
  credits: number;
}

export interface AgentTool {
  /** The tool as the model sees it. */
  readonly tool: Tool;
  /** @throws ToolRefusal for arguments that make no sense, TroupeError for a failure */
  run(input: Record<string, unknown>, context: ToolContext): Promise<ToolResult>;
}

/** Thrown when a call makes no sense; the text is for the model. */
export class ToolRefusal extends Error {
  constructor(
    message: string,
    /** Cost of the work that was done before the tool failed. */
    readonly credits = 0,
  ) {
    super(message);
    this.name = 'ToolRefusal';
  }
}

const MAX_TEXT_CHARS = 2_000;

export function textArgument(input: Record<string, unknown>, name: string): string {
  const value = input[name];
  if (typeof value !== 'string' || value.trim() === '' || value.length > MAX_TEXT_CHARS)
    throw new ToolRefusal(`"${name}" must be a text of 1 to ${MAX_TEXT_CHARS} characters`);
  return value.trim();
}
