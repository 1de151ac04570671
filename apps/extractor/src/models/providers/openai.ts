/** OpenAI, every server that speaks its chat completions, and Azure. */
import { AzureChatOpenAICompletions, ChatOpenAICompletions } from '@langchain/openai';
import type { ModelAccess } from '@troupe/contracts';
import { askModel, toolOptions, type CallOptions } from './langchain.js';
import type { ChatClient, ChatRequest } from './provider.js';

const AZURE_API_VERSION = '2024-10-21';
/** Servers without keys are content with any. */
const NO_KEY = 'none';

type Completions = ChatOpenAICompletions['completionWithRetry'];

export function openOpenAi(access: ModelAccess): Promise<ChatClient> {
  return Promise.resolve({
    rungs: ['schema', 'tool', 'json', 'words'],
    answerTokens: null,
    ask: (request) => askModel(modelFor(access, request), request, { ...toolOptions(request), ...formatOf(request) }),
  });
}

function modelFor(access: ModelAccess, { habits, maxAnswerTokens, fetch }: ChatRequest): ChatOpenAICompletions {
  const apiKey = access.apiKey ?? NO_KEY;
  const common = {
    model: access.model,
    apiKey,
    maxRetries: 0,
    ...(habits.temperature ? { temperature: 0 } : {}),
    ...(maxAnswerTokens === null ? {} : { maxTokens: maxAnswerTokens }),
  };
  if (access.provider !== 'azure') {
    const configuration = { fetch, baseURL: access.baseUrl ?? undefined };
    return readingAsIs(new ChatOpenAICompletions({ ...common, configuration }));
  }
  return readingAsIs(
    new AzureChatOpenAICompletions({
      ...common,
      azureOpenAIApiKey: apiKey,
      azureOpenAIEndpoint: access.baseUrl ?? undefined,
      azureOpenAIApiDeploymentName: access.model,
      azureOpenAIApiVersion: AZURE_API_VERSION,
      configuration: { fetch },
    }),
  );
}

/** The client would parse structured answers and throw away those that are cut off or broken, with their usage. */
function readingAsIs(model: ChatOpenAICompletions): ChatOpenAICompletions {
  const inner = model as unknown as {
    _getClientOptions(options: object): object;
    client: { chat: { completions: { create(request: object, options: object): Promise<unknown> } } };
  };
  model.completionWithRetry = ((request, { maxRetries: _, ...options } = {}) => {
    const clientOptions = inner._getClientOptions(options);
    return inner.client.chat.completions.create(request, clientOptions);
  }) as Completions;
  return model;
}

function formatOf({ form }: ChatRequest): CallOptions {
  if (form === null || form.rung === 'tool' || form.rung === 'words') return {};
  if (form.rung === 'json') return { response_format: { type: 'json_object' } };
  const { schema, strict } = form;
  return { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict } } };
}
