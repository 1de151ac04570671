import type { FormatKind } from './format-kind.js';
import { text } from './schema-parts.js';

export const rawHtml: FormatKind = {
  name: 'rawHtml',
  madeBy: 'converter',
  answers: { rawHtml: text },
  v1: { names: { rawHtml: {} } },
  ofWholePage: true,
  write: (page) => page.source,
};
