/**
 * JSON Schemas of callers, draft-07 and 2020-12: checked, compiled and kept. A schema is bounded, refers to nothing outside
 * itself, and its patterns run in linear time.
 */
import { SPEC_LIMITS, type JsonSchema } from '@troupe/contracts';
import type * as Draft07 from 'ajv';
import type { Ajv, ErrorObject, Options, ValidateFunction } from 'ajv';
import type * as Draft2020 from 'ajv/dist/2020.js';
import { LRUCache } from 'lru-cache';
import { createRequire } from 'node:module';
import { compilePattern } from './pattern.js';

export interface CompiledSchema {
  readonly schema: JsonSchema;
  /** Faults of a value, in words for its author; empty: it satisfies the schema. */
  problemsOf(value: unknown): string[];
}

/** Thrown when a schema cannot be used; the message says what its author should change. */
export class SchemaError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SchemaError';
  }
}

const MAX_CHARS = SPEC_LIMITS.schemaBytes;
const MAX_DEPTH = 40;
const MAX_NODES = 5_000;
const MAX_PROBLEMS = 20;
const KEPT_SCHEMAS = 200;

/** The validator is loaded with the first schema: most services never see one. */
const load = createRequire(import.meta.url);

const compiled = new LRUCache<string, CompiledSchema>({ max: KEPT_SCHEMAS });

/** Fault of the size of a schema, null for one that may be compiled. Quick, however large it is. */
export function schemaSizeProblem(schema: unknown): string | null {
  return problemOf(() => void boundedText(schema));
}

/** Error text for a schema that cannot be used, null for a good one. Takes long for some: not for the loop of a server. */
export function schemaProblem(schema: unknown): string | null {
  return problemOf(() => void compileSchema(schema as JsonSchema));
}

function problemOf(check: () => void): string | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof SchemaError) return error.message;
    throw error;
  }
}

/** @throws SchemaError */
export function compileSchema(schema: JsonSchema): CompiledSchema {
  const text = boundedText(schema);
  const known = compiled.get(text);
  if (known !== undefined) return known;
  const validator = compileIn(draftsOf(schema), schema);
  const made = { schema, problemsOf: (value: unknown) => problemsOf(validator, value) };
  compiled.set(text, made);
  return made;
}

function boundedText(schema: unknown): string {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    throw new SchemaError('A JSON Schema must be an object');
  let nodes = 0;
  let chars = 0;
  const walk = (value: unknown, depth: number): void => {
    if (depth > MAX_DEPTH) throw new SchemaError(`The schema is nested deeper than ${MAX_DEPTH} levels`);
    if (++nodes > MAX_NODES) throw new SchemaError(`The schema has more than ${MAX_NODES} parts`);
    if (typeof value === 'string') chars += value.length;
    if (chars > MAX_CHARS) throw new SchemaError(`The schema is longer than ${MAX_CHARS} characters`);
    if (typeof value !== 'object' || value === null) return;
    if ((value as JsonSchema).$async !== undefined) throw new SchemaError('"$async" is not a keyword of JSON Schema');
    for (const inner of Object.values(value)) walk(inner, depth + 1);
  };
  walk(schema, 0);
  const text = JSON.stringify(schema);
  if (text.length > MAX_CHARS) throw new SchemaError(`The schema is longer than ${MAX_CHARS} characters`);
  return text;
}

type Draft = (options: Options) => Ajv;

const DRAFT_07: Draft = (options) => new (load('ajv') as typeof Draft07).Ajv(options);
const DRAFT_2020: Draft = (options) => new (load('ajv/dist/2020.js') as typeof Draft2020).Ajv2020(options);

/** A schema that does not name its draft is read as the newer one, and as the older one when it makes no sense so. */
function draftsOf({ $schema }: JsonSchema): Draft[] {
  if ($schema === undefined) return [DRAFT_2020, DRAFT_07];
  const name = typeof $schema === 'string' ? $schema : '';
  if (/draft-0[67]/.test(name)) return [DRAFT_07];
  if (/2019-09|2020-12|draft\/next/.test(name)) return [DRAFT_2020];
  throw new SchemaError(`"$schema" names no known draft: draft-07 and 2020-12 are understood`);
}

function compileIn(drafts: Draft[], { $schema: _, ...schema }: JsonSchema): ValidateFunction {
  let first: unknown = null;
  for (const draft of drafts) {
    try {
      return validatorOf(draft, schema);
    } catch (error) {
      first ??= error;
    }
  }
  const message = first instanceof Error ? first.message : String(first);
  throw new SchemaError(`The schema does not compile: ${message.slice(0, 500)}`);
}

/** Schemas leave names of theirs behind in the validator that compiled them: after this many a new one is made. */
const SCHEMAS_PER_VALIDATOR = 100;

const validators = new Map<Draft, { ajv: Ajv; left: number }>();

function validatorOf(draft: Draft, { $id: _, ...schema }: JsonSchema): ValidateFunction {
  const known = validators.get(draft);
  const used =
    known !== undefined && known.left > 0 ? known : { ajv: newValidator(draft), left: SCHEMAS_PER_VALIDATOR };
  used.left--;
  validators.set(draft, used);
  try {
    return used.ajv.compile(schema);
  } finally {
    used.ajv.removeSchema(schema);
  }
}

function newValidator(draft: Draft): Ajv {
  const ajv = draft({ strict: false, allErrors: true, logger: false, code: { regExp: compilePattern } });
  const addFormats = load('ajv-formats') as (ajv: Ajv, options: { mode: 'full' }) => Ajv;
  return addFormats(ajv, { mode: 'full' });
}

function problemsOf(validator: ValidateFunction, value: unknown): string[] {
  try {
    if (validator(value)) return [];
  } catch (error) {
    if (error instanceof RangeError) return ['the value is nested too deeply'];
    throw error;
  }
  return (validator.errors ?? []).slice(0, MAX_PROBLEMS).map(problemText);
}

function problemText({ instancePath, keyword, params, message }: ErrorObject): string {
  const where = instancePath === '' ? 'the value' : instancePath;
  if (keyword === 'additionalProperties') {
    return `${where} must not have the property ${JSON.stringify((params as { additionalProperty: string }).additionalProperty)}`;
  }
  if (keyword === 'enum')
    return `${where} must be one of ${JSON.stringify((params as { allowedValues: unknown }).allowedValues)}`;
  if (keyword === 'const')
    return `${where} must be ${JSON.stringify((params as { allowedValue: unknown }).allowedValue)}`;
  return `${where} ${message ?? keyword}`;
}
