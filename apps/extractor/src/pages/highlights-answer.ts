/** Format `highlights`: passages of the page, word for word. */
import { HIGHLIGHTS_OF_PAGE } from './instructions.js';
import type { PageAnswer } from '../models/schema-check.js';
import { promptTokens, type PageCalls } from './page-calls.js';
import { inOrder, QuotedText } from './passages.js';
import { readParts, type PageText } from './read-parts.js';

const MAX_PASSAGES = 10;
/** A text is searched without a pause. */
const MAX_PART_TOKENS = 24_000;
const SCHEMA = {
  type: 'object',
  properties: { passages: { type: 'array', items: { type: 'string' } } },
  required: ['passages'],
  additionalProperties: false,
};

/** Empty when no passage fits. Quotes that the page does not contain are left out, with a warning. */
export async function answerHighlights(page: PageText, query: string, calls: PageCalls): Promise<PageAnswer> {
  const question = { purpose: 'highlights', instructions: HIGHLIGHTS_OF_PAGE, request: query, schema: SCHEMA };
  let quoted = 0;
  const { values, warnings } = await readParts(
    { ...page, title: null },
    {
      calls,
      promptTokens: promptTokens(HIGHLIGHTS_OF_PAGE, query, SCHEMA),
      maxPartTokens: MAX_PART_TOKENS,
      async read(block) {
        const { passages } = (await calls.ask({ ...question, data: [block] })) as { passages: string[] };
        const text = new QuotedText(block.text);
        const found = passages.slice(0, MAX_PASSAGES).map((quote) => text.find(quote));
        quoted += found.length;
        return found.filter((passage) => passage !== null);
      },
    },
  );
  const left = quoted - values.flat().length;
  const texts = values.flatMap((passages) => inOrder(passages).map(({ text }) => text.trim()));
  return {
    value: [...new Set(texts)].join('\n\n'),
    warnings:
      left === 0
        ? warnings
        : [...warnings, `${left} of ${quoted} highlights were left out: the page does not say them word for word.`],
  };
}
