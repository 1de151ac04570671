import type { FormatKind } from './format-kind.js';
import { text } from './schema-parts.js';

/** Cleaned, with absolute addresses. */
export const html: FormatKind = {
  name: 'html',
  madeBy: 'converter',
  answers: { html: text },
  v1: { names: { html: {} } },
  write: (page) => page.html(),
};
