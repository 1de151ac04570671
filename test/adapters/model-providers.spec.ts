/** Each provider's client on the wire: where it asks, with which key, in which form, and what it reads from the answer. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ModelAccess } from '@troupe/contracts';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { openClient } from '../../apps/extractor/src/models/providers/open-client.js';
import type { Rung } from '../../apps/extractor/src/models/providers/provider.js';
import { Transport } from '../../apps/extractor/src/models/transport.js';

const SCHEMA = {
  type: 'object',
  properties: { a: { type: 'integer' } },
  required: ['a'],
  additionalProperties: false,
};
const KEY = 'key-of-the-test';

interface Seen {
  path: string;
  headers: Record<string, unknown>;
  body: Record<string, unknown>;
}

let server: Server;
let proxy: Server;
let seen: Seen[] = [];
let tunnels: { target: string; login: string | undefined }[] = [];

const addressOf = (of: Server) => `http://127.0.0.1:${(of.address() as AddressInfo).port}`;
const listening = (of: Server) => new Promise<void>((resolve) => of.listen(0, '127.0.0.1', resolve));

/** As each provider writes `{"a":1}` with 11 tokens in and 7 out. */
function answerTo(path: string, { tools }: Record<string, unknown>): object[] {
  const isCalled = tools !== undefined;
  if (path.startsWith('/v1/messages')) {
    const content = isCalled
      ? { type: 'tool_use', id: 't', name: 'answer', input: { a: 1 } }
      : { type: 'text', text: '{"a":1}' };
    const usage = { input_tokens: 11, output_tokens: 7 };
    const head = { id: 'm', type: 'message', role: 'assistant', model: 'x' };
    return [{ ...head, content: [content], stop_reason: isCalled ? 'tool_use' : 'end_turn', usage }];
  }
  if (path.includes(':generateContent')) {
    const part = isCalled ? { functionCall: { name: 'answer', args: { a: 1 } } } : { text: '{"a":1}' };
    const usageMetadata = { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 };
    const content = { role: 'model', parts: [part] };
    return [{ candidates: [{ content, finishReason: 'STOP', index: 0 }], usageMetadata }];
  }
  if (path.startsWith('/api/chat')) {
    const part = (content: string) => ({
      model: 'x',
      created_at: '2026-01-01T00:00:00Z',
      message: { role: 'assistant', content },
    });
    return [
      { ...part('{"a":1}'), done: false },
      { ...part(''), done: true, done_reason: 'stop', prompt_eval_count: 11, eval_count: 7 },
    ];
  }
  const choices = [{ index: 0, message: { role: 'assistant', content: '{"a":1}' }, finish_reason: 'stop' }];
  return [{ id: 'c', created: 1, choices, usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 } }];
}

async function ask(access: Omit<ModelAccess, 'apiKey'>, rung: Rung, transport: Transport) {
  const client = await openClient({ ...access, apiKey: KEY }, { contextTokens: 2_000 });
  const { fetch } = transport.open();
  return client.ask({
    system: 'The instructions.',
    user: 'The page.',
    form: { rung, schema: SCHEMA, strict: false },
    tools: [],
    maxAnswerTokens: null,
    habits: { systemRole: true, temperature: true, stream: false },
    fetch,
    signal: AbortSignal.timeout(10_000),
  });
}

beforeAll(async () => {
  server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      const path = request.url ?? '';
      const body = JSON.parse(text) as Record<string, unknown>;
      seen.push({ path, headers: request.headers, body });
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        answerTo(path, body)
          .map((each) => JSON.stringify(each))
          .join('\n'),
      );
    });
  });
  proxy = createServer().on('connect', ({ url, headers }, socket) => {
    tunnels.push({ target: url ?? '', login: headers['proxy-authorization'] });
    const { port } = new URL(`http://${url}`);
    const upstream = connect(Number(port), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
  });
  await Promise.all([listening(server), listening(proxy)]);
});

beforeEach(() => {
  seen = [];
  tunnels = [];
});

afterAll(() => {
  for (const each of [server, proxy]) {
    each.close();
    each.closeAllConnections();
  }
});

describe.each<[ModelAccess['provider'], Rung, string, string, object]>([
  ['openai', 'schema', '/chat/completions', 'authorization', { response_format: { type: 'json_schema' } }],
  [
    'azure',
    'schema',
    '/openai/deployments/the-model/chat/completions',
    'api-key',
    { response_format: { type: 'json_schema' } },
  ],
  ['anthropic', 'schema', '/v1/messages', 'x-api-key', { output_config: { format: { type: 'json_schema' } } }],
  ['anthropic', 'tool', '/v1/messages', 'x-api-key', { tool_choice: { type: 'tool', name: 'answer' } }],
  [
    'google',
    'tool',
    '/v1beta/models/the-model:generateContent',
    'x-goog-api-key',
    { toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
  ],
  [
    'google',
    'json',
    '/v1beta/models/the-model:generateContent',
    'x-goog-api-key',
    { generationConfig: { responseMimeType: 'application/json' } },
  ],
  ['ollama', 'schema', '/api/chat', 'authorization', { format: SCHEMA, options: { num_ctx: 10_192 } }],
])('%s at the rung %s', (provider, rung, path, keyHeader, form) => {
  it('asks at its address, with the key, in its form, and reads answer and tokens', async () => {
    const transport = new Transport({ proxy: null, resolver: null, connections: 2 });
    const reply = await ask({ provider, model: 'the-model', baseUrl: addressOf(server) }, rung, transport);
    expect(reply).toEqual({
      text: '{"a":1}',
      toolCalls: [],
      end: 'whole',
      refusal: null,
      usage: { prompt: 11, answer: 7 },
    });
    expect(seen).toHaveLength(1);
    expect(seen[0]!.path.split('?')[0]).toBe(path);
    expect(seen[0]!.headers[keyHeader]).toContain(KEY);
    expect(seen[0]!.body).toMatchObject(form);
    expect(JSON.stringify(seen[0]!.body)).toContain('The instructions.');
    await transport.close();
  });

  it('goes through the proxy of the installation, with its password', async () => {
    const through = addressOf(proxy).replace('://', '://op:p%40ss@');
    const transport = new Transport({ proxy: through, resolver: null, connections: 2 });
    await ask({ provider, model: 'the-model', baseUrl: addressOf(server) }, rung, transport);
    const login = `Basic ${Buffer.from('op:p@ss').toString('base64')}`;
    expect(tunnels).toEqual([{ target: new URL(addressOf(server)).host, login }]);
    await transport.close();
  });
});
