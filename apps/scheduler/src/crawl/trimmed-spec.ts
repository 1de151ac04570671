/** The spec of a job that fails as it starts: its webhook, without the parts that may be too large to be kept. */
import type { AgentSpec, BatchSpec, CrawlSpec, ExtractSpec, ScrapeSpec } from '@troupe/contracts';

const MAX_WEBHOOK_CHARS = 64 * 1024;

export function trimmedSpec<S extends CrawlSpec | BatchSpec | ExtractSpec | AgentSpec>(spec: S): S {
  const trimmed = { ...spec, scrape: trimmedScrape(spec.scrape), webhook: trimmedWebhook(spec.webhook) };
  if ('scope' in trimmed) trimmed.scope = { ...trimmed.scope, includePaths: [], excludePaths: [] };
  return 'prompt' in trimmed ? { ...trimmed, urls: [], prompt: '', schema: null } : trimmed;
}

function trimmedScrape(scrape: ScrapeSpec): ScrapeSpec {
  return {
    ...scrape,
    formats: [],
    includeTags: [],
    excludeTags: [],
    headers: {},
    actions: [],
    changeTracking: null,
  };
}

/** The JSON of older versions has none. */
function trimmedWebhook<W>(webhook: W | null | undefined): W | null {
  return webhook == null || JSON.stringify(webhook).length > MAX_WEBHOOK_CHARS ? null : webhook;
}
