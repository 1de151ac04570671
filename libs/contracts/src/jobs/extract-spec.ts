import type { JsonSchema } from './model-spec.js';
import type { ScrapeSpec } from './scrape-spec.js';
import type { WebhookSpec } from './webhook-spec.js';

/** Facts from many pages as one object (docs/api/extract.md). */
export interface ExtractSpec {
  /** Pages by their URL; `…/*` stands for the pages below it. Empty: they are found by the prompt. */
  urls: string[];
  prompt: string | null;
  schema: JsonSchema | null;
  systemPrompt: string | null;
  /** Links that lead away from the domains are followed. */
  allowExternalLinks: boolean;
  ignoreSitemap: boolean;
  includeSubdomains: boolean;
  /** Pages per wildcard; null: as many as the installation allows. */
  limit: number | null;
  showSources: boolean;
  /** How pages are read. Its `formats` are those the extraction works on. */
  scrape: ScrapeSpec;
  /** Ceiling of the whole job. */
  timeoutMs: number;
  webhook: WebhookSpec | null;
  /** Told with the result: names the parts of the request that could not be honoured. */
  warning: string | null;
}

/** A bounded search for an answer with the tools of this installation (docs/api/extract.md, "Agent"). */
export interface AgentSpec {
  prompt: string;
  urls: string[];
  schema: JsonSchema | null;
  /** Only pages of the domains of `urls` are read. */
  strictUrls: boolean;
  /** null: the installation's own limit. */
  maxCredits: number | null;
  effort: 'low' | 'medium' | 'high';
  scrape: ScrapeSpec;
  timeoutMs: number;
  webhook: WebhookSpec | null;
  /** As asked, for the list of runs only. */
  model: string | null;
}
