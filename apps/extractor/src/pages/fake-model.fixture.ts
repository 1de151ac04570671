/** For specs: a model whose answers are a function of the question. */
import type { LanguageModel, ModelQuestion, Models } from '../models/model.js';
import { ModelError } from '../models/model-error.js';
import type { CheckedValue, SchemaCheck } from '../models/schema-check.js';

export type Brain = (question: ModelQuestion, limits: { deadlineMs: number; signal: AbortSignal }) => unknown;

export class FakeModel implements LanguageModel, Models {
  readonly asked: ModelQuestion[] = [];
  contextTokens = 1000;
  /** Data of more characters is refused as too long. */
  maxChars = Infinity;

  constructor(private readonly brain: Brain) {}

  async of(): Promise<LanguageModel> {
    return this;
  }

  countTokens(text: string): number {
    return text.length;
  }

  async ask(question: ModelQuestion, limits: { deadlineMs: number; signal: AbortSignal }) {
    this.asked.push(question);
    const tokens = { prompt: 10, answer: 1 };
    const chars = question.data.reduce((sum, { text }) => sum + text.length, 0);
    if (chars > this.maxChars) throw new ModelError('SCRAPE_JSON_FAILED', 'too long', { tokens, isTooLong: true });
    return { value: await this.brain(question, limits), toolCalls: [], tokens, notes: [] };
  }

  /** Texts of the data, call by call. */
  texts(): string[] {
    return this.asked.map(({ data }) => data.map(({ text }) => text).join('\n---\n'));
  }
}

/** Every field that the schema requires is there. */
export const requiredOnly: SchemaCheck = async (schema, value): Promise<CheckedValue> => {
  const missing = ((schema.required ?? []) as string[]).filter(
    (name) => (value as Record<string, unknown>)[name] == null,
  );
  if (missing.length > 0) return { ok: false, problem: `missing: ${missing.join(', ')}` };
  return { ok: true, value, notes: [] };
};
