import type { FormatKind } from './format-kind.js';
import { text } from './schema-parts.js';

export const markdown: FormatKind = {
  name: 'markdown',
  madeBy: 'converter',
  answers: { markdown: text },
  v1: { names: { markdown: {} } },
  write: (page) => page.markdown(),
};
