import type { JsonSchema } from '@troupe/contracts';
import { cutTo } from '../transcript.js';
import { textArgument, ToolRefusal, type AgentTool, type ToolContext, type ToolResult } from './agent-tool.js';
import type { PageVisits, VisitedPage } from './page-visit.js';

const INSTRUCTIONS =
  'Pick the facts that are asked for out of the page. What the page does not tell is left out, or null where null is allowed.';
/** Room for the question around the page. */
const MIN_PAGE_TOKENS = 200;
const MAX_RESULT_CHARS = 20_000;

/** Reads a page and keeps only the wanted facts, which are shorter than the whole page. */
export class ExtractTool implements AgentTool {
  readonly tool = {
    name: 'extract',
    description: 'Reads one web page and answers with the wanted facts of it as JSON. Good for long pages.',
    parameters: {
      type: 'object',
      properties: {
        url: { type: 'string', description: 'Absolute http(s) address of the page' },
        prompt: { type: 'string', description: 'Which facts are wanted, and under which keys' },
      },
      required: ['url', 'prompt'],
      additionalProperties: false,
    },
  };

  constructor(private readonly pages: Pick<PageVisits, 'visit'>) {}

  async run(input: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
    const prompt = textArgument(input, 'prompt');
    const page = await this.pages.visit(textArgument(input, 'url'), context);
    const facts = await this.read(page, prompt, context);
    return { observation: { url: page.url, text: facts }, credits: page.credits };
  }

  private async read(page: VisitedPage, prompt: string, { task, model, maxTokens, leftMs, signal }: ToolContext) {
    const text = cutTo(page.markdown, Math.max(MIN_PAGE_TOKENS, maxTokens), model);
    const schema: JsonSchema = { type: 'object' };
    const data = [{ label: 'page', url: page.url, text: text ?? '' }];
    const question = { purpose: 'agent-extract', team: task.team, instructions: INSTRUCTIONS, request: prompt, data };
    try {
      const { value } = await model.ask(
        { ...question, schema },
        { deadlineMs: Math.max(1, Math.floor(leftMs())), signal },
      );
      return JSON.stringify(value).slice(0, MAX_RESULT_CHARS);
    } catch (error) {
      signal.throwIfAborted();
      throw new ToolRefusal(`The page could not be read: ${(error as Error).message}`, page.credits);
    }
  }
}
