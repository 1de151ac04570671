import { ChatAnthropic } from '@langchain/anthropic';
import type { ModelAccess } from '@troupe/contracts';
import { askModel, toolOptions, type CallOptions } from './langchain.js';
import type { ChatClient, ChatRequest } from './provider.js';

/** Default limit, because this provider needs one. */
const ANSWER_TOKENS = 8_192;

export function openAnthropic(access: ModelAccess): Promise<ChatClient> {
  return Promise.resolve({
    rungs: ['schema', 'tool', 'words'],
    answerTokens: ANSWER_TOKENS,
    ask: (request) => askModel(modelFor(access, request), request, { ...toolOptions(request), ...formatOf(request) }),
  });
}

function modelFor(access: ModelAccess, { habits, maxAnswerTokens, fetch }: ChatRequest): ChatAnthropic {
  return new ChatAnthropic({
    model: access.model,
    apiKey: access.apiKey ?? 'none',
    maxRetries: 0,
    maxTokens: maxAnswerTokens ?? ANSWER_TOKENS,
    ...(access.baseUrl === null ? {} : { anthropicApiUrl: access.baseUrl }),
    ...(habits.temperature ? { temperature: 0 } : {}),
    clientOptions: { fetch },
  });
}

function formatOf({ form }: ChatRequest): CallOptions {
  if (form?.rung !== 'schema') return {};
  return { outputConfig: { format: { type: 'json_schema', schema: form.schema } } };
}
