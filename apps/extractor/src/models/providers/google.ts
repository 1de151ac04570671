import { ChatGoogleGenerativeAI } from '@langchain/google-genai';
import type { ModelAccess } from '@troupe/contracts';
import { withFetch } from '../transport.js';
import { askModel, toolOptions, type CallOptions } from './langchain.js';
import type { ChatClient, ChatRequest } from './provider.js';

export function openGoogle(access: ModelAccess): Promise<ChatClient> {
  return Promise.resolve({
    rungs: ['tool', 'json', 'words'],
    answerTokens: null,
    ask: (request) => withFetch(request.fetch, () => askModel(modelFor(access, request), request, optionsOf(request))),
  });
}

function modelFor(access: ModelAccess, { form, habits, maxAnswerTokens }: ChatRequest): ChatGoogleGenerativeAI {
  return new ChatGoogleGenerativeAI({
    model: access.model,
    apiKey: access.apiKey ?? 'none',
    maxRetries: 0,
    json: form?.rung === 'json',
    ...(access.baseUrl === null ? {} : { baseUrl: access.baseUrl.replace(/\/+$/, '') }),
    ...(habits.temperature ? { temperature: 0 } : {}),
    ...(maxAnswerTokens === null ? {} : { maxOutputTokens: maxAnswerTokens }),
  });
}

function optionsOf(request: ChatRequest): CallOptions {
  return toolOptions(request);
}
