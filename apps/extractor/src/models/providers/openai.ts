/** OpenAI, every server that speaks its chat completions, and Azure. */
import { AzureChatOpenAICompletions, ChatOpenAICompletions } from '@langchain/openai';
import type { ModelAccess } from '@troupe/contracts';
import { askModel, REFUSED, toolOptions, type CallOptions } from './langchain.js';
import type { ChatClient, ChatRequest } from './provider.js';

const AZURE_API_VERSION = '2024-10-21';
/** Placeholder key for servers that need none. */
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

interface InnerClient {
  _getClientOptions(options: object): object;
  client: {
    chat: {
      completions: { create(request: object, options: object): Promise<Completion | AsyncIterable<Completion>> };
    };
  };
}

/** A whole answer, or one piece of a streamed one. */
interface Completion {
  choices?: { message?: Spoken; delta?: Spoken; finish_reason?: string | null }[];
}

interface Spoken {
  content?: string | null;
  refusal?: string | null;
}

/**
 * The client would parse structured answers, and drop those that are cut off or broken together with their usage. It
 * would also drop a model's refusal. So answers are read as they are.
 */
function readingAsIs(model: ChatOpenAICompletions): ChatOpenAICompletions {
  const inner = model as unknown as InnerClient;
  model.completionWithRetry = (async (request, { maxRetries: _, ...options } = {}) => {
    const clientOptions = inner._getClientOptions(options);
    const answer = await inner.client.chat.completions.create(request, clientOptions);
    return Symbol.asyncIterator in answer ? refusalsIn(answer) : withRefusal(answer);
  }) as Completions;
  return model;
}

async function* refusalsIn(pieces: AsyncIterable<Completion>): AsyncGenerator<Completion> {
  let isRefused = false;
  for await (const piece of pieces) {
    isRefused ||= Boolean(piece.choices?.[0]?.delta?.refusal);
    yield isRefused ? withRefusal(piece) : piece;
  }
}

/** Turns a refusal into the text of the answer, and into its finish reason. */
function withRefusal(completion: Completion): Completion {
  const [choice] = completion.choices ?? [];
  const spoken = choice?.message ?? choice?.delta;
  if (choice === undefined || spoken === undefined) return completion;
  if (spoken.refusal) spoken.content = spoken.refusal;
  const isWhole = choice.message !== undefined;
  if (isWhole ? Boolean(spoken.refusal) : Boolean(choice.finish_reason)) choice.finish_reason = REFUSED;
  return completion;
}

function formatOf({ form }: ChatRequest): CallOptions {
  if (form === null || form.rung === 'tool' || form.rung === 'words') return {};
  if (form.rung === 'json') return { response_format: { type: 'json_object' } };
  const { schema, strict } = form;
  return { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict } } };
}
