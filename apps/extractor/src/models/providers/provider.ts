/** A provider's client as the rest of this folder sees it: one request and one reply in any dialect. */
import type { JsonSchema, ModelAccess } from '@troupe/contracts';
import type { TokenCount, Tool } from '../model.js';

/**
 * Ways of asking for structured output, the most reliable one first: the provider keeps to the schema; a tool is called
 * whose parameters are the schema; the provider keeps to JSON and the schema is given in words; everything is given in
 * words.
 */
export const RUNGS = ['schema', 'tool', 'json', 'words'] as const;
export type Rung = (typeof RUNGS)[number];

export interface ChatRequest {
  system: string;
  user: string;
  /** null: the answer is a text. */
  form: AnswerForm | null;
  /** Tools beside the answer's own, at the rung `tool` only. */
  tools: readonly Tool[];
  /** null: the provider's default. */
  maxAnswerTokens: number | null;
  habits: Habits;
  fetch: typeof fetch;
  signal: AbortSignal;
}

export interface AnswerForm {
  rung: Rung;
  /** Always the schema of an object. */
  schema: JsonSchema;
  /** The schema keeps to what OpenAI's strict mode demands. */
  strict: boolean;
}

/** Options that a server accepts; narrowed when it refuses one. */
export interface Habits {
  systemRole: boolean;
  temperature: boolean;
  stream: boolean;
}

export interface ChatReply {
  /** The answer; of a called answer tool its arguments. */
  text: string;
  /** Calls of other tools than the answer's. */
  toolCalls: { name: string; arguments: Record<string, unknown> }[];
  end: 'whole' | 'truncated' | 'filtered';
  /** The model's words instead of an answer. */
  refusal: string | null;
  /** null: the provider reported none. */
  usage: TokenCount | null;
}

export interface ChatClient {
  readonly rungs: readonly Rung[];
  /** Answer tokens that are asked for where a call names none; null: none are named. */
  readonly answerTokens: number | null;
  ask(request: ChatRequest): Promise<ChatReply>;
}

/** Name of the tool whose parameters are the answer. */
export const ANSWER_TOOL = 'answer';

export type OpenClient = (access: ModelAccess, options: { contextTokens: number }) => Promise<ChatClient>;
