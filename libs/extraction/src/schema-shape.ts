/** The part of a JSON Schema that merging needs: which fields an object has, what a list holds. */
import type { JsonSchema } from '@troupe/contracts';
import { isObject } from './json-value.js';

export interface SchemaShape {
  /** Fields in the schema's order. */
  properties: ReadonlyMap<string, JsonSchema>;
  items: JsonSchema | null;
  maxItems: number | null;
  uniqueItems: boolean;
}

const MAX_HOPS = 16;
const COMBINERS = ['allOf', 'anyOf', 'oneOf'] as const;
export const NO_SHAPE: SchemaShape = { properties: new Map(), items: null, maxItems: null, uniqueItems: false };

/** References inside `root` are followed, branches of `allOf`, `anyOf` and `oneOf` joined. */
export function shapeOf(root: JsonSchema | null, schema: JsonSchema | null): SchemaShape {
  if (root === null || schema === null) return NO_SHAPE;
  const branches = branchesOf(root, schema, MAX_HOPS);
  const properties = new Map<string, JsonSchema>();
  let items: JsonSchema | null = null;
  for (const branch of branches) {
    for (const [name, property] of Object.entries(isObject(branch.properties) ? branch.properties : {})) {
      if (!properties.has(name) && isObject(property)) properties.set(name, property);
    }
    items ??= isObject(branch.items) ? branch.items : null;
  }
  const limits = branches.map(({ maxItems }) => maxItems).filter((limit) => typeof limit === 'number');
  return {
    properties,
    items,
    maxItems: limits.length === 0 ? null : Math.min(...limits),
    uniqueItems: branches.some(({ uniqueItems }) => uniqueItems === true),
  };
}

function branchesOf(root: JsonSchema, schema: JsonSchema, hops: number): JsonSchema[] {
  if (hops === 0) return [];
  const referred = typeof schema.$ref === 'string' ? resolveRef(root, schema.$ref) : null;
  const combined = COMBINERS.flatMap((name) => (Array.isArray(schema[name]) ? schema[name].filter(isObject) : []));
  const inner = referred === null ? combined : [referred, ...combined];
  return [schema, ...inner.flatMap((branch) => branchesOf(root, branch, hops - 1))];
}

/** The subschema at a local reference (`#/$defs/name`, `#`), null when there is none. */
export function resolveRef(root: JsonSchema, ref: string): JsonSchema | null {
  if (!ref.startsWith('#')) return null;
  let node: unknown = root;
  for (const step of ref.slice(1).split('/').slice(1)) {
    const key = unescapePointer(step);
    node = typeof node === 'object' && node !== null && Object.hasOwn(node, key) ? (node as JsonSchema)[key] : null;
  }
  return isObject(node) ? node : null;
}

function unescapePointer(step: string): string {
  const decoded = /%[0-9a-f]{2}/i.test(step) ? safeDecode(step) : step;
  return decoded.replaceAll('~1', '/').replaceAll('~0', '~');
}

function safeDecode(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
