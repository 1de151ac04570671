import type { FormatKind } from './format-kind.js';
import { listOf, text } from './schema-parts.js';

export const links: FormatKind = {
  name: 'links',
  madeBy: 'converter',
  answers: { links: listOf(text) },
  v1: { names: { links: {} } },
  write: (page) => page.links(),
};
