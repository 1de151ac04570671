/** The fields that a schema asks for, as far as selectors can answer them; and selectors for them as a model names them. */
import { readSelectors } from '@troupe/content';
import type { JsonSchema, SelectorSchema } from '@troupe/contracts';

export type WishShape =
  | { type: 'object'; fields: Map<string, WishShape> }
  | { type: 'list'; item: WishShape }
  | { type: 'value'; as: ValueType };

type ValueType = Extract<SelectorSchema, { type: 'value' }>['as'];

/** A model's selector for one path. */
export interface PathSelector {
  path: string;
  selector: string;
  attribute: string | null;
}

const MAX_PATHS = 60;
const MAX_DEPTH = 6;

/** null: selectors cannot answer it (values of any type, maps, tuples, recursion). */
export function shapeOf(schema: JsonSchema): WishShape | null {
  const shape = read(schema, { root: schema, depth: 1 });
  return shape === null || pathsOf(shape).length > MAX_PATHS ? null : shape;
}

interface Reading {
  root: JsonSchema;
  depth: number;
}

function read(schema: unknown, { root, depth }: Reading): WishShape | null {
  if (depth > MAX_DEPTH) return null;
  const meant = withoutNull(resolved(schema, root), root);
  if (meant === null) return null;
  const type = typeOf(meant);
  const inner = { root, depth: depth + 1 };
  if (type === 'object') return readObject(meant, inner);
  if (type !== 'array') return type === null ? null : { type: 'value', as: type };
  const item = isSchema(meant.items) ? read(meant.items, inner) : null;
  return item === null || item.type === 'list' ? null : { type: 'list', item };
}

function readObject(schema: JsonSchema, inner: Reading): WishShape | null {
  if (!isSchema(schema.properties)) return null;
  const fields = new Map<string, WishShape>();
  for (const [name, property] of Object.entries(schema.properties)) {
    const field = read(property, inner);
    if (field === null || /[.[\]]/.test(name)) return null;
    fields.set(name, field);
  }
  return fields.size === 0 ? null : { type: 'object', fields };
}

function resolved(schema: unknown, root: JsonSchema): JsonSchema | null {
  let at: unknown = schema;
  for (let steps = 0; steps < MAX_DEPTH && isSchema(at); steps++) {
    const { $ref } = at;
    if (typeof $ref !== 'string') return at;
    const [, group = '', name = ''] = /^#\/(\$defs|definitions)\/([\w.-]{1,100})$/.exec($ref) ?? [];
    const known = root[group];
    at = isSchema(known) ? known[name] : null;
  }
  return null;
}

/** A type that may also be null counts as the type. Several other types are beyond selectors. */
function withoutNull(schema: JsonSchema | null, root: JsonSchema): JsonSchema | null {
  const options = schema?.anyOf ?? schema?.oneOf;
  if (schema === null || !Array.isArray(options)) return schema;
  const real = options.map((option) => resolved(option, root)).filter((option) => option?.type !== 'null');
  return real.length === 1 ? (real[0] ?? null) : null;
}

function typeOf({ type, format, enum: words, properties }: JsonSchema): ValueType | 'object' | 'array' | null {
  const types = (Array.isArray(type) ? type : [type]).filter((name) => name !== 'null' && name !== undefined);
  if (types.length > 1) return null;
  switch (types[0]) {
    case 'object':
    case 'array':
    case 'number':
    case 'integer':
    case 'boolean':
      return types[0];
    case 'string':
      return format === 'uri' || format === 'url'
        ? 'url'
        : format === 'date' || format === 'date-time'
          ? 'date'
          : 'string';
    case undefined:
      return isSchema(properties) ? 'object' : Array.isArray(words) ? 'string' : null;
    default:
      return null;
  }
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Paths that need a selector: `title`, `items[]`, `items[].name`. */
export function pathsOf(shape: WishShape, path = ''): string[] {
  switch (shape.type) {
    case 'value':
      return path.endsWith('[]') ? [] : [path];
    case 'list':
      return [`${path}[]`, ...pathsOf(shape.item, `${path}[]`)];
    case 'object':
      return [...shape.fields].flatMap(([name, field]) => pathsOf(field, path === '' ? name : `${path}.${name}`));
  }
}

/** Selectors of the paths as one schema; fields without one are left out. A text: the problem of the selectors. */
export function selectorsOf(shape: WishShape, named: readonly PathSelector[]): SelectorSchema | string {
  const byPath = new Map(named.map((one) => [one.path, one]));
  const words = wordsOf(shape, { path: '', around: null, byPath });
  if (words === null) return 'none of the fields has a selector';
  const read = readSelectors(words);
  if ('schema' in read) return read.schema;
  return read.problems.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
}

interface Wording {
  path: string;
  /** Selector of the list whose item it is. */
  around: PathSelector | null;
  byPath: ReadonlyMap<string, PathSelector>;
}

function wordsOf(shape: WishShape, { path, around, byPath }: Wording): unknown {
  if (shape.type === 'list') {
    const own = byPath.get(`${path}[]`);
    if (own === undefined) return null;
    const item = wordsOf(shape.item, { path: `${path}[]`, around: own, byPath });
    return item === null ? null : [item];
  }
  if (shape.type === 'value') {
    const own = around ?? byPath.get(path);
    if (own === undefined) return null;
    const attribute = own.attribute === null || own.attribute === '' ? {} : { attribute: own.attribute };
    return { selector: own.selector, type: shape.as, ...attribute };
  }
  const fields = [...shape.fields].flatMap(([name, field]): [string, unknown][] => {
    const words = wordsOf(field, { path: path === '' ? name : `${path}.${name}`, around: null, byPath });
    return words === null ? [] : [[name, words]];
  });
  return fields.length === 0 ? null : { $: around?.selector ?? '.', ...Object.fromEntries(fields) };
}
