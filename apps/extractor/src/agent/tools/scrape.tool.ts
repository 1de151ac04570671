import type { AgentTool, ToolContext, ToolResult } from './agent-tool.js';
import { textArgument } from './agent-tool.js';
import type { PageVisits, VisitedPage } from './page-visit.js';

const MAX_MARKDOWN_CHARS = 40_000;
const MAX_LINKS = 60;
const MAX_LINK_CHARS = 300;

/** Reads a page. */
export class ScrapeTool implements AgentTool {
  readonly tool = {
    name: 'scrape',
    description: 'Reads one web page: its text as markdown, and addresses it links to.',
    parameters: {
      type: 'object',
      properties: { url: { type: 'string', description: 'Absolute http(s) address of the page' } },
      required: ['url'],
      additionalProperties: false,
    },
  };

  constructor(private readonly pages: Pick<PageVisits, 'visit'>) {}

  async run(input: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
    const page = await this.pages.visit(textArgument(input, 'url'), context);
    return { observation: { url: page.url, text: textOf(page) }, credits: page.credits };
  }
}

function textOf({ title, statusCode, markdown, links }: VisitedPage): string {
  const shown = links.filter((link) => link.length <= MAX_LINK_CHARS).slice(0, MAX_LINKS);
  return [
    `Status ${statusCode}${title === null ? '' : `, title: ${title}`}`,
    markdown.slice(0, MAX_MARKDOWN_CHARS),
    ...(shown.length === 0 ? [] : [`Links of the page:\n${shown.join('\n')}`]),
  ].join('\n\n');
}
