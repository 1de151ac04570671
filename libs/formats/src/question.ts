import type { Format } from '@troupe/contracts';
import type { FormatKind } from './format-kind.js';
import { QUESTION } from './rules.js';
import { text } from './schema-parts.js';

export const question: FormatKind<Extract<Format, { type: 'question' }>> = {
  name: 'question',
  key: 'answer',
  madeBy: 'model',
  answers: { answer: text },
  needsOptions: true,
  options: { question: QUESTION },
  fills: () => 'answer',
  fromV2: (words) => ({ type: 'question', question: words.question as string }),
  toV2: (format) => ({ ...format }),
  price: { credits: 4 },
};
