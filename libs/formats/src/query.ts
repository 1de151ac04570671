import type { FormatKind } from './format-kind.js';
import { QUESTION } from './rules.js';

/** The old word for two formats: an answer, or passages. */
export const query: FormatKind = {
  name: 'query',
  madeBy: 'model',
  answers: {},
  needsOptions: true,
  options: { prompt: QUESTION, mode: { is: 'word', of: ['freeform', 'directQuote'] } },
  fills: ({ mode }) => (mode === 'directQuote' ? 'highlights' : 'answer'),
  fromV2: ({ prompt, mode }) =>
    mode === 'directQuote'
      ? { type: 'highlights', query: prompt as string }
      : { type: 'question', question: prompt as string },
};
