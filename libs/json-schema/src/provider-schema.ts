/**
 * A caller's schema as providers take it: always of an object, and in the form that OpenAI's strict mode demands (every
 * property required, optional ones nullable, nothing else allowed) where it can be said so.
 */
import type { JsonSchema } from '@troupe/contracts';
import { allowsNull, isObjectSchema, isSchema, propertiesOf, requiredOf, resolveRef, typesOf } from './shape.js';

export interface ProviderSchema {
  schema: JsonSchema;
  strict: boolean;
  /** The answer to `schema`, as a value of the caller's own schema. */
  unwrap(answer: unknown): unknown;
}

/** Property that holds a value that is no object. */
const WRAPPED = 'value';
const MAX_DEPTH = 10;
const MAX_PROPERTIES = 100;

/** Keywords that strict mode understands, beside the ones of structure. */
const PLAIN = ['description', 'title', 'enum', 'const', 'pattern', 'format', 'minimum', 'maximum', 'multipleOf'];
const COUNTS = ['exclusiveMinimum', 'exclusiveMaximum', 'minItems', 'maxItems'];
const KEPT = new Set([...PLAIN, ...COUNTS]);
const FORMATS = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']);
const STRUCTURE = new Set(['type', 'properties', 'required', 'additionalProperties', 'items', 'anyOf', '$ref']);
const HARMLESS = new Set(['$schema', '$id', '$comment', 'default', 'examples', 'definitions', '$defs', 'nullable']);

export function providerSchema(own: JsonSchema): ProviderSchema {
  const { $schema: _, ...schema } = own;
  const isObject = isObjectSchema(resolveRef(schema, schema));
  const whole = isObject ? schema : wrapped(schema);
  const strict = strictSchema(whole);
  return {
    schema: strict ?? whole,
    strict: strict !== null,
    unwrap: (answer) => (!isObject && isWrapped(answer) ? answer[WRAPPED] : answer),
  };
}

function isWrapped(answer: unknown): answer is JsonSchema {
  return isSchema(answer) && Object.keys(answer).length === 1 && Object.hasOwn(answer, WRAPPED);
}

/** References of the inner schema count from its own root: its definitions move up with it, or it is named as a whole. */
function wrapped(schema: JsonSchema): JsonSchema {
  const { $defs, definitions, ...inner } = schema;
  const shared = { ...($defs === undefined ? {} : { $defs }), ...(definitions === undefined ? {} : { definitions }) };
  return { type: 'object', ...shared, properties: { [WRAPPED]: inner }, required: [WRAPPED] };
}

/** null: strict mode cannot say it. */
export function strictSchema(root: JsonSchema): JsonSchema | null {
  const budget = { properties: 0 };
  const inner = (value: unknown, depth: number): JsonSchema | null =>
    isSchema(value) && depth <= MAX_DEPTH ? strictPart(value, depth) : null;

  const strictPart = (schema: JsonSchema, depth: number): JsonSchema | null => {
    // Expanding keeps references local to what is sent; a schema that contains itself grows too deep and is given up.
    const at = resolveRef(schema, root);
    const keys = Object.keys(at).filter((key) => !HARMLESS.has(key));
    if (keys.some((key) => !STRUCTURE.has(key) && !KEPT.has(key))) return null;
    if (typeof at.format === 'string' && !FORMATS.has(at.format)) return null;
    const kept = Object.fromEntries(keys.filter((key) => KEPT.has(key)).map((key) => [key, at[key]]));
    if (at.anyOf !== undefined) return anyOfPart(at, kept, depth);
    const types = typesOf(at);
    if (types.length === 0) return at.enum === undefined && at.const === undefined ? null : kept;
    if (types.includes('object')) return objectPart(at, kept, depth);
    if (types.includes('array')) return arrayPart(at, kept, depth);
    return { ...kept, type: at.type };
  };

  const anyOfPart = (at: JsonSchema, kept: JsonSchema, depth: number): JsonSchema | null => {
    if (at.type !== undefined || at.properties !== undefined || !Array.isArray(at.anyOf) || depth === 0) return null;
    const options = at.anyOf.map((option) => inner(option, depth + 1));
    return options.some((option) => option === null) ? null : { ...kept, anyOf: options };
  };

  const arrayPart = (at: JsonSchema, kept: JsonSchema, depth: number): JsonSchema | null => {
    const items = inner(at.items, depth + 1);
    return items === null ? null : { ...kept, type: at.type, items };
  };

  const objectPart = (at: JsonSchema, kept: JsonSchema, depth: number): JsonSchema | null => {
    const properties = propertiesOf(at);
    const names = Object.keys(properties);
    const isMap = isSchema(at.additionalProperties) || names.length === 0;
    budget.properties += names.length;
    if (isMap || budget.properties > MAX_PROPERTIES) return null;
    const required = new Set(requiredOf(at));
    const made: JsonSchema = {};
    for (const name of names) {
      const part = inner(properties[name], depth + 1);
      if (part === null) return null;
      made[name] = required.has(name) || allowsNull(properties[name]!, root) ? part : nullable(part);
    }
    return { ...kept, type: at.type, properties: made, required: names, additionalProperties: false };
  };

  return inner(root, 0);
}

function nullable(part: JsonSchema): JsonSchema {
  if (part.enum === undefined && part.const === undefined && typeof part.type === 'string')
    return { ...part, type: [part.type, 'null'] };
  return { anyOf: [part, { type: 'null' }] };
}
