import { timeoutSignal } from '@troupe/contracts';
import type { SearchProvider } from '@troupe/search';
import { textArgument, type AgentTool, type ToolContext, type ToolResult } from './agent-tool.js';

const MAX_HITS = 10;
const MAX_TEXT_CHARS = 300;
/** Per ten results begun (docs/api/limits.md). */
const CREDITS = 2;

/** Finds pages by words. */
export class SearchTool implements AgentTool {
  readonly tool = {
    name: 'search',
    description: 'Searches the web: addresses, titles and a few words of pages that fit, best first.',
    parameters: {
      type: 'object',
      properties: { query: { type: 'string', description: 'What would be typed into a search engine' } },
      required: ['query'],
      additionalProperties: false,
    },
  };

  constructor(private readonly provider: SearchProvider) {}

  async run(input: Record<string, unknown>, { leftMs, signal }: ToolContext): Promise<ToolResult> {
    const text = textArgument(input, 'query');
    const limit = AbortSignal.any([signal, timeoutSignal(Math.max(1, Math.floor(leftMs())))]);
    const query = { text, source: 'web' as const, language: null, maxAge: null, safe: false, page: 1 };
    const { hits } = await this.provider.search(query, limit);
    const shown = hits.slice(0, MAX_HITS);
    const lines = shown.map(
      ({ url, title, text: words }, i) => `${i + 1}. ${url}\n${title}\n${words.slice(0, MAX_TEXT_CHARS)}`,
    );
    return {
      observation: { url: null, text: lines.join('\n\n') || 'Nothing was found.' },
      credits: shown.length === 0 ? 0 : CREDITS,
    };
  }
}
