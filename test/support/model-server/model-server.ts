/**
 * An OpenAI-compatible chat server whose model is a function of the request. Every ability that real servers lack here
 * and there can be switched off, and every way in which they fail can be asked for.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Brain, BrainRequest, Reply } from './brain.js';
import { purposeOf, schemaInWords, type Message } from './prompt-reading.js';
import { readingBrain } from './reading-brain.js';

export interface Abilities {
  json_schema: boolean;
  tools: boolean;
  json_object: boolean;
  system: boolean;
  stream: boolean;
  /** Usage counts, streamed ones too. */
  usage: boolean;
}

export interface RecordedRequest extends BrainRequest {
  body: Record<string, unknown>;
  headers: IncomingMessage['headers'];
  streamed: boolean;
  /** Status of the answer, 0 until it is sent. */
  status: number;
  /** `performance.now()` of its arrival. */
  atMs: number;
}

export interface ModelServer {
  /** Without `/v1`. */
  url: string;
  requests: RecordedRequest[];
  /** Requests with this purpose that were answered with 200. */
  count(purpose: string): number;
  /** Requests that are being answered now, and the most there were at once. */
  load: { now: number; most: number };
  setBrain(brain: Brain): void;
  setAbilities(abilities: Partial<Abilities>): void;
  close(): Promise<void>;
}

const ALL: Abilities = { json_schema: true, tools: true, json_object: true, system: true, stream: true, usage: true };
const MAX_BODY_BYTES = 32 * 1024 * 1024;
const CHUNK_CHARS = 12;

/** Settings with which a cluster uses the server. */
export function modelEnv({ url }: Pick<ModelServer, 'url'>): Record<string, string> {
  return { LLM_PROVIDER: 'openai', LLM_BASE_URL: `${url}/v1`, LLM_API_KEY: 'test', LLM_MODEL: 'scripted' };
}

/** One brain by purpose; `otherwise` for the rest. */
export function byPurpose(brains: Record<string, Brain>, otherwise: Brain = readingBrain): Brain {
  return (request) => (brains[request.purpose] ?? otherwise)(request);
}

export async function startModelServer(
  options: { brain?: Brain; abilities?: Partial<Abilities>; port?: number } = {},
): Promise<ModelServer> {
  const scripted = new ScriptedModel(options.brain ?? readingBrain, { ...ALL, ...options.abilities });
  const http = createServer((request, response) => void scripted.handle(request, response));
  await new Promise<void>((resolve) => http.listen(options.port ?? 0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    requests: scripted.requests,
    count: (purpose) => scripted.requests.filter((each) => each.purpose === purpose && each.status === 200).length,
    load: scripted.load,
    setBrain: (brain) => void (scripted.brain = brain),
    setAbilities: (abilities) => void Object.assign(scripted.abilities, abilities),
    close: () => closeServer(http),
  };
}

function closeServer(http: Server): Promise<void> {
  return new Promise((resolve) => {
    http.close(() => resolve());
    http.closeAllConnections();
  });
}

class ScriptedModel {
  readonly requests: RecordedRequest[] = [];
  readonly load = { now: 0, most: 0 };
  private total = 0;

  constructor(
    public brain: Brain,
    readonly abilities: Abilities,
  ) {}

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.load.now++;
    this.load.most = Math.max(this.load.most, this.load.now);
    try {
      await this.answer(request, response);
    } catch (error) {
      if (!response.headersSent) sendError(response, 500, { message: `the brain failed: ${String(error)}` });
      else response.destroy();
    } finally {
      this.load.now--;
    }
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://model');
    if (pathname === '/v1/models') return sendJson(response, 200, { object: 'list', data: [{ id: 'scripted' }] });
    if (pathname !== '/v1/chat/completions') return sendError(response, 404, { message: `no ${pathname} here` });
    const body = JSON.parse(await readBody(request)) as ChatBody;
    const record = this.record(body, request);
    const refusal = this.refusalOf(body);
    const reply: Reply = refusal === null ? await this.brain(record) : { status: 400, error: { message: refusal } };
    if (reply.delayMs !== undefined && !(await isAwaited(response, reply.delayMs))) return;
    record.status = reply.status ?? 200;
    if (reply.cut === 'before') return void response.destroy();
    if (reply.status !== undefined && reply.status !== 200)
      return sendError(response, reply.status, reply.error ?? { message: `status ${reply.status}` }, reply.headers);
    this.send(response, body, record, reply);
  }

  private record(body: ChatBody, { headers }: IncomingMessage): RecordedRequest {
    const messages = body.messages.map(({ role, content }) => ({ role, content: contentText(content) }));
    const asked = askedOf(body, messages);
    const record: RecordedRequest = {
      ...asked,
      messages,
      purpose: purposeOf(messages),
      number: ++this.total,
      body: body as unknown as Record<string, unknown>,
      headers,
      streamed: body.stream === true,
      status: 0,
      atMs: performance.now(),
    };
    this.requests.push(record);
    return record;
  }

  /** As servers say it that lack the ability; null: all that is asked for is there. */
  private refusalOf({ response_format: format, tools, messages, stream }: ChatBody): string | null {
    const { abilities } = this;
    if (format?.type === 'json_schema' && !abilities.json_schema)
      return "'response_format' of type 'json_schema' is not supported with this model";
    if (format?.type === 'json_object' && !abilities.json_object)
      return "'response_format' of type 'json_object' is not supported with this model";
    if (tools !== undefined && tools.length > 0 && !abilities.tools) return 'this model does not support tools';
    if (!abilities.system && messages.some(({ role }) => role === 'system')) return 'System role not supported';
    if (stream === true && !abilities.stream) return 'streaming is not supported by this server';
    return null;
  }

  private send(response: ServerResponse, body: ChatBody, request: RecordedRequest, reply: Reply): void {
    const message = messageOf(request, reply);
    const finish = reply.finish ?? (message.tool_calls === undefined ? 'stop' : 'tool_calls');
    const usage = this.abilities.usage && reply.usage !== null ? usageOf(request, message, reply) : undefined;
    const head = { id: `chatcmpl-${request.number}`, created: 1_700_000_000, model: body.model };
    if (body.stream !== true) {
      const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish, logprobs: null }];
      const text = JSON.stringify({ ...head, object: 'chat.completion', choices, ...(usage && { usage }) });
      response.writeHead(200, { 'content-type': 'application/json', ...reply.headers });
      return cutOrEnd(response, [text.slice(0, text.length / 2), text.slice(text.length / 2)], reply);
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', ...reply.headers });
    const event = (choices: unknown[], extra: object = {}) =>
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...extra })}\n\n`;
    const events = deltasOf(message).map((delta) => event([{ index: 0, delta, finish_reason: null }]));
    events.push(event([{ index: 0, delta: {}, finish_reason: finish }]));
    if (usage !== undefined && body.stream_options?.include_usage === true) events.push(event([], { usage }));
    cutOrEnd(response, [...events, 'data: [DONE]\n\n'], reply);
  }
}

/** Resolves after `delayMs`; false at once when the client goes, so that no delay outlives the server. */
async function isAwaited(response: ServerResponse, delayMs: number): Promise<boolean> {
  if (response.destroyed) return false;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  return sleep(delayMs, true, { signal: gone.signal }).catch(() => false);
}

interface ChatBody {
  model: string;
  messages: { role: string; content: unknown }[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  response_format?: { type: string; json_schema?: { name: string; schema: Record<string, unknown> } };
  tools?: { function: BrainRequest['tools'][number] }[];
}

interface AnswerMessage {
  content: string | null;
  refusal?: string;
  tool_calls?: { index: number; id: string; type: 'function'; function: { name: string; arguments: string } }[];
}

/** Tool that stands for the schema of the answer. */
const ANSWER_TOOL = 'answer';

/** Also tools that are offered in words: as names that the answer may have. */
function askedOf(body: ChatBody, messages: Message[]): Pick<BrainRequest, 'schema' | 'tools' | 'mode'> {
  const tools = (body.tools ?? []).map((tool) => tool.function);
  const answerTool = tools.find(({ name }) => name === ANSWER_TOOL);
  if (answerTool !== undefined) {
    return { schema: answerTool.parameters, tools: tools.filter((tool) => tool !== answerTool), mode: 'tools' };
  }
  const type = body.response_format?.type;
  const mode = type === 'json_schema' || type === 'json_object' ? type : 'text';
  const schema = body.response_format?.json_schema?.schema ?? schemaInWords(messages);
  const envelope = envelopeOf(schema);
  if (envelope === null) return { schema, tools, mode };
  const named = envelope.names.map((name, index) => ({ name, parameters: envelope.parameters[index]! }));
  return { schema: envelope.parameters.at(-1)!, tools: named, mode };
}

interface Envelope {
  names: string[];
  /** Parameters of the tools in their order, the answer's last. */
  parameters: Record<string, unknown>[];
}

function envelopeOf(schema: Record<string, unknown> | null): Envelope | null {
  const { tool, arguments: args } = (schema?.properties ?? {}) as {
    tool?: { enum?: string[] };
    arguments?: { anyOf?: object[] };
  };
  if (tool?.enum?.at(-1) !== ANSWER_TOOL || args?.anyOf === undefined) return null;
  return { names: tool.enum.slice(0, -1), parameters: args.anyOf as Record<string, unknown>[] };
}

function messageOf(request: RecordedRequest, reply: Reply): AnswerMessage {
  if (reply.refusal !== undefined) return { content: null, refusal: reply.refusal };
  const isNative = request.mode === 'tools';
  if (reply.toolCalls !== undefined) {
    if (isNative) return { content: null, tool_calls: reply.toolCalls.map(toolCall) };
    const { name, arguments: args } = reply.toolCalls[0]!;
    return { content: JSON.stringify({ tool: name, arguments: args }) };
  }
  if (isNative) {
    const call = { name: ANSWER_TOOL, arguments: reply.text ?? JSON.stringify(reply.value ?? null) };
    return { content: null, tool_calls: [{ index: 0, id: 'call_0', type: 'function', function: call }] };
  }
  if (reply.text !== undefined) return { content: reply.text };
  const value = request.tools.length === 0 ? reply.value : { tool: ANSWER_TOOL, arguments: reply.value };
  return { content: JSON.stringify(value ?? null) };
}

function toolCall({ name, arguments: args }: { name: string; arguments: unknown }, index: number) {
  return { index, id: `call_${index}`, type: 'function' as const, function: { name, arguments: JSON.stringify(args) } };
}

function deltasOf({ content, refusal, tool_calls: calls }: AnswerMessage): object[] {
  const first = { role: 'assistant', content: '' };
  if (refusal !== undefined) return [first, { refusal }];
  const pieces = (text: string) => text.match(new RegExp(`[\\s\\S]{1,${CHUNK_CHARS}}`, 'gu')) ?? [];
  if (calls === undefined) return [first, ...pieces(content ?? '').map((piece) => ({ content: piece }))];
  return calls.flatMap(({ index, id, type, function: { name, arguments: args } }) => [
    { role: 'assistant', content: null, tool_calls: [{ index, id, type, function: { name, arguments: '' } }] },
    ...pieces(args).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ]);
}

function usageOf({ messages }: BrainRequest, message: AnswerMessage, { usage }: Reply) {
  const quarter = (text: string) => Math.ceil(text.length / 4);
  const prompt = usage?.prompt ?? quarter(messages.map(({ content }) => content).join(''));
  const said = message.content ?? message.tool_calls?.map((call) => call.function.arguments).join('') ?? '';
  const answer = usage?.answer ?? quarter(said);
  return { prompt_tokens: prompt, completion_tokens: answer, total_tokens: prompt + answer };
}

function cutOrEnd(response: ServerResponse, pieces: string[], { cut }: Reply): void {
  if (cut !== 'middle') return void response.end(pieces.join(''));
  response.write(pieces.slice(0, Math.ceil(pieces.length / 2)).join(''), () => response.destroy());
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => (part as { text?: string }).text ?? '').join('');
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error(`a request of more than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function sendJson(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

function sendError(
  response: ServerResponse,
  status: number,
  error: NonNullable<Reply['error']>,
  headers?: Record<string, string>,
): void {
  sendJson(response, status, { error: { type: 'invalid_request_error', code: null, ...error } }, headers);
}
