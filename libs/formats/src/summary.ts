import type { FormatKind } from './format-kind.js';
import { text } from './schema-parts.js';

export const summary: FormatKind = {
  name: 'summary',
  madeBy: 'model',
  answers: { summary: text },
  v1: { names: { summary: {} } },
  isDispensable: true,
};
