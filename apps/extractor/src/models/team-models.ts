/**
 * The model of each team: its own, else the installation's. Limits of a provider are shared by all teams that use it
 * with the same key.
 */
import type { TroupeConfig } from '@troupe/config';
import type { ModelAccess, Tracer, Uuid } from '@troupe/contracts';
import { parseAllowList, Resolver } from '@troupe/egress';
import { problemsOf } from '@troupe/judging';
import { LRUCache } from 'lru-cache';
import { ChatModel, type CallReport, type TokenBudget } from './chat-model.js';
import { HabitBook } from './habits.js';
import type { LanguageModel, Models } from './model.js';
import { ModelError } from './model-error.js';
import { ProviderCaller } from './provider-caller.js';
import { ProviderGate } from './provider-gate.js';
import { Transport } from './transport.js';

export interface TeamModelsOptions {
  config: Readonly<TroupeConfig>;
  /** null: the team has none of its own. */
  accessOf: (team: Uuid) => ModelAccess | null;
  budget: TokenBudget;
  onCall?: (report: CallReport) => void;
  /** @default nothing is recorded */
  tracer?: Tracer;
}

const MAX_MODELS = 500;
const INSTALLATION_SETTINGS = { key: 'LLM_API_KEY', model: 'LLM_MODEL', address: 'LLM_BASE_URL' };
const TEAM_SETTINGS = { key: "the team's model.apiKey", model: "the team's model.model", address: 'its model.baseUrl' };

export class TeamModels implements Models {
  /** Transport to addresses that the operator or a provider chose. */
  private readonly trusted: Transport;
  /** Transport to addresses that a team chose. */
  private readonly checked: Transport;
  private readonly habits: HabitBook;
  private readonly gates = new LRUCache<string, ProviderGate>({ max: MAX_MODELS });
  private readonly models = new LRUCache<string, ChatModel>({ max: MAX_MODELS });
  private readonly installation: ChatModel | null;

  constructor(private readonly options: TeamModelsOptions) {
    const { config } = options;
    const common = { proxy: config.llmProxy ?? null, connections: config.llmConcurrency };
    const allow = parseAllowList(config.allowPrivateTargets);
    this.trusted = new Transport({ ...common, resolver: null });
    this.checked = new Transport({ ...common, resolver: new Resolver({ servers: config.dnsServers, allow }) });
    this.habits = new HabitBook({ stream: config.llmStream });
    const access = installationAccess(config);
    this.installation = access === null ? null : this.open(access, this.trusted, INSTALLATION_SETTINGS);
  }

  async of(team: Uuid): Promise<LanguageModel> {
    const own = this.options.accessOf(team);
    if (own !== null) return this.ofTeam(own);
    if (this.installation !== null) return this.installation;
    throw new ModelError('NOT_SUPPORTED', 'no language model is configured: set LLM_PROVIDER and LLM_MODEL');
  }

  /** Loads the package of the installation's model, so that the first page does not wait for it. */
  async warm(): Promise<void> {
    if (this.installation === null) return;
    for (const draft of ['draft-07', 'draft/2020-12'])
      await problemsOf({ $schema: `https://json-schema.org/${draft}/schema` });
    await this.installation.load();
  }

  async close(): Promise<void> {
    await Promise.all([this.trusted.close(), this.checked.close()]);
  }

  private ofTeam(access: ModelAccess): LanguageModel {
    const key = JSON.stringify(access);
    const known = this.models.get(key);
    if (known !== undefined) return known;
    const transport = access.baseUrl === null ? this.trusted : this.checked;
    const model = this.open(access, transport, TEAM_SETTINGS);
    this.models.set(key, model);
    return model;
  }

  private open(access: ModelAccess, transport: Transport, settings: typeof TEAM_SETTINGS): ChatModel {
    const { config, budget, onCall, tracer } = this.options;
    const caller = new ProviderCaller({
      access,
      transport,
      gate: this.gateOf(access),
      timeoutMs: config.llmTimeoutMs,
      contextTokens: config.llmContextTokens,
      tracer,
    });
    const habits = this.habits.of(access);
    return new ChatModel({ access, caller, habits, contextTokens: config.llmContextTokens, budget, settings, onCall });
  }

  private gateOf({ provider, baseUrl, apiKey }: ModelAccess): ProviderGate {
    const key = JSON.stringify([provider, baseUrl, apiKey]);
    const known = this.gates.get(key);
    if (known !== undefined) return known;
    const gate = new ProviderGate({ concurrency: this.options.config.llmConcurrency });
    this.gates.set(key, gate);
    return gate;
  }
}

export function installationAccess(config: Readonly<TroupeConfig>): ModelAccess | null {
  const { llmProvider: provider, llmModel: model, llmBaseUrl, llmApiKey } = config;
  if (provider === undefined || provider === 'none' || !model) return null;
  return { provider, model, baseUrl: llmBaseUrl ?? null, apiKey: llmApiKey ?? null };
}
