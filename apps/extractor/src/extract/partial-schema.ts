import type { JsonSchema } from '@troupe/contracts';

/** What is asked of the whole, and of no single page: a page may lack any of it. */
const WHOLE_ONLY = new Set(['required', 'minItems', 'minProperties', 'minContains', 'contains', 'dependentRequired']);
/** Keywords whose values are no schemas but data of the caller's. */
const DATA = new Set(['const', 'default', 'enum', 'examples', 'example']);
/** Keywords whose keys are names, not keywords. */
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
const MAX_DEPTH = 64;

/** The schema for a part of the facts: the same fields, none of them a must. */
export function partialSchema(schema: JsonSchema): JsonSchema {
  return partial(schema, 0) as JsonSchema;
}

function partial(schema: unknown, depth: number): unknown {
  if (typeof schema !== 'object' || schema === null || depth > MAX_DEPTH) return schema;
  if (Array.isArray(schema)) return schema.map((part) => partial(part, depth + 1));
  const kept = Object.entries(schema).filter(([keyword]) => !WHOLE_ONLY.has(keyword));
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, partOf(keyword, value, depth)]));
}

function partOf(keyword: string, value: unknown, depth: number): unknown {
  if (DATA.has(keyword)) return value;
  if (!NAMED.has(keyword) || typeof value !== 'object' || value === null) return partial(value, depth + 1);
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, partial(schema, depth + 1)]));
}
