/** Checks a model's answer against its schema, after small corrections. */
import type { JsonSchema } from '@troupe/contracts';
import { normalise } from '@troupe/json-schema';
import { problemsOf } from '@troupe/judging';

/** Judges a value by a schema; small things (numbers as texts, a single value for a list) are put right. */
export type SchemaCheck = (schema: JsonSchema, value: unknown) => Promise<CheckedValue>;
export type CheckedValue = { ok: true; value: unknown; notes: string[] } | { ok: false; problem: string };

export interface PageAnswer {
  value: unknown;
  warnings: string[];
}

/** Values are brought into form first. */
export const checkBySchema: SchemaCheck = async (schema, given) => {
  const { value, notes } = normalise(schema, given);
  const problems = await problemsOf(schema, { value });
  return problems.length === 0 ? { ok: true, value, notes } : { ok: false, problem: problems.join('; ') };
};
