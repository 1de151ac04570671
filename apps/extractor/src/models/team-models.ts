import type { TroupeConfig } from '@troupe/config';
import type { ModelAccess, Uuid } from '@troupe/contracts';
import { ChatModel } from './chat-model.js';
import type { LanguageModel, Models } from './model.js';
import { ModelError } from './model-error.js';
import { Transport } from './transport.js';

export class TeamModels implements Models {
  private readonly transport: Transport;
  private readonly installation: LanguageModel | null;

  constructor(config: Readonly<TroupeConfig>) {
    this.transport = new Transport({
      proxy: config.llmProxy ?? null,
      resolver: null,
      connections: config.llmConcurrency,
    });
    const access = installationAccess(config);
    this.installation = access === null ? null : new ChatModel(access, this.transport, config.llmContextTokens);
  }

  of(_team: Uuid): Promise<LanguageModel> {
    if (this.installation === null) {
      return Promise.reject(new ModelError('NOT_SUPPORTED', 'no language model is configured: set LLM_PROVIDER'));
    }
    return Promise.resolve(this.installation);
  }

  close(): Promise<void> {
    return this.transport.close();
  }
}

export function installationAccess(config: Readonly<TroupeConfig>): ModelAccess | null {
  const { llmProvider: provider, llmModel: model, llmBaseUrl, llmApiKey } = config;
  if (provider === undefined || provider === 'none' || !model) return null;
  return { provider, model, baseUrl: llmBaseUrl ?? null, apiKey: llmApiKey ?? null };
}
