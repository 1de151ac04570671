/** The model calls for one format of one page: their used tokens, their remaining budget, and their deadline. */
import { estimateTokens } from '@troupe/extraction';
import type { JsonSchema, Uuid } from '@troupe/contracts';
import type { LanguageModel, ModelQuestion } from '../models/model.js';
import { ModelError } from '../models/model-error.js';
import { takeTurn } from './turns.js';

export interface CallLimits {
  model: LanguageModel;
  team: Uuid;
  /** Tokens of prompts and answers together. The first call is made whatever they are. */
  budgetTokens: number;
  /** On the clock of `performance.now()`. */
  endsAtMs: number;
  signal: AbortSignal;
}

/** Marks of the blocks, their rules and reminder. */
const LAYOUT_TOKENS = 350;
const ANSWER_SHARE = 0.2;
const ANSWER_BASE_TOKENS = 100;
const MAX_NOTES = 5;

export class PageCalls {
  private readonly notes: string[] = [];
  private usedTokens = 0;
  private reserved = 0;

  constructor(private readonly limits: CallLimits) {}

  /** Tokens of all calls that have ended, the failed ones included. */
  get used(): number {
    return this.usedTokens;
  }

  /** Tokens of page text that fit into a call beside the prompt. */
  roomBeside(promptTokens: number): number {
    const { model, budgetTokens } = this.limits;
    const room = model.contextTokens - promptTokens;
    const affordable = (budgetTokens - promptTokens - ANSWER_BASE_TOKENS) / (1 + ANSWER_SHARE);
    return Math.floor(Math.max(Math.min(room, affordable), Math.min(model.contextTokens, budgetTokens) / 2));
  }

  /**
   * Reserves tokens for a call over so much text. False when the budget, less the spared share, has no room for them.
   */
  reserve(promptTokens: number, textTokens: number, { spare = 0 } = {}): boolean {
    const cost = costOf(promptTokens, textTokens);
    const committed = this.usedTokens + this.reserved;
    if (committed > 0 && committed + cost > this.limits.budgetTokens * (1 - spare)) return false;
    this.reserved += cost;
    return true;
  }

  /** Ends the reservation of a call. From then on its used tokens count. */
  release(promptTokens: number, textTokens: number): void {
    this.reserved -= costOf(promptTokens, textTokens);
  }

  /** @param limits.share of the time that is left. @throws ModelError, or the signal's reason */
  async ask(question: Omit<ModelQuestion, 'team'>, { share = 1 } = {}): Promise<unknown> {
    const { model, team, endsAtMs, signal } = this.limits;
    await takeTurn();
    signal.throwIfAborted();
    const deadlineMs = Math.floor((endsAtMs - performance.now()) * share);
    if (deadlineMs <= 0) throw new ModelError('SCRAPE_TIMEOUT', 'The language model did not answer within the time');
    try {
      const { value, tokens, notes } = await model.ask({ ...question, team }, { deadlineMs, signal });
      this.count(tokens);
      this.notes.push(...notes);
      return value;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ModelError) this.count(error.tokens);
      throw error;
    }
  }

  note(notes: readonly string[]): void {
    this.notes.push(...notes);
  }

  /** Changes that made answers fit, in short. */
  warnings(): string[] {
    const distinct = [...new Set(this.notes)];
    if (distinct.length === 0) return [];
    const more = distinct.length > MAX_NOTES ? ` and ${distinct.length - MAX_NOTES} more` : '';
    return [`Values were adapted to the schema: ${distinct.slice(0, MAX_NOTES).join('; ')}${more}.`];
  }

  private count({ prompt, answer }: { prompt: number; answer: number }): void {
    this.usedTokens += prompt + answer;
  }
}

function costOf(promptTokens: number, textTokens: number): number {
  return promptTokens + textTokens * (1 + ANSWER_SHARE) + ANSWER_BASE_TOKENS;
}

/** Tokens of a call without its data. */
export function promptTokens(instructions: string, request: string | null, schema: JsonSchema | null): number {
  const schemaTokens = schema === null ? 0 : estimateTokens(JSON.stringify(schema));
  return LAYOUT_TOKENS + estimateTokens(instructions) + estimateTokens(request ?? '') + schemaTokens;
}
