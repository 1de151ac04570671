/** The common part of all langchain clients: messages in, one message out, read into a `ChatReply`. */
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import type { AIMessage, AIMessageChunk, BaseMessage } from '@langchain/core/messages';
import { AIMessageChunk as Chunk, HumanMessage, SystemMessage } from '@langchain/core/messages';
import { concat } from '@langchain/core/utils/stream';
import { ANSWER_TOOL, type ChatReply, type ChatRequest } from './provider.js';

/** Options of a call that a provider's client understands. */
export type CallOptions = Record<string, unknown>;

/** The end of an answer in which a model says why it does not answer. */
export const REFUSED = 'refusal';

const TRUNCATED = new Set(['length', 'max_tokens', 'model_length', 'model_context_window_exceeded']);
const FILTERED = new Set([
  'content_filter',
  'safety',
  'recitation',
  'blocklist',
  'prohibited_content',
  'refusal',
  'spii',
]);

export async function askModel(model: BaseChatModel, request: ChatRequest, options: CallOptions): Promise<ChatReply> {
  const messages = messagesOf(request);
  const call = { ...options, signal: request.signal };
  const message = request.habits.stream
    ? await gather(await model.stream(messages, call))
    : await model.invoke(messages, call);
  return replyOf(message);
}

/** The tool whose parameters are the answer, and the others; empty at other rungs. */
export function toolOptions({ form, tools }: ChatRequest): CallOptions {
  if (form === null || form.rung !== 'tool') return {};
  const answer = { name: ANSWER_TOOL, description: 'Gives the final answer.', parameters: form.schema };
  const offered = [...tools, answer].map(({ name, description, parameters }) => ({
    type: 'function' as const,
    function: { name, description, parameters },
  }));
  // With other tools beside it the model chooses, but it has to choose one.
  return { tools: offered, tool_choice: tools.length === 0 ? ANSWER_TOOL : 'any' };
}

function messagesOf({ system, user, habits }: ChatRequest): BaseMessage[] {
  if (!habits.systemRole) return [new HumanMessage(`${system}\n\n${user}`)];
  return [new SystemMessage(system), new HumanMessage(user)];
}

async function gather(stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  let whole: AIMessageChunk | null = null;
  for await (const chunk of stream) whole = whole === null ? chunk : concat(whole, chunk);
  return whole ?? new Chunk('');
}

function replyOf(message: AIMessage | AIMessageChunk): ChatReply {
  const calls = message.tool_calls ?? [];
  const answer = calls.find(({ name }) => name === ANSWER_TOOL);
  const broken = message.invalid_tool_calls?.find(({ name }) => name === ANSWER_TOOL);
  const reason = endReason(message.response_metadata);
  return {
    text: answer === undefined ? (broken?.args ?? message.text) : JSON.stringify(answer.args),
    toolCalls: calls
      .filter(({ name }) => name !== ANSWER_TOOL)
      .map(({ name, args }) => ({ name, arguments: args as Record<string, unknown> })),
    end: TRUNCATED.has(reason) ? 'truncated' : FILTERED.has(reason) ? 'filtered' : 'whole',
    refusal: reason === REFUSED ? message.text || 'it says no more' : null,
    usage: usageOf(message),
  };
}

function endReason(metadata: Record<string, unknown>): string {
  const { finish_reason: openai, stop_reason: anthropic, finishReason: google, done_reason: ollama } = metadata;
  const reason = [openai, anthropic, google, ollama].find((each) => typeof each === 'string');
  return typeof reason === 'string' ? reason.toLowerCase() : '';
}

function usageOf({ usage_metadata: usage }: AIMessage | AIMessageChunk): ChatReply['usage'] {
  if (usage === undefined || typeof usage.input_tokens !== 'number') return null;
  return { prompt: usage.input_tokens, answer: usage.output_tokens ?? 0 };
}
