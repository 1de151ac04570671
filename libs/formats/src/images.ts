import type { FormatKind } from './format-kind.js';
import { listOf, text } from './schema-parts.js';

export const images: FormatKind = {
  name: 'images',
  madeBy: 'converter',
  answers: { images: listOf(text) },
  /** v1 has no word for it, but its jobs show it. */
  v1: { names: {} },
  write: (page) => page.images(),
};
