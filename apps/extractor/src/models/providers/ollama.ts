import { ChatOllama } from '@langchain/ollama';
import type { ModelAccess } from '@troupe/contracts';
import { askModel, toolOptions, type CallOptions } from './langchain.js';
import type { ChatClient, ChatRequest } from './provider.js';

/** Room for instructions, a schema and the answer beside the data. */
const BESIDE_TOKENS = 8_192;

export function openOllama(access: ModelAccess, { contextTokens }: { contextTokens: number }): Promise<ChatClient> {
  return Promise.resolve({
    rungs: ['schema', 'tool', 'json', 'words'],
    answerTokens: null,
    ask: (request) => {
      const model = modelFor(access, request, contextTokens + BESIDE_TOKENS);
      return askModel(model, request, { ...toolOptions(request), ...formatOf(request) });
    },
  });
}

/** The server silently cuts off a prompt that is longer than its window, so the needed window is asked for. */
function modelFor(access: ModelAccess, { habits, maxAnswerTokens, fetch }: ChatRequest, numCtx: number): ChatOllama {
  return new ChatOllama({
    model: access.model,
    maxRetries: 0,
    numCtx,
    fetch,
    ...(access.baseUrl === null ? {} : { baseUrl: access.baseUrl }),
    ...(access.apiKey === null ? {} : { headers: { authorization: `Bearer ${access.apiKey}` } }),
    ...(habits.temperature ? { temperature: 0 } : {}),
    ...(maxAnswerTokens === null ? {} : { numPredict: maxAnswerTokens }),
  });
}

function formatOf({ form }: ChatRequest): CallOptions {
  if (form === null || form.rung === 'tool' || form.rung === 'words') return {};
  return { format: form.rung === 'json' ? 'json' : form.schema };
}
