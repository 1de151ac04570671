import type { FormatKind } from './format-kind.js';
import { listOf, text } from './schema-parts.js';

export const images: FormatKind = {
  name: 'images',
  madeBy: 'converter',
  answers: { images: listOf(text) },
  /** No word of v1's, but its jobs show it. */
  v1: { names: {} },
  write: (page) => page.images(),
};
