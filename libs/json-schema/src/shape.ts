/** The shape of a value that a schema asks for at its own level, references and alternatives resolved. */
import type { JsonSchema } from '@troupe/contracts';

const MAX_HOPS = 20;

export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Past `$ref`s into the schema itself; a reference that leads elsewhere says nothing. */
export function resolveRef(schema: JsonSchema, root: JsonSchema): JsonSchema {
  let at = schema;
  for (let hops = 0; typeof at.$ref === 'string' && hops < MAX_HOPS; hops++) {
    const { $ref, ...beside } = at;
    const target = pointed($ref, root);
    if (target === null) return beside;
    at = { ...target, ...beside };
  }
  return at;
}

function pointed(ref: string, root: JsonSchema): JsonSchema | null {
  if (!ref.startsWith('#')) return null;
  const keys = ref.slice(1).split('/').filter(Boolean).map(unescapeKey);
  let at: unknown = root;
  for (const key of keys) at = typeof at === 'object' && at !== null ? (at as JsonSchema)[key] : undefined;
  return isSchema(at) ? at : null;
}

function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return key;
  }
}

/** Types that `type` names; empty: any. */
export function typesOf({ type }: JsonSchema): string[] {
  if (typeof type === 'string') return [type];
  return Array.isArray(type) ? type.filter((each): each is string => typeof each === 'string') : [];
}

export function optionsOf(schema: JsonSchema): JsonSchema[] {
  const options = schema.anyOf ?? schema.oneOf;
  return Array.isArray(options) ? options.filter(isSchema) : [];
}

export function allowsNull(schema: JsonSchema, root: JsonSchema, depth = 0): boolean {
  if (depth > MAX_HOPS) return false;
  const at = resolveRef(schema, root);
  const types = typesOf(at);
  if (types.length > 0 && !types.includes('null')) return at.nullable === true;
  if (Array.isArray(at.enum)) return at.enum.includes(null);
  if ('const' in at) return at.const === null;
  const options = optionsOf(at);
  if (options.length > 0) return options.some((option) => allowsNull(option, root, depth + 1));
  const parts = Array.isArray(at.allOf) ? at.allOf.filter(isSchema) : [];
  return parts.every((part) => allowsNull(part, root, depth + 1));
}

export function propertiesOf(schema: JsonSchema): Record<string, JsonSchema> {
  const { properties } = schema;
  if (!isSchema(properties)) return {};
  return Object.fromEntries(
    Object.entries(properties).filter((entry): entry is [string, JsonSchema] => isSchema(entry[1])),
  );
}

export function requiredOf({ required }: JsonSchema): string[] {
  return Array.isArray(required) ? required.filter((name): name is string => typeof name === 'string') : [];
}

export function isObjectSchema(schema: JsonSchema): boolean {
  const types = typesOf(schema);
  return types.length === 0 ? isSchema(schema.properties) : types.length === 1 && types[0] === 'object';
}
