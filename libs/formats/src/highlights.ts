import type { Format } from '@troupe/contracts';
import type { FormatKind } from './format-kind.js';
import { QUESTION } from './rules.js';
import { text } from './schema-parts.js';

/** Passages of the page, word for word. */
export const highlights: FormatKind<Extract<Format, { type: 'highlights' }>> = {
  name: 'highlights',
  madeBy: 'model',
  answers: { highlights: text },
  needsOptions: true,
  options: { query: QUESTION },
  fills: () => 'highlights',
  fromV2: (words) => ({ type: 'highlights', query: words.query as string }),
  toV2: (format) => ({ ...format }),
  price: { credits: 4 },
};
