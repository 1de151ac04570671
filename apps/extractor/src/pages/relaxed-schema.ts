/** A schema for a part of a page: the same form without required fields. */
import type { JsonSchema } from '@troupe/contracts';

const DEMANDS: ReadonlySet<string> = new Set([
  'required',
  'minItems',
  'minProperties',
  'dependentRequired',
  'minContains',
]);
/** Keywords that hold schemas by name. */
const MAPS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);
/** Keywords that hold a schema, or a list of them. */
const INNER: ReadonlySet<string> = new Set([
  'items',
  'prefixItems',
  'additionalItems',
  'additionalProperties',
  'allOf',
  'anyOf',
  'oneOf',
  'then',
  'else',
]);
const MAX_DEPTH = 64;

export function relaxedSchema(schema: JsonSchema): JsonSchema {
  return relax(schema, 0) as JsonSchema;
}

function relax(schema: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH || typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map((branch) => relax(branch, depth + 1));
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword]) => !DEMANDS.has(keyword))
      .map(([keyword, value]) => [keyword, relaxKeyword(keyword, value, depth + 1)]),
  );
}

function relaxKeyword(keyword: string, value: unknown, depth: number): unknown {
  if (INNER.has(keyword)) return relax(value, depth);
  if (!MAPS.has(keyword) || typeof value !== 'object' || value === null) return value;
  const isFields = keyword === 'properties';
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const relaxed = relax(inner, depth + 1);
      return [name, isFields ? orNull(relaxed) : relaxed];
    }),
  );
}

function orNull(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  const { type } = schema as JsonSchema;
  const types = Array.isArray(type) ? type : [type];
  if (type === undefined || types.includes('null') || 'enum' in schema || 'const' in schema) {
    return isOpen(schema as JsonSchema) || types.includes('null') ? schema : { anyOf: [schema, { type: 'null' }] };
  }
  return { ...schema, type: [...(types as unknown[]), 'null'] };
}

/** True: the schema does not name the type of its value. */
function isOpen(schema: JsonSchema): boolean {
  return !['enum', 'const', '$ref', 'anyOf', 'oneOf', 'allOf', 'properties', 'items'].some(
    (keyword) => keyword in schema,
  );
}

const MAX_NAME_CHARS = 64;
const MAX_NAMES = 100;
const NAME = /^[\p{L}_][\p{L}\p{N}_ -]*$/u;

/** The form of a value that was made without a schema, for the parts that follow; further fields stay allowed. */
export function schemaLike(value: unknown, depth = 0): JsonSchema {
  if (depth > 8 || typeof value !== 'object' || value === null) return {};
  if (Array.isArray(value)) return { type: 'array', items: schemaLike(value[0], depth + 1) };
  const names = Object.entries(value).filter(([name]) => name.length <= MAX_NAME_CHARS && NAME.test(name));
  const properties = names.slice(0, MAX_NAMES).map(([name, inner]) => [name, schemaLike(inner, depth + 1)] as const);
  return { type: 'object', properties: Object.fromEntries(properties) };
}
