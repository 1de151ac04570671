/**
 * A language model as the chains of this service see it: one call in, one value that satisfies its schema out. It hides
 * the provider, its way of structured output, repairs, rate limits and the counting of tokens.
 */
import type { JsonSchema, Uuid } from '@troupe/contracts';
import type { TokenCount } from './token-count.js';

/** Untrusted text: pages, answers of tools. It is delimited, escaped and never taken for instructions. */
export interface DataBlock {
  /** Kind of the text, in our words: `page`, `previous version`, `search results`. */
  label: string;
  /** Address of the text; shown to the model as data. */
  url: string | null;
  text: string;
}

/** A tool that the model may call. Only an agent is ever offered tools, and no page ever tells it how to use them. */
export interface Tool {
  name: string;
  description: string;
  parameters: JsonSchema;
}

export interface ModelQuestion {
  /** Purpose of the call, for metrics and logs: `json`, `summary`, `plan` … */
  purpose: string;
  team: Uuid;
  /** Our own instructions. */
  instructions: string;
  /** The caller's words, trusted as much as the caller; null: none. */
  request: string | null;
  data: readonly DataBlock[];
  /** The answer satisfies it; null: the answer is text. */
  schema: JsonSchema | null;
  /** @default none */
  tools?: readonly Tool[];
  /** @default by the model's configuration */
  maxAnswerTokens?: number;
}

export interface ModelAnswer {
  /** A value that satisfies the schema, or a text. */
  value: unknown;
  /** Calls of tools instead of a value; empty unless tools were offered. */
  toolCalls: { name: string; arguments: Record<string, unknown> }[];
  /** Sum over all calls that were made for the answer, repairs included. Counted by the provider, else estimated. */
  tokens: TokenCount;
  /** Changes that made the value fit: `price: "9 €" became 9`. */
  notes: string[];
}

/**
 * Thrown when a model gives no usable answer. `tokens` were used all the same. `retryable`: the provider was busy or
 * down beyond our patience. Codes: `SCRAPE_JSON_FAILED`, `SCRAPE_TIMEOUT` (the deadline came first), `NOT_SUPPORTED`
 * (no model).
 */
export { ModelError } from './model-error.js';
export type { TokenCount } from './token-count.js';

export interface LanguageModel {
  /** @param signal ends the call; the tokens used until then are in the error. @throws ModelError */
  ask(question: ModelQuestion, limits: { deadlineMs: number; signal: AbortSignal }): Promise<ModelAnswer>;
  /** Tokens of a text for this model, as near as it can be told without asking. */
  countTokens(text: string): number;
  /** Tokens of data that fit into one call. */
  readonly contextTokens: number;
}

/** The model of a team: its own, or the installation's. */
export interface Models {
  /** @throws ModelError NOT_SUPPORTED without any */
  of(team: Uuid): Promise<LanguageModel>;
}

/** `Models` */
export const MODELS = Symbol('models');
