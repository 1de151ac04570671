import type { ModelAccess } from '@troupe/contracts';
import type { LanguageModel, ModelAnswer, ModelQuestion } from './model.js';
import { ModelError } from './model-error.js';
import { writePrompt } from './prompt.js';
import { openClient } from './providers/open-client.js';
import type { ChatClient } from './providers/provider.js';
import type { Transport } from './transport.js';

export class ChatModel implements LanguageModel {
  private client: Promise<ChatClient> | null = null;

  constructor(
    private readonly access: ModelAccess,
    private readonly transport: Transport,
    readonly contextTokens: number,
  ) {}

  countTokens(text: string): number {
    return Math.ceil(text.length / 4);
  }

  async ask(question: ModelQuestion, { deadlineMs, signal }: { deadlineMs: number; signal: AbortSignal }) {
    this.client ??= openClient(this.access, { contextTokens: this.contextTokens });
    const client = await this.client;
    const { system, user } = writePrompt(question, null);
    const reply = await client.ask({
      system,
      user,
      form: question.schema === null ? null : { rung: 'schema', schema: question.schema, strict: false },
      tools: [],
      maxAnswerTokens: question.maxAnswerTokens ?? null,
      habits: { systemRole: true, temperature: true, stream: false },
      fetch: this.transport.open().fetch,
      signal: AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]),
    });
    const tokens = reply.usage ?? { prompt: this.countTokens(system + user), answer: this.countTokens(reply.text) };
    return { value: this.valueOf(question, reply.text), toolCalls: [], tokens, notes: [] } satisfies ModelAnswer;
  }

  private valueOf({ schema }: ModelQuestion, text: string): unknown {
    if (schema === null) return text;
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw new ModelError('SCRAPE_JSON_FAILED', 'the model did not answer with JSON', { cause });
    }
  }
}
