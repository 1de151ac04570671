import type { JsonSchema } from '@troupe/contracts';
import type { Fitted } from './merge.handler.js';
export function fitValue(_schema: JsonSchema, value: unknown): Fitted {
  return { value, notes: [], problems: [] };
}
