/** For specs: an extract job over one site, by a prompt. */
import { plainScrape, type ExtractSpec } from '@troupe/contracts';

export const EXTRACT_SPEC: ExtractSpec = {
  urls: ['http://site.test/*'],
  prompt: 'names',
  schema: null,
  systemPrompt: null,
  allowExternalLinks: false,
  ignoreSitemap: false,
  includeSubdomains: true,
  limit: null,
  showSources: false,
  scrape: plainScrape({ formats: [{ type: 'markdown' }], timeoutMs: 30_000 }),
  timeoutMs: 600_000,
  webhook: null,
  warning: null,
};
