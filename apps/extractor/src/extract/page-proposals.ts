/** Pages for a question that names none: by search, else as the model remembers them. */
import { timeoutSignal, type ExtractSpec, type JsonSchema, type ModelTask } from '@troupe/contracts';
import type { SearchProvider } from '@troupe/search';
import type { LanguageModel, Models } from '../models/model.js';
import { distinctPages } from './page-plan.js';

export interface Proposals {
  /** Each once, best first. */
  urls: string[];
  tokens: number;
  warning: string | null;
}

export interface PageProposalsParts {
  /** null: none is configured. */
  search: SearchProvider | null;
  models: Models;
}

export const MAX_PROPOSALS = 10;
const MAX_QUERY_CHARS = 400;
const SEARCH_TIMEOUT_MS = 30_000;

const INSTRUCTIONS = `Name up to ${MAX_PROPOSALS} web pages that are most likely to hold the facts that are asked for: absolute http or https
addresses that you know to exist, the most promising first. Prefer the sites of those the question is about. An empty list is a good
answer when you know none.`;
const SCHEMA: JsonSchema = {
  type: 'object',
  properties: { urls: { type: 'array', items: { type: 'string' }, maxItems: MAX_PROPOSALS } },
  required: ['urls'],
  additionalProperties: false,
};

export class PageProposals {
  constructor(private readonly parts: PageProposalsParts) {}

  /** @throws TroupeError SEARCH_FAILED, ModelError; the signal's reason */
  async find(task: ModelTask, spec: ExtractSpec, signal: AbortSignal): Promise<Proposals> {
    const question = spec.prompt ?? '';
    const found = await this.search(question, signal);
    if (found.length > 0) return { urls: found, tokens: 0, warning: null };
    const proposed = await this.propose(task, question, signal);
    const reason = this.parts.search === null ? 'No search provider is configured' : 'The search found nothing';
    const warning = `${reason}: the model proposed the pages that were read; only what they say counts.`;
    return { ...proposed, warning };
  }

  private async search(question: string, signal: AbortSignal): Promise<string[]> {
    if (this.parts.search === null) return [];
    const text = question.replace(/\s+/g, ' ').trim().slice(0, MAX_QUERY_CHARS);
    const until = AbortSignal.any([signal, timeoutSignal(SEARCH_TIMEOUT_MS)]);
    const query = { text, source: 'web', language: null, maxAge: null, safe: false, page: 1 } as const;
    const { hits } = await this.parts.search.search(query, until);
    return distinctPages(hits.map(({ url }) => url)).slice(0, MAX_PROPOSALS);
  }

  private async propose({ team, deadlineMs }: ModelTask, request: string, signal: AbortSignal) {
    const model: LanguageModel = await this.parts.models.of(team);
    const question = { purpose: 'plan', team, instructions: INSTRUCTIONS, request, data: [], schema: SCHEMA };
    const { value, tokens } = await model.ask(question, { deadlineMs, signal });
    const { urls } = value as { urls: string[] };
    return { urls: distinctPages(urls).slice(0, MAX_PROPOSALS), tokens: tokens.prompt + tokens.answer };
  }
}
