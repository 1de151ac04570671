/** The form of an answer: how each rung is asked for it, and how the reply is read. */
import type { JsonSchema } from '@troupe/contracts';
import { normalise, providerSchema, type ProviderSchema } from '@troupe/json-schema';
import { problemsOf } from '@troupe/judging';
import type { ModelAnswer, ModelQuestion, Tool } from './model.js';
import { ANSWER_TOOL, type ChatReply, type Rung } from './providers/provider.js';
import { readJson } from './read-json.js';

export type Reading =
  | { ok: true; answer: Pick<ModelAnswer, 'value' | 'toolCalls' | 'notes'> }
  | { ok: false; problems: string[]; isJson: boolean };

const MAX_TOOL_CALLS = 8;
const TEXT_SCHEMA: JsonSchema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };

export class AnswerForm {
  private readonly shape: ProviderSchema | null;
  private readonly tools: readonly Tool[];

  /** @throws SchemaError */
  static async of(question: Pick<ModelQuestion, 'schema' | 'tools'>): Promise<AnswerForm> {
    if (question.schema !== null) await problemsOf(question.schema);
    return new AnswerForm(question);
  }

  private constructor({ schema, tools = [] }: Pick<ModelQuestion, 'schema' | 'tools'>) {
    this.tools = tools;
    const wanted = schema ?? (tools.length > 0 ? TEXT_SCHEMA : null);
    this.schema = wanted;
    this.shape = wanted === null ? null : providerSchema(wanted);
    this.isText = schema === null;
  }

  private readonly schema: JsonSchema | null;
  private readonly isText: boolean;

  /** True: there is neither schema nor tool, so the answer may have any form. */
  get isFree(): boolean {
    return this.shape === null;
  }

  get offered(): readonly Tool[] {
    return this.tools;
  }

  /** A schema alone cannot offer tools. */
  rungsOf(rungs: readonly Rung[]): Rung[] {
    return this.tools.length === 0 ? [...rungs] : rungs.filter((rung) => rung !== 'schema');
  }

  /** The schema as it is sent at a rung. @throws when the form is free */
  at(rung: Rung): { schema: JsonSchema; strict: boolean } {
    const { schema, strict } = this.shape!;
    if (this.tools.length === 0 || rung === 'tool') return { schema, strict: strict && rung === 'schema' };
    return { schema: this.envelope(schema), strict: false };
  }

  async read(reply: ChatReply, rung: Rung | null): Promise<Reading> {
    if (this.schema === null) return readText(reply.text);
    if (reply.toolCalls.length > 0 && this.tools.length > 0) return this.readCalls(reply.toolCalls);
    const said = readJson(reply.text);
    if (said === undefined) {
      if (this.isText && rung === 'tool' && reply.text.trim() !== '') return whole(reply.text.trim());
      return { ok: false, problems: ['the answer is not JSON'], isJson: false };
    }
    if (this.tools.length > 0 && rung !== 'tool') return this.readEnvelope(said);
    return this.readValue(said);
  }

  private async readValue(said: unknown): Promise<Reading> {
    const { value, notes, problems } = await fitted(this.schema!, this.shape!.unwrap(said));
    if (problems.length > 0) return { ok: false, problems, isJson: true };
    return whole(this.isText ? (value as { text: string }).text : value, notes);
  }

  private async readCalls(calls: ChatReply['toolCalls']): Promise<Reading> {
    const made = await Promise.all(calls.slice(0, MAX_TOOL_CALLS).map((call) => this.readCall(call)));
    const problems = made.flatMap((each) => each.problems);
    if (problems.length > 0) return { ok: false, problems, isJson: true };
    const toolCalls = made.map(({ name, value }) => ({ name, arguments: value as Record<string, unknown> }));
    return { ok: true, answer: { value: null, toolCalls, notes: [] } };
  }

  private async readCall({ name, arguments: args }: ChatReply['toolCalls'][number]) {
    const tool = this.tools.find((each) => each.name === name);
    if (tool === undefined) return { name, value: null, problems: [`there is no tool ${JSON.stringify(name)}`] };
    const { value, problems } = await fitted(tool.parameters, args);
    return { name, value, problems: problems.map((problem) => `${name}: ${problem}`) };
  }

  /** Where tools cannot be offered as such the model names one in its answer. */
  private envelope(answer: JsonSchema): JsonSchema {
    const lines = this.tools.map(({ name, description }) => `${name}: ${description}`);
    const description = `What to do next. ${lines.join(' ')} ${ANSWER_TOOL}: give the final answer.`;
    return {
      type: 'object',
      properties: {
        tool: { enum: [...this.tools.map(({ name }) => name), ANSWER_TOOL], description },
        arguments: { anyOf: [...this.tools.map(({ parameters }) => parameters), answer] },
      },
      required: ['tool', 'arguments'],
    };
  }

  private async readEnvelope(said: unknown): Promise<Reading> {
    const { tool, arguments: args } = said as { tool?: unknown; arguments?: unknown };
    if (tool === ANSWER_TOOL) return this.readValue(args);
    if (typeof tool !== 'string')
      return { ok: false, problems: ['the answer must have the properties "tool" and "arguments"'], isJson: true };
    return this.readCalls([{ name: tool, arguments: (args ?? {}) as Record<string, unknown> }]);
  }
}

async function fitted(
  schema: JsonSchema,
  said: unknown,
): Promise<{ value: unknown; notes: string[]; problems: string[] }> {
  // A reply that satisfies the schema as it is needs no repair.
  const isRight = (await problemsOf(schema, { value: said })).length === 0;
  if (isRight && !hasLooseEnds(said)) return { value: said, notes: [], problems: [] };
  const { value, notes } = normalise(schema, said);
  return { value, notes, problems: await problemsOf(schema, { value }) };
}

/** True: normalising would still remove spaces around texts. */
function hasLooseEnds(value: unknown): boolean {
  if (typeof value === 'string') return value !== value.trim();
  return typeof value === 'object' && value !== null && Object.values(value).some(hasLooseEnds);
}

function readText(said: string): Reading {
  const text = said.replace(/^\s*<think(?:ing)?>[\s\S]*?<\/think(?:ing)?>/i, '').trim();
  return text === '' ? { ok: false, problems: ['the answer is empty'], isJson: false } : whole(text);
}

function whole(value: unknown, notes: string[] = []): Reading {
  return { ok: true, answer: { value, toolCalls: [], notes } };
}
